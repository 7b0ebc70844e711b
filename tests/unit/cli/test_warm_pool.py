"""`moorage warm-pool` tells what a node holds, plays pods that come and go, and names settings that do harm."""

from __future__ import annotations

import pytest
from tests.unit.cli.conftest import Moorage
from tests.unit.eks_rows import CASES, cases

OPTIONS = {
    "max_eni": "--max-eni",
    "warm_eni": "--warm-eni-target",
    "warm_ip": "--warm-ip-target",
    "min_ip": "--minimum-ip-target",
    "warm_prefix": "--warm-prefix-target",
    "max_pods": "--max-pods",
    "pods": "--pods",
}
KEYS = {
    "enis": "enis",
    "prefixes": "prefixes",
    "pod_ips": "podAddresses",
    "unused_ips": "unused",
    "failed_pods": "failedPods",
    "subnet_ips": "subnetAddresses",
}


@pytest.mark.parametrize("case", cases("warm_pool"))
def test_each_case_of_the_driven_code_is_answered_so(moorage: Moorage, case: str) -> None:
    row = CASES[case]
    arguments = [part for name, option in OPTIONS.items() if row[name] for part in (option, row[name])]
    if row["custom_networking"] == "true":
        arguments.append("--custom-networking")
    if "ENABLE_POD_ENI" in row["other_input"]:
        arguments.append("--security-groups-for-pods")
    answer = moorage("warm-pool", row["instance_type"], "--mode", row["mode"], *arguments, "-o", "json")
    found = answer.json
    assert {key: found[KEYS[key]] for key in KEYS if row[f"expect_{key}"]} == {
        key: int(row[f"expect_{key}"]) for key in KEYS if row[f"expect_{key}"]
    }
    assert found["slotsPerEni"] == [int(each) for each in row["expect_slots_per_eni"].split("/")]
    assert found["refused"] == ("refused" in row["note"])
    assert answer.code == (1 if found["refused"] or found["failedPods"] else 0)


def test_pods_that_come_and_go_are_played(moorage: Moorage) -> None:
    steps = [part for pods in (15, 20, 25, 30, 35) for part in ("--then", str(pods))]
    answer = moorage("warm-pool", "m5.large", "--mode", "prefix", "--pods", "25", *steps, "-o", "json")
    assert [each["prefixes"] for each in answer.json["steps"]] == [3, 3, 3, 3, 3, 4]
    assert answer.json["prefixes"] == 4


def test_chance_can_keep_every_prefix(moorage: Moorage) -> None:
    arguments = ("warm-pool", "m5.large", "--mode", "prefix", "--pods", "80", "--then", "6", "-o", "json")
    assert moorage(*arguments).json["prefixes"] == 2
    assert moorage(*arguments, "--scatter").json["prefixes"] == 6
    bounds = moorage(*arguments).json["bounds"]
    assert bounds == {"enis": [1, 1], "prefixes": [2, 6], "podAddresses": [32, 96]}


def test_within_the_cooldown_freed_addresses_serve_nobody(moorage: Moorage) -> None:
    arguments = ("--warm-ip-target", "2", "--minimum-ip-target", "23", "--pods", "21", "--then", "17", "--then", "20")
    soon = moorage("warm-pool", "m5.4xlarge", *arguments, "--wait", "0", "-o", "json")
    assert (soon.code, soon.json["failedPods"], soon.json["unused"]) == (1, 1, 4)
    later = moorage("warm-pool", "m5.4xlarge", *arguments, "--wait", "60", "-o", "json")
    assert (later.code, later.json["failedPods"]) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        ("--mode prefix --warm-prefix-target 0", "aws-node refuses to start"),
        ("--mode prefix --minimum-ip-target 22", "a node never holds more than 32 addresses"),
        ("--minimum-ip-target 12", "a node never holds more than 12 addresses"),
        ("--warm-eni-target 0", "made and freed again"),
        ("--warm-eni-target 0 --custom-networking", "and on an idle node"),
        ("--mode prefix --warm-eni-target 2", "WARM_ENI_TARGET has no effect: it is not read in prefix mode"),
        ("--warm-prefix-target 2", "WARM_PREFIX_TARGET has no effect: it is not read in secondary mode"),
        ("--warm-ip-target 3 --warm-eni-target 1", "WARM_IP_TARGET and MINIMUM_IP_TARGET override it"),
        ("--warm-ip-target 0", "0 are as if not set: WARM_ENI_TARGET=1 decides"),
        ("--max-pods 110", "promises more than the 27 addresses"),
        ("--max-pods 1", "2 pods are more than the kubelet admits (1)"),
    ],
)
def test_settings_that_are_refused_or_do_harm_are_named(moorage: Moorage, arguments: str, warning: str) -> None:
    answer = moorage("warm-pool", "m5.large", "--pods", "2", *arguments.split(), "-o", "json")
    assert any(warning in each for each in answer.json["warnings"]), answer.json["warnings"]


def test_plain_settings_have_no_warning(moorage: Moorage) -> None:
    assert moorage("warm-pool", "m5.large", "--pods", "2", "-o", "json").json["warnings"] == []


def test_the_table_shows_each_step_and_what_is_in_force(moorage: Moorage) -> None:
    answer = moorage("warm-pool", "m5.large", "--pods", "1", "--mode", "prefix", "--then", "17")
    assert answer.out == (
        "PODS  ENIS  SLOTS  PREFIXES  POD ADDRESSES  UNUSED  FAILED PODS  SUBNET ADDRESSES\n"
        "1     1     2      2         32             31      0            33\n"
        "17    1     3      3         48             31      0            49\n"
        "\n"
        "m5.large, prefix mode, max pods 110, WARM_PREFIX_TARGET=1\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("m5.large", "Missing option '--pods'"),
        ("m5.* --pods 1", "names"),
        ("m5.large --pods -1", "--pods"),
        ("u-6tb1.metal --pods 1 --mode prefix", "the max pods of u-6tb1.metal are not known; give --max-pods"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(moorage: Moorage, arguments: str, complaint: str) -> None:
    answer = moorage("warm-pool", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
