"""The condition that names workloads whose next pod a quota would refuse."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from moorage.api.conditions import Condition
from moorage.quota.admission import QuotaState
from moorage.quota.ledger import Holder
from moorage.quota.report import report
from moorage.quota.workloads import Findings, Workload, refused, unused
from moorage.status.findings import is_provisional
from moorage.status.limits import workloads_refused
from tests.builders import limits, nano, pod_spec, quota_state

QUOTA = quota_state("team-a", hard={"requests.cpu": "9", "pods": "9"})
SILENT = pod_spec()


def findings(quota: QuotaState, *names: str, problems: tuple[str, ...] = ()) -> Findings:
    workloads = [Workload(name, SILENT) for name in names]
    return Findings({quota.name: unused(quota)}, tuple(refused(workloads, [quota])), problems)


def said(
    quota: QuotaState,
    found: Findings | None,
    *,
    used: Mapping[str, str] | None = None,
    holders: Mapping[str, list[Holder]] | None = None,
) -> list[Condition]:
    amounts = {**dict.fromkeys(quota.hard, 0), **nano(**used or {})}
    return workloads_refused(
        quota,
        found,
        report=report(quota.hard, amounts),
        holders=lambda name: (holders or {}).get(name, []),
        generation=3,
    )


def brief(conditions: list[Condition]) -> tuple[str, str, str]:
    (one,) = conditions
    assert (one.type, one.observed_generation) == ("WorkloadsRefused", 3)
    return one.status, one.reason, one.message


def test_a_workload_is_named_with_its_reason() -> None:
    assert brief(said(QUOTA, findings(QUOTA, "Deployment/web"))) == (
        "True",
        "NextPodRefused",
        "1 workload could not make another pod: Deployment/web (must specify requests.cpu for container app: the total "
        "is limited, and no default fills it in)",
    )


def test_only_some_of_many_are_named() -> None:
    message = brief(said(QUOTA, findings(QUOTA, *(f"Job/j{number}" for number in range(8)))))[2]
    assert message.startswith("8 workloads could not make another pod: Job/j0 (")
    assert (message.count("Job/"), message[-8:]) == (5, ", 3 more")


def test_without_any_it_says_what_was_looked_at() -> None:
    assert brief(said(QUOTA, findings(QUOTA)))[:2] == ("False", "AllAdmitted")


@pytest.mark.parametrize(
    "found", [None, findings(quota_state("team-a", hard={"requests.cpu": "8"}))], ids=["nobody looked", "spec changed"]
)
def test_until_somebody_has_looked_it_is_unknown_for_a_moment(found: Findings | None) -> None:
    (condition,) = said(QUOTA, found)
    assert condition.status == "Unknown"
    assert is_provisional({"conditions": [{"reason": condition.reason}]})


def test_what_cannot_be_read_is_told() -> None:
    status, reason, message = brief(said(QUOTA, findings(QUOTA, problems=("jobs.batch cannot be read: no",))))
    assert (status, reason, message) == ("Unknown", "WorkloadsUnreadable", "jobs.batch cannot be read: no")
    some = brief(said(QUOTA, findings(QUOTA, "Job/a", problems=("jobs.batch cannot be read: no",))))
    assert (some[0], some[2].endswith("; jobs.batch cannot be read: no")) == ("True", True)


def test_what_others_refuse_is_theirs_to_tell() -> None:
    other = quota_state("other", limits(min={"cpu": "1"}))
    both = Findings(
        {each.name: unused(each) for each in (QUOTA, other)},
        tuple(refused([Workload("Job/a", pod_spec(cpu="1m"))], [QUOTA, other])),
    )
    assert brief(said(QUOTA, both))[0] == "False"
    assert brief(said(other, both))[0] == "True"


class TestMoreUsedThanAllowed:
    HOLDERS = {
        "requests.cpu": [Holder("Deployment/web", 0, 3), Holder("Pod/shell", 0, 1)],
        "secrets": [Holder("Secret/a", 0, 0)],
    }

    def test_pods_that_end_are_not_replaced(self) -> None:
        used = {"requests.cpu": "12"}
        message = brief(said(QUOTA, findings(QUOTA), used=used, holders=self.HOLDERS))[2]
        assert message == "1 workload could not make another pod: Deployment/web (requests.cpu is at 12 of 9)"

    def test_both_kinds_of_reasons_are_told_of_a_workload(self) -> None:
        found = findings(QUOTA, "Deployment/web")
        message = brief(said(QUOTA, found, used={"requests.cpu": "12"}, holders=self.HOLDERS))[2]
        assert "(requests.cpu is at 12 of 9; must specify requests.cpu" in message

    def test_a_quota_that_demands_nothing_of_single_pods_speaks_only_then(self) -> None:
        pods = quota_state("team-a", hard={"pods": "2"})
        assert said(pods, None, used={"pods": "2"}) == []
        holders = {"pods": [Holder("Job/a", 0, 3)]}
        assert brief(said(pods, None, used={"pods": "3"}, holders=holders))[0] == "True"

    def test_other_objects_are_no_workloads(self) -> None:
        secrets = quota_state("team-a", hard={"secrets": "0"})
        assert said(secrets, None, used={"secrets": "1"}, holders=self.HOLDERS) == []


def test_in_audit_mode_it_says_so() -> None:
    watched = quota_state("team-a", hard={"requests.cpu": "9"}, audit=True)
    message = brief(said(watched, findings(watched, "Job/a")))[2]
    assert message.startswith("1 workload could not make another pod in Enforce mode: Job/a (")
