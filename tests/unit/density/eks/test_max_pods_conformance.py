"""Max pods, row by row as the sources' own scripts, tests and tables have them, and for all 1,420 types."""

from __future__ import annotations

import dataclasses
import re

import pytest

from moorage.density.eks.expression import ExpressionError, evaluate
from moorage.density.eks.instances import instance_types
from moorage.density.eks.maxpods import Convention, max_pods
from moorage.density.eks.networking import Family, Mode, Networking
from moorage.density.eks.reserved import kube_reserved
from tests.unit.eks_rows import CASES, LIMITS, cases, instance_of, networking_of

DECISIONS = {
    "C053": (
        11762,
        "the calculator takes bare metal for not capable of prefixes; the CNI, which attaches them, does not",
    )
}
"""Where two sources differ: the answer taken, and why."""

SECONDARY, PREFIX = Networking(), Networking(Mode.PREFIX)
CUSTOM, CUSTOM_PREFIX = Networking(custom_networking=True), Networking(Mode.PREFIX, custom_networking=True)


def convention_of(other: str) -> Convention:
    if other.startswith(("recommended", "mng")):
        return Convention.RECOMMENDED
    return Convention.UNCAPPED if other.startswith("uncapped") else Convention.AMI_DEFAULT


def family_of(other: str) -> Family:
    for family in ("windows", "bottlerocket"):
        if family in other:
            return Family(family)
    return Family.AL2023


@pytest.mark.parametrize("case", cases("max_pods"))
def test_max_pods_are_those_of_the_source(case: str) -> None:
    row = CASES[case]
    networking = dataclasses.replace(networking_of(row), family=family_of(row["other_input"]))
    answer = max_pods(instance_of(row), networking, convention_of(row["other_input"]))
    expected = int(row["expect_max_pods"])
    assert answer.pods == (DECISIONS[case][0] if case in DECISIONS else expected)
    if memory := re.search("kube_reserved_memory=([0-9]+)Mi", row["expect_other"]):
        assert answer.reserved is not None
        assert answer.reserved.memory_mib == int(memory[1])
    if ordinary := re.search("ordinary IPs ([0-9]+); plus up to ([0-9]+) branch", row["expect_other"]):
        assert (answer.addresses, answer.instance.branch_enis) == (int(ordinary[1]), int(ordinary[2]))


@pytest.mark.parametrize("case", DECISIONS)
def test_a_decision_differs_from_the_source_it_is_taken_against(case: str) -> None:
    assert DECISIONS[case][0] != int(CASES[case]["expect_max_pods"])
    assert str(DECISIONS[case][0]) in CASES[case]["note"]


@pytest.mark.parametrize("case", cases("expression"))
def test_an_expression_gives_what_nodeadm_makes_of_it(case: str) -> None:
    row = CASES[case]
    expression, _, kubelet = row["other_input"].partition(", and kubelet config maxPods: ")
    own = int(row["max_pods"] or 0)
    enis, per_eni = int(row["enis"] or 0), int(row["ips_per_eni"] or 0)
    own = own or enis * (per_eni - 1) + 2
    if "error" in row["expect_other"] or "falls back" in row["note"]:
        with pytest.raises(ExpressionError):
            evaluate(expression, default_enis=enis, ips_per_eni=per_eni, max_pods=own)
        assert not row["expect_max_pods"] or own == int(row["expect_max_pods"])
        return
    pods = evaluate(expression, default_enis=enis, ips_per_eni=per_eni, max_pods=own)
    if (
        kubelet
    ):  # what the kubelet is told beside is what it takes; memory is reserved for the other number all the same
        assert f"generated {pods}" in row["expect_other"]
    else:
        assert pods == int(row["expect_max_pods"])
    if memory := re.search("memory=([0-9]+)Mi", row["expect_other"]):
        assert kube_reserved(2, pods).memory_mib == int(memory[1])


@pytest.mark.parametrize("case", cases("kube_reserved"))
def test_what_is_reserved_is_what_nodeadm_reserves(case: str) -> None:
    row = CASES[case]
    found = kube_reserved(int(row["vcpus"]), int(row["max_pods"]))
    assert row["expect_other"] == f"cpu={found.cpu_milli}m memory={found.memory_mib}Mi"


def test_the_table_has_all_types() -> None:
    assert instance_types().keys() == LIMITS.keys()
    assert len(LIMITS) == 1420


COLUMNS = {
    "max_pods_secondary": (SECONDARY, Convention.AMI_DEFAULT),
    "max_pods_secondary_mng_capped": (SECONDARY, Convention.RECOMMENDED),
    "max_pods_secondary_custom_net": (CUSTOM, Convention.AMI_DEFAULT),
    "max_pods_prefix_recommended": (PREFIX, Convention.RECOMMENDED),
    "max_pods_prefix_custom_net_recommended": (CUSTOM_PREFIX, Convention.RECOMMENDED),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_every_type_has_the_number_of_the_column(column: str) -> None:
    networking, convention = COLUMNS[column]
    wrong = {}
    for name, row in LIMITS.items():
        pods = max_pods(instance_types()[name], networking, convention).pods
        if pods != (int(row[column]) if row[column] else None):
            wrong[name] = (pods, row[column])
    assert not wrong


def test_without_a_cap_a_type_takes_what_its_prefixes_hold_if_it_takes_any() -> None:
    for name, row in LIMITS.items():
        found = max_pods(instance_types()[name], PREFIX, Convention.UNCAPPED)
        assert (row["prefix_capable"] == "true") == bool(row["max_pods_prefix_uncapped"])
        assert found.pods == int(row["max_pods_prefix_uncapped"] or row["max_pods_secondary"]), name


def test_every_type_keeps_what_the_image_keeps() -> None:
    for name, row in LIMITS.items():
        found = max_pods(instance_types()[name], SECONDARY, Convention.AMI_DEFAULT).reserved
        assert found is not None
        assert found.cpu_milli == (int(row["kube_reserved_cpu_m"]) if row["kube_reserved_cpu_m"] else None), name
        assert found.memory_mib == int(row["kube_reserved_mem_mib_default"]), name


def test_every_type_has_the_limits_of_the_sources() -> None:
    for name, row in LIMITS.items():
        found = instance_types()[name]
        assert (found.enis, found.addresses_per_eni) == (int(row["max_enis"]), int(row["ipv4_per_eni"])), name
        assert found.enis_of_all_cards == int(row["all_cards_max_enis"]), name
        assert found.takes_prefixes == (row["prefix_capable"] == "true"), name
        assert found.branch_enis == (int(row["branch_enis"]) if row["branch_enis"] else None), name
