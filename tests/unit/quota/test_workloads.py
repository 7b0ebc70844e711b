"""Workloads whose next pod quotas would refuse for itself."""

from __future__ import annotations

import pytest

from moorage.objects import PodSpec
from moorage.quota.admission import QuotaState
from moorage.quota.workloads import Findings, Workload, demands_of_single_pods, refused, unused
from tests.builders import limits, pod_spec, quota_state

SILENT = Workload("Deployment/web", pod_spec())
MODEST = Workload("Job/sum", pod_spec(cpu="100m", memory="1Gi"))
TOTAL = quota_state("total", hard={"requests.cpu": "9"})
BOUND = quota_state("bound", limits(max={"memory": "512Mi"}))


def found(workloads: list[Workload], *quotas: QuotaState) -> list[tuple[str, str, list[str]]]:
    return [
        (each.workload, each.quota, [failure.step.value for failure in each.failures])
        for each in refused(workloads, quotas)
    ]


def test_each_quota_that_refuses_it_is_named_with_its_reasons() -> None:
    assert found([SILENT, MODEST], TOTAL, BOUND) == [
        ("Deployment/web", "total", ["specify"]),
        ("Job/sum", "bound", ["bounds"]),
    ]


def test_a_default_of_any_quota_helps() -> None:
    helper = quota_state("helper", limits(default_request={"cpu": "200m"}))
    assert found([SILENT], TOTAL, helper) == []


def test_totals_are_not_asked() -> None:
    assert found([MODEST], quota_state(hard={"requests.cpu": "0", "pods": "0"}, used={"pods": "9"})) == []


def test_a_quota_that_only_watches_tells_what_it_would_refuse() -> None:
    assert found([SILENT], quota_state("watched", hard={"requests.cpu": "9"}, audit=True)) == [
        ("Deployment/web", "watched", ["specify"])
    ]


@pytest.mark.parametrize(
    ("quota", "demands"),
    [
        (BOUND, True),
        (TOTAL, True),
        (quota_state(hard={"limits.ephemeral-storage": "1Gi"}), True),
        (quota_state(hard={"pods": "1", "requests.x.com/gpu": "1", "hugepages-2Mi": "1"}), False),
        (quota_state(hard={"secrets": "1", "requests.storage": "1"}), False),
    ],
    ids=["limits", "cpu", "local disk", "what pods need not give", "other objects"],
)
def test_only_some_quotas_demand_anything_of_single_pods(quota: QuotaState, demands: bool) -> None:
    assert demands_of_single_pods(quota) is demands


def test_findings_are_about_a_quota_as_it_was() -> None:
    findings = Findings({"total": unused(TOTAL)})
    assert findings.tell_of(quota_state("total", hard={"requests.cpu": "9"}, used={"requests.cpu": "5"}))
    assert not findings.tell_of(quota_state("total", hard={"requests.cpu": "8"}))
    assert not findings.tell_of(BOUND)


def test_a_template_without_containers_is_no_workload_to_refuse() -> None:
    assert found([Workload("Deployment/odd", PodSpec())], TOTAL, BOUND) == []
