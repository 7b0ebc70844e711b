"""`moorage max-pods` answers for one type or many, says whose number it is, and prints the setting that makes it so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Answer, Moorage


def one(answer: Answer) -> Any:
    (found,) = answer.json["types"]
    return found


def test_the_keys_that_scripts_rely_on(moorage: Moorage) -> None:
    answer = moorage("max-pods", "m5.large", "-o", "json")
    assert answer.code == 0
    keys = ("instanceType", "maxPods", "boundBy", "addresses", "enis", "addressesPerEni", "kubeReserved")
    assert {key: one(answer)[key] for key in keys} == {
        "instanceType": "m5.large",
        "maxPods": 29,
        "boundBy": "addresses",
        "addresses": 27,
        "enis": 3,
        "addressesPerEni": 10,
        "kubeReserved": {"cpu": "70m", "memory": "574Mi"},
    }


@pytest.mark.parametrize(
    ("arguments", "pods", "convention"),
    [
        ("m5.large", 29, "ami-default"),
        ("m5.large --mode prefix", 110, "recommended"),
        ("m5.large --mode prefix --convention uncapped", 434, "uncapped"),
        ("m5.large --mode prefix --convention ami-default", 29, "ami-default"),
        ("m5.large --custom-networking", 20, "ami-default"),
        ("m5.large --custom-networking --mode prefix", 110, "recommended"),
        ("m5.4xlarge", 234, "ami-default"),
        ("m5.4xlarge --convention recommended", 110, "recommended"),
        ("m5.large --max-eni 2 --custom-networking", 11, "ami-default"),
        ("t3.large --reserved-enis 1", 24, "ami-default"),
        ("m5.large --expression max_pods+2", 31, "expression"),
        ("m5.large --mode prefix --cni-version v1.8.0-eksbuild.1", 29, "recommended"),
        ("m5.large --security-groups-for-pods", 20, "ami-default"),
        ("m5.large --ipv6", 110, "recommended"),
        ("m5.large --family windows", 110, "ami-default"),
        ("t3.large --reserved-enis 1 --family bottlerocket", 24, "ami-default"),
        ("m5.large --mode prefix --custom-networking --convention uncapped", 290, "uncapped"),
        ("c3.large --mode prefix", 29, "recommended"),
        ("p5.48xlarge", 100, "ami-default"),
        ("m5.large --vcpus 32 --enis 8 --ips-per-eni 30 --mode prefix", 250, "recommended"),
    ],
)
def test_the_published_numbers(moorage: Moorage, arguments: str, pods: int, convention: str) -> None:
    found = one(moorage("max-pods", *arguments.split(), "-o", "json"))
    assert (found["maxPods"], found["convention"]) == (pods, convention)


def test_the_table_says_which_number_it_is_and_why(moorage: Moorage) -> None:
    answer = moorage("max-pods", "m5.large", "--mode", "prefix")
    assert answer.out == (
        "TYPE      MAX PODS  BOUND BY  ADDRESSES  ENIS  PER ENI  KEPT CPU  KEPT MEMORY\n"
        "m5.large  110       cap       432        3     10       70m       1465Mi\n"
        "\n"
        "recommended: 110, the cap for 2 vCPUs; addresses would do for 434\n"
        "note: the image keeps 574Mi, for 29 pods, unless the count is given to nodeadm as maxPodsExpression\n"
    )


def test_a_group_of_several_types_has_the_smallest_number(moorage: Moorage) -> None:
    answer = moorage("max-pods", "m5.large", "c3.large", "--mode", "prefix", "-o", "json")
    assert [each["maxPods"] for each in answer.json["types"]] == [110, 29]
    assert answer.json["managedNodeGroup"] == 29
    capped = moorage("max-pods", "m5.4xlarge", "m5.8xlarge", "-o", "json").json
    assert [each["maxPods"] for each in capped["types"]] == [234, 234]
    assert capped["managedNodeGroup"] == 110


def test_a_pattern_names_many_types(moorage: Moorage) -> None:
    answer = moorage("max-pods", "m5.*", "-o", "json")
    assert {each["instanceType"] for each in answer.json["types"]} >= {"m5.large", "m5.metal", "m5.24xlarge"}
    assert all(each["instanceType"].startswith("m5.") for each in answer.json["types"])


def test_what_is_not_known_is_not_guessed_and_has_code_1(moorage: Moorage) -> None:
    answer = moorage("max-pods", "u-6tb1.metal", "--mode", "prefix", "-o", "json")
    assert answer.code == 1
    assert one(answer)["maxPods"] is None
    assert "managedNodeGroup" not in answer.json
    assert moorage("max-pods", "u-6tb1.metal", "--mode", "prefix", "--vcpus", "448").code == 0


def test_an_expression_that_nodeadm_would_not_use_is_told(moorage: Moorage) -> None:
    found = one(moorage("max-pods", "m5.large", "--expression", "99 - fake", "-o", "json"))
    assert found["maxPods"] == 29
    assert "nodeadm does not use the expression: 'fake'" in found["remarks"][0]


class TestSnippets:
    def test_for_nodeadm_the_count_is_an_expression_so_that_memory_follows(self, moorage: Moorage) -> None:
        answer = moorage("max-pods", "m5.large", "m5.8xlarge", "--mode", "prefix", "--snippet", "nodeadm")
        first, second = yaml.safe_load_all(answer.out)
        assert first["spec"] == {"kubelet": {"maxPodsExpression": "110"}}
        assert second["spec"] == {"kubelet": {"maxPodsExpression": "250"}}
        assert answer.out.startswith("# m5.large\n")

    def test_for_eksctl_all_types_are_one_group(self, moorage: Moorage) -> None:
        answer = moorage("max-pods", "m5.large", "m5.8xlarge", "--mode", "prefix", "--snippet", "eksctl")
        (group,) = yaml.safe_load(answer.out)["managedNodeGroups"]
        assert (group["instanceTypes"], group["maxPodsPerNode"]) == (["m5.large", "m5.8xlarge"], 110)

    def test_of_what_is_not_known_there_is_none(self, moorage: Moorage) -> None:
        answer = moorage("max-pods", "u-6tb1.metal", "--mode", "prefix", "--snippet", "nodeadm")
        assert answer.code == 2
        assert "u-6tb1.metal are not known" in answer.err


def described(name: str, **network: Any) -> dict[str, Any]:
    return {
        "InstanceType": name,
        "Hypervisor": "nitro",
        "BareMetal": False,
        "VCpuInfo": {"DefaultVCpus": 192},
        "MemoryInfo": {"SizeInMiB": 2097152},
        "NetworkInfo": {"MaximumNetworkInterfaces": 64, "Ipv4AddressesPerInterface": 50, **network},
    }


class TestAnswersOfEc2:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return tmp_path / "types.json"

    def ask(self, moorage: Moorage, file: Path, *types: Any, name: str) -> Answer:
        file.write_text(json.dumps({"InstanceTypes": list(types)}))
        return moorage("max-pods", name, "--instance-types", str(file), "-o", "json")

    def test_a_type_that_the_table_does_not_have_is_read_from_them(self, moorage: Moorage, file: Path) -> None:
        cards = [{"NetworkCardIndex": at, "MaximumNetworkInterfaces": 4} for at in range(16)]
        found = one(self.ask(moorage, file, described("p9.48xlarge", NetworkCards=cards), name="p9.48xlarge"))
        assert (found["maxPods"], found["enis"]) == (4 * 49 + 2, 4)
        assert found["remarks"] == [
            "MaximumNetworkInterfaces (64) is the sum over all network cards; pods use the 4 of one"
        ]

    def test_they_go_before_the_table(self, moorage: Moorage, file: Path) -> None:
        cards = [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 5}]
        newer = described("m5.large", MaximumNetworkInterfaces=5, NetworkCards=cards)
        assert one(self.ask(moorage, file, newer, name="m5.large"))["maxPods"] == 5 * 49 + 2

    def test_without_cards_the_sum_is_not_taken_for_a_type_that_is_known(self, moorage: Moorage, file: Path) -> None:
        assert one(self.ask(moorage, file, described("p5.48xlarge"), name="p5.48xlarge"))["maxPods"] == 100

    def test_without_cards_the_sum_is_flagged_for_a_type_that_is_not(self, moorage: Moorage, file: Path) -> None:
        found = one(self.ask(moorage, file, described("p9.48xlarge"), name="p9.48xlarge"))
        assert "is a sum over network cards, and NetworkCards is missing" in found["remarks"][0]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("{}", "the answer: Object missing required field `InstanceTypes`"),
            (
                '{"InstanceTypes": [{"InstanceType": "a"}]}',
                "InstanceTypes[0]: Object missing required field `NetworkInfo`",
            ),
            ("{", "is no JSON"),
        ],
    )
    def test_what_is_missing_in_them_is_named(self, moorage: Moorage, file: Path, text: str, complaint: str) -> None:
        file.write_text(text)
        answer = moorage("max-pods", "a", "--instance-types", str(file))
        assert answer.code == 2
        assert complaint in answer.err
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "name an instance type"),
        ("m5.lrage", "did you mean m5.large"),
        ("q9.*", "no instance type matches 'q9.*'"),
        ("m5.large --convention best", "'best' is not one of"),
        ("m5.large --mode ipv4", "'ipv4' is not one of"),
        ("m5.large --max-eni -1", "--max-eni"),
        ("m5.large --cni-version new", "'new' is no version"),
        ("m5.large --convention uncapped --expression 3", "not both"),
        ("m5.large --instance-types /no/such", "/no/such cannot be read: No such file or directory"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(moorage: Moorage, arguments: str, complaint: str) -> None:
    answer = moorage("max-pods", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
