"""Minimum, maximum and ratio of single containers, pods and claims."""

from __future__ import annotations

import pytest

from moorage.objects import PodSpec
from moorage.quota.admission import Failure, Step, judge_claim, judge_pod
from moorage.quota.bounds import Limits
from tests.builders import container, limits, nano, pod, pod_spec, quota_state, resources, sidecar, volume_claim

MAX = limits(max={"cpu": "1"})
MIN = limits(min={"cpu": "100m"})
RATIO = limits(ratio={"cpu": "2"})
POD_MAX = limits("Pod", max={"cpu": "1"})
CLAIM = limits("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "10Gi"})


def failures(spec: PodSpec, *entries: Limits) -> tuple[Failure, ...]:
    return judge_pod(pod(spec=spec), [quota_state("team-a", *entries)]).failures


def said(spec: PodSpec, *entries: Limits) -> list[str]:
    return [each.message for each in failures(spec, *entries)]


@pytest.mark.parametrize(
    ("spec", "entry"),
    [
        pytest.param(pod_spec(), MAX, id="a maximum does not refuse what asks for nothing"),
        pytest.param(pod_spec(cpu="1"), MAX, id="nor a missing limit"),
        pytest.param(pod_spec(cpu="1", limits={"cpu": "1"}), MAX, id="the maximum itself"),
        pytest.param(pod_spec(cpu="100m"), MIN, id="the minimum itself"),
        pytest.param(pod_spec(limits={"cpu": "100m"}), MIN, id="a limit that became the request"),
        pytest.param(pod_spec(memory="1Gi"), limits(max={"cpu": "0"}), id="other resources"),
        pytest.param(pod_spec(cpu="1", limits={"cpu": "2"}), RATIO, id="the ratio itself"),
        pytest.param(
            pod_spec(requests={"cpu": "100m"}, limits={"cpu": "110m"}), limits(ratio={"cpu": "1.1"}), id="exactly"
        ),
        pytest.param(
            pod_spec(containers=[container("a", cpu="1"), container("b", cpu="1")]), MAX, id="each container by itself"
        ),
        pytest.param(pod_spec(pod_level=resources({"cpu": "4"})), MAX, id="the pod is no container"),
        pytest.param(pod_spec(pod_level=resources({"cpu": "4"})), MIN, id="a container's part of what its pod gives"),
        pytest.param(pod_spec(pod_level=resources(None, {"cpu": "4"})), RATIO, id="and the ratio of that"),
        pytest.param(pod_spec(cpu="500m", overhead={"cpu": "600m"}), POD_MAX, id="overhead does not count"),
        pytest.param(
            pod_spec(cpu="1", init=[container("i", cpu="1")]), POD_MAX, id="init containers run before the others"
        ),
        pytest.param(pod_spec(cpu="4", pod_level=resources({"cpu": "1"})), POD_MAX, id="the pod's own word counts"),
        pytest.param(pod_spec(cpu="9"), CLAIM, id="bounds of claims"),
    ],
)
def test_these_are_within_bounds(spec: PodSpec, entry: Limits) -> None:
    assert said(spec, entry) == []


@pytest.mark.parametrize(
    ("spec", "entry", "message"),
    [
        pytest.param(
            pod_spec(cpu="1001m"),
            MAX,
            "maximum cpu per Container is 1, but container app requests 1001m",
            id="request",
        ),
        pytest.param(
            pod_spec(cpu="1", limits={"cpu": "2"}),
            MAX,
            "maximum cpu per Container is 1, but container app has a limit of 2",
            id="limit",
        ),
        pytest.param(
            pod_spec(cpu="2", limits={"cpu": "4"}),
            MAX,
            "maximum cpu per Container is 1, but container app requests 2 and has a limit of 4",
            id="both",
        ),
        pytest.param(
            pod_spec(init=[sidecar(cpu="2")]),
            MAX,
            "maximum cpu per Container is 1, but container proxy requests 2",
            id="a sidecar",
        ),
        pytest.param(
            pod_spec(), MIN, "minimum cpu per Container is 100m, but container app requests none", id="no request"
        ),
        pytest.param(
            pod_spec(cpu="0"),
            MIN,
            "minimum cpu per Container is 100m, but container app requests 0",
            id="a request of 0",
        ),
        pytest.param(
            pod_spec(cpu="1m", pod_level=resources({"cpu": "1"})),
            MIN,
            "minimum cpu per Container is 100m, but container app requests 1m",
            id="a container's own word in a pod that gives it as a whole",
        ),
        pytest.param(
            pod_spec(cpu="400m", limits={"cpu": "1"}),
            RATIO,
            "maximum ratio of limit to request of cpu per Container is 2, but container app has 2.5 (a limit of 1, a "
            "request of 400m)",
            id="ratio",
        ),
        pytest.param(
            pod_spec(cpu="1"),
            RATIO,
            "maximum ratio of limit to request of cpu per Container is 2, but container app has no limit",
            id="ratio without a limit",
        ),
        pytest.param(
            pod_spec(),
            RATIO,
            "maximum ratio of limit to request of cpu per Container is 2, but container app has no request",
            id="ratio without anything",
        ),
        pytest.param(
            pod_spec(cpu="0", limits={"cpu": "1"}),
            RATIO,
            "maximum ratio of limit to request of cpu per Container is 2, but container app has a request of 0",
            id="ratio of nothing",
        ),
        pytest.param(
            pod_spec(containers=[container("a", cpu="600m"), container("b", cpu="600m")]),
            POD_MAX,
            "maximum cpu per Pod is 1, but the pod requests 1200m",
            id="the sum over a pod",
        ),
        pytest.param(
            pod_spec(cpu="600m", init=[sidecar("s", cpu="300m"), container("i", cpu="800m")]),
            POD_MAX,
            "maximum cpu per Pod is 1, but the pod requests 1100m",
            id="the peak while a pod starts",
        ),
        pytest.param(
            pod_spec(pod_level=resources(None, {"cpu": "2"})),
            POD_MAX,
            "maximum cpu per Pod is 1, but the pod requests 2 and has a limit of 2",
            id="what a pod gives as a whole",
        ),
        pytest.param(
            pod_spec(pod_level=resources(None, {"hugepages-2Mi": "4Mi", "memory": "64Mi"})),
            limits("Pod", max={"hugepages-2Mi": "2Mi"}),
            "maximum hugepages-2Mi per Pod is 2Mi, but the pod requests 4Mi and has a limit of 4Mi",
            id="hugepages too, which a LimitRange does not see",
        ),
    ],
)
def test_these_break_a_bound(spec: PodSpec, entry: Limits, message: str) -> None:
    assert said(spec, entry) == [message]


def test_a_failure_carries_its_numbers() -> None:
    assert failures(pod_spec(containers=[container("a", cpu="2")]), MAX) == (
        Failure(
            Step.BOUNDS,
            "team-a",
            "cpu",
            "maximum cpu per Container is 1, but container a requests 2",
            nano(cpu="1")["cpu"],
            requested=nano(cpu="2")["cpu"],
            where="a",
        ),
    )


def test_every_bound_of_every_container_and_quota_is_told() -> None:
    spec = pod_spec(containers=[container("a", cpu="2"), container("b", cpu="1m", memory="9Gi")])
    quotas = [quota_state("one", limits(min={"cpu": "10m"}, max={"memory": "1Gi"})), quota_state("two", MAX, POD_MAX)]
    found = judge_pod(pod(spec=spec), quotas).failures
    assert [(each.quota, each.resource, each.where) for each in found] == [
        ("one", "cpu", "b"),
        ("one", "memory", "b"),
        ("two", "cpu", ""),
        ("two", "cpu", "a"),
    ]


def test_bounds_hold_for_what_was_filled_in() -> None:
    entry = limits(default_request={"cpu": "200m"}, min={"cpu": "100m"})
    assert said(pod_spec(), entry) == []


class TestClaims:
    @pytest.mark.parametrize(
        ("storage", "message"),
        [
            ("1Gi", None),
            ("10Gi", None),
            ("1Mi", "minimum storage per PersistentVolumeClaim is 1Gi, but the claim requests 1Mi"),
            ("11Gi", "maximum storage per PersistentVolumeClaim is 10Gi, but the claim requests 11Gi"),
        ],
    )
    def test_their_storage_is_bounded(self, storage: str, message: str | None) -> None:
        found = judge_claim(volume_claim(storage=storage), [quota_state("team-a", CLAIM, MAX, POD_MAX)])
        assert [each.message for each in found.failures] == ([] if message is None else [message])

    def test_an_older_claim_can_be_labelled_though_a_new_bound_would_refuse_it(self) -> None:
        claim = volume_claim(storage="11Gi")
        assert judge_claim(claim, [quota_state("team-a", CLAIM)], old=claim).admitted

    def test_expanding_it_is_held_against_the_bound(self) -> None:
        grown = judge_claim(
            volume_claim(storage="12Gi"), [quota_state("team-a", CLAIM)], old=volume_claim(storage="11Gi")
        )
        assert [each.step for each in grown.failures] == [Step.BOUNDS]


class TestResizes:
    def test_bounds_hold_for_the_new_amounts(self) -> None:
        found = judge_pod(pod(cpu="2"), [quota_state("team-a", MAX)], old=pod(cpu="1"))
        assert [each.step for each in found.failures] == [Step.BOUNDS]

    def test_nothing_is_filled_in(self) -> None:
        entry = limits(default={"cpu": "4"}, default_request={"memory": "1Gi"})
        found = judge_pod(pod(cpu="2"), [quota_state("team-a", entry)], old=pod(cpu="1"))
        assert (found.admitted, found.defaulted) == (True, {})

    def test_a_deadline_can_be_set_for_an_older_pod_though_a_new_bound_would_refuse_it(self) -> None:
        assert judge_pod(pod(cpu="2", deadline=9), [quota_state("team-a", MAX)], old=pod(cpu="2")).admitted
