"""Units of buffers in the status of a NamespaceQuota: counted as if they ran, shown apart, and no reason for alarm."""

from __future__ import annotations

from collections.abc import Sequence

from moorage.api import parse_namespace_quota_spec
from moorage.api.namespacequota import HolderStatus, NamespaceQuotaStatus
from moorage.buffer.holdings import Holding, held, held_by_source
from moorage.quota.ledger import Holder, Usage
from moorage.quota.scopes import Requirement, ScopeFacts
from moorage.status.namespacequota import View, quota_rules, quota_status
from tests.builders import nano

HARD = {"requests.cpu": "20", "cpu": "20", "pods": "10", "services": "5"}
HIGH = Requirement("PriorityClass", "In", frozenset({"high"}))


def holding(buffer: str = "web", units: int = 2, priority: str = "", **unit: str) -> Holding:
    counts = nano(**{"pods": "1", "count/pods": "1", "requests.cpu": "1"} | unit)
    return Holding(buffer, units, counts, ScopeFacts(priority_class=priority))


def status_of(
    holdings: Sequence[Holding], *, cpu: str = "5", pods: str = "5", holders: Sequence[Holder] = ()
) -> NamespaceQuotaStatus:
    """Return the status of a quota of which real pods use this much."""
    used = nano(**{"requests.cpu": cpu, "cpu": cpu, "pods": pods, "services": "1"})
    return quota_status(
        quota_rules(parse_namespace_quota_spec({"hard": HARD})),
        Usage(used, 5),
        lambda _: View(),
        generation=1,
        holdings=holdings,
        holders=lambda name: list(holders) if name == "pods" else [],
    )


def condition(status: NamespaceQuotaStatus, type_: str) -> str:
    return next(each.status for each in status.conditions if each.type == type_)


def test_they_are_part_of_used_and_shown_apart_under_every_name_that_they_count_for() -> None:
    status = status_of([holding(units=2), holding("jobs", units=1, **{"requests.cpu": "500m"})])
    assert status.used == {"requests.cpu": "7500m", "cpu": "7500m", "pods": "8", "services": "1"}
    assert status.buffered == {"requests.cpu": "2500m", "cpu": "2500m", "pods": "3"}
    assert status.remaining["pods"] == "2"
    assert status.utilization["pods"] == "80%"
    assert [line.endswith(" by buffers") for line in status.summary] == [True, True, True, False]
    assert next(line for line in status.summary if line.startswith("pods")).endswith("80%  3 by buffers")


def test_without_units_nothing_is_said_of_them() -> None:
    status = status_of([holding(units=0)])
    assert (status.buffered, status.used["pods"]) == ({}, "5")
    assert not any("buffers" in line for line in status.summary)


def test_they_alone_bring_a_quota_neither_near_its_limit_nor_over_it() -> None:
    full = status_of([holding(units=5)])
    assert (full.used["pods"], full.utilization["pods"]) == ("10", "100%")
    assert (condition(full, "NearLimit"), condition(full, "Exceeded")) == ("False", "False")
    over = status_of([holding(units=9)])
    assert (over.remaining["pods"], condition(over, "Exceeded")) == ("0", "False")


def test_real_pods_do_and_the_message_tells_their_number_alone() -> None:
    near = next(each for each in status_of([holding(units=1)], pods="9").conditions if each.type == "NearLimit")
    assert (near.status, near.message) == ("True", "pods at 9 of 10 (90%)")


def test_a_buffer_is_a_holder_among_the_others() -> None:
    holders = [Holder("Deployment/big", 4_000_000_000, 4), Holder("Job/small", 1_000_000_000, 1)]
    [pods] = [each for each in status_of([holding(units=2)], holders=holders).holders if each.resource == "pods"]
    assert pods.top == (
        HolderStatus(workload="Deployment/big", used="4", pods=4),
        HolderStatus(workload="CapacityBuffer/web", used="2"),
        HolderStatus(workload="Job/small", used="1", pods=1),
    )


def test_only_units_whose_pods_a_quota_selects_count_in_it() -> None:
    units = [holding("web", priority="high"), holding("jobs")]
    assert held(units, HARD, [HIGH]) == nano(**{"requests.cpu": "2", "cpu": "2", "pods": "2"})
    assert held(units, ["services"], []) == {}
    assert held_by_source(units, [HIGH]) == nano(**{"pods": "2", "count/pods": "2", "requests.cpu": "2"})
