"""LimitRanges as the API server obeys them: the rows of quota-cases.yaml, which it was seen to follow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.cli.documents import Document
from moorage.cli.quotas import read_limit_range
from moorage.objects import Pod
from moorage.quota.admission import QuotaState, judge_claim, judge_pod
from moorage.quota.bounds import Limits
from moorage.quota.verdict import Step
from tests.builders import nano, pod, pod_spec, quota_state, volume_claim
from tests.cluster.case_objects import CASES


def limit_range(name: str, entries: list[dict[str, Any]]) -> QuotaState:
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": entries}}
    return QuotaState(f"LimitRange/{name}", limits=read_limit_range(Document("a file", body)), is_native=True)


def steps() -> list[Any]:
    """Each pod of the table that is created under LimitRanges alone, and whether it is admitted."""
    found = []
    for name, case in CASES.items():
        ranges = [limit_range("lr", case["limitRange"])] if "limitRange" in case else []
        for number, step in enumerate(case.get("steps", ())):
            made = step.get("create", {})
            if made.get("kind") == "LimitRange" and step["verdict"] == "allowed":
                ranges.append(limit_range(made["metadata"]["name"], made["spec"]["limits"]))
            if made.get("kind") == "Pod" and ranges:
                found.append(pytest.param(tuple(ranges), made, step, id=f"{name}-{number}"))
    return found


@pytest.mark.parametrize(("ranges", "manifest", "step"), steps())
def test_the_table(ranges: tuple[QuotaState, ...], manifest: dict[str, Any], step: dict[str, Any]) -> None:
    verdict = judge_pod(msgspec.convert({"metadata": {}, "spec": manifest["spec"]}, Pod), ranges)
    assert verdict.admitted == (step["verdict"] == "allowed"), verdict.failures
    assert {each.step for each in verdict.failures} <= {Step.BOUNDS}


def test_the_table_has_such_rows() -> None:
    assert len(steps()) >= 10


def filled_in(*ranges: QuotaState, **asked: Any) -> dict[str, dict[str, str]]:
    verdict = judge_pod(pod(spec=pod_spec(**asked)), ranges)
    assert verdict.spec is not None
    (container,) = verdict.spec.containers or ()
    return {side: {k: str(v) for k, v in container.given(side).items()} for side in ("requests", "limits")}


class TestDefaults:
    def test_a_maximum_is_a_default_limit_and_that_a_default_request(self) -> None:
        entry = {"type": "Container", "max": {"cpu": "1"}}
        assert filled_in(limit_range("lr", [entry])) == {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}

    def test_a_minimum_is_a_default_request(self) -> None:
        entry = {"type": "Container", "min": {"cpu": "100m"}, "max": {"memory": "1Gi"}}
        found = filled_in(limit_range("lr", [entry]))
        assert found == {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}

    def test_what_is_given_stays_also_when_it_is_nothing(self) -> None:
        entry = {"type": "Container", "defaultRequest": {"cpu": "200m", "memory": "128Mi"}}
        found = filled_in(limit_range("lr", [entry]), cpu="0")
        assert found["requests"] == {"cpu": "0", "memory": "128Mi"}

    def test_they_come_before_ours(self) -> None:
        ours = QuotaState("team", limits=(Limits("Container", default_request=nano(cpu="1", memory="1Gi")),))
        found = filled_in(ours, limit_range("lr", [{"type": "Container", "defaultRequest": {"cpu": "2"}}]))
        assert found["requests"] == {"cpu": "2", "memory": "1Gi"}

    def test_they_count_in_totals(self) -> None:
        quota = quota_state(hard={"requests.cpu": "1"}, used={"requests.cpu": "0"})
        given = limit_range("lr", [{"type": "Container", "defaultRequest": {"cpu": "300m"}}])
        verdict = judge_pod(pod(), [quota, given])
        assert (verdict.admitted, verdict.fits) == (True, 3)

    def test_a_limit_that_is_below_the_request_makes_the_pod_invalid_and_is_named_once(self) -> None:
        lower = {"type": "Container", "default": {"memory": "512Mi"}}
        verdict = judge_pod(pod(memory="1Gi"), [limit_range("a", [lower]), limit_range("b", [lower])])
        (failure,) = verdict.failures
        assert failure.message == ("container app requests 1Gi of memory, and is given a limit of 512Mi, which is less")


class TestBounds:
    def test_a_maximum_per_pod_demands_a_limit(self) -> None:
        (failure,) = judge_pod(pod(cpu="1"), [limit_range("lr", [{"type": "Pod", "max": {"cpu": "2"}}])]).failures
        assert failure.message == "maximum cpu per Pod is 2, but the pod has no limit"
        assert failure.quota == "LimitRange/lr"

    def test_a_claim_is_held_against_them_at_each_change(self) -> None:
        bound = limit_range("lr", [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}])
        claim = volume_claim(storage="2Gi")
        assert not judge_claim(claim, [bound]).admitted
        assert not judge_claim(claim, [bound], old=claim).admitted

    def test_other_types_are_left_alone(self) -> None:
        entry = {"type": "openshift.io/Image", "max": {"storage": "1Gi"}}
        assert judge_pod(pod(), [limit_range("lr", [entry])]).admitted
