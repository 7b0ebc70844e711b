"""Known faults of native quotas: ours is right at once, tells by how much the native one is off, and until when."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.cluster.case_objects import absent_node, completed
from tests.cluster.crds import OURS
from tests.cluster.native import (
    NSQ,
    RQ,
    amounts,
    native_quota,
    native_status,
    new_namespace,
    our_quota,
    our_status,
    recount,
    remove_namespace,
    used,
    wait_until_recounted,
)
from tests.cluster.recorded import seconds_of, written
from tests.cluster.rest import STRATEGIC, Answer, Object, Rest
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess

AT_ONCE_SECONDS = 20.0
RELEASED_SECONDS = 5.0
"""When a grace period is over, ours says so within one second; the rest is for a busy machine."""
LASTS_SECONDS = 5.0
"""A difference is told once it has lasted so long."""
DIFFERENCE, DURATION = "moorage_native_quota_difference", "moorage_native_quota_difference_seconds"
_SAMPLE = re.compile(r"^(\w+){(.*)} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Pair:
    """A quota of ours and a native one with the same spec, in a namespace of their own."""

    def __init__(self, rest: Rest, operator: OperatorProcess) -> None:
        self.rest = rest
        self.operator = operator
        self.namespace = new_namespace(rest)
        self._began = time.time() - 1  # what is recorded is rounded down to whole seconds

    def ours(self) -> Object:
        return self.rest.get(self.namespace, NSQ, "q", OURS).require()

    def create_quotas(self, **spec: Any) -> None:
        self.rest.create(self.namespace, native_quota("q", spec)).require()
        self.rest.create(self.namespace, our_quota("q", spec)).require()
        wait_until_recounted(self.rest, self.namespace, "q")
        self.rest.wait_until_cached(self.rest.get(self.namespace, RQ, "q").require())
        self.wait_until_ours_says(dict.fromkeys(spec["hard"], "0"))

    def create(self, manifest: Object) -> Answer:
        return self.rest.create(self.namespace, completed(manifest))

    def finish(self, pod: str, phase: str) -> None:
        self.rest.patch(self.namespace, "Pod", pod, {"status": {"phase": phase}}, sub="status").require()

    def wait_until_ours_says(self, expected: Mapping[str, str], seconds: float = AT_ONCE_SECONDS) -> None:
        wait_for(
            lambda: used(our_status(self.rest, self.namespace, "q")) == amounts(expected),
            timeout=seconds,
            message=lambda: f"ours at {expected}; it says {our_status(self.rest, self.namespace, 'q')}",
        )

    def assert_native_says(self, expected: Mapping[str, str]) -> None:
        assert used(native_status(self.rest, self.namespace, "q")) == amounts(expected)

    def wait_until_native_says(self, expected: Mapping[str, str]) -> None:
        wait_for(
            lambda: used(native_status(self.rest, self.namespace, "q")) == amounts(expected),
            timeout=AT_ONCE_SECONDS,
            message=lambda: f"the native one at {expected}; {native_status(self.rest, self.namespace, 'q')}",
        )

    def wait_until_told(self, expected: Mapping[str, tuple[str, str]]) -> None:
        """Wait until the status tells, for each of these resources, what the native quota says and what is right."""

        def told() -> bool:
            found = our_status(self.rest, self.namespace, "q").get("native", ())
            return {each["resource"]: (each["used"], each["counted"]) for each in found} == expected

        wait_for(told, timeout=40, message=lambda: f"{expected}; {our_status(self.rest, self.namespace, 'q')}")
        for each in our_status(self.rest, self.namespace, "q")["native"]:
            assert each["resourceQuota"] == "q"
            assert self._began <= seconds_of(each["since"]) <= time.time() - LASTS_SECONDS
        durations = self.metric(DURATION)
        assert durations.keys() == expected.keys()
        assert all(LASTS_SECONDS <= seconds <= time.time() - self._began for seconds in durations.values())

    def metric(self, metric: str = DIFFERENCE) -> dict[str, float]:
        """What the metric says of this quota, by resource."""
        found = {}
        for name, labels, value in _SAMPLE.findall(self.operator.get("/metrics")):
            by_name = dict(_LABEL.findall(labels))
            if name == metric and by_name["namespace"] == self.namespace:
                assert (by_name["namespacequota"], by_name["resourcequota"]) == ("q", "q")
                found[by_name["resource"]] = float(value)
        return found

    def assert_both_agree_after_a_recount(self, expected: Mapping[str, str]) -> None:
        """The native quota comes to what ours has said all along, and nothing is told any more."""

        def agrees() -> bool:
            recount(self.rest, self.namespace, "q")
            return used(native_status(self.rest, self.namespace, "q")) == amounts(expected)

        # Its controller may not have heard yet of what happened a moment ago.
        wait_for(agrees, timeout=AT_ONCE_SECONDS, message=f"the native one at {expected} after a recount")
        wait_for(
            lambda: not self.metric() and "native" not in our_status(self.rest, self.namespace, "q"),
            timeout=AT_ONCE_SECONDS,
            message=lambda: f"nothing told any more; {self.metric()}, {our_status(self.rest, self.namespace, 'q')}",
        )
        self.wait_until_ours_says(expected)


@pytest.fixture
def pair(rest: Rest, operator: OperatorProcess) -> Iterator[Pair]:
    both = Pair(rest, operator)
    yield both
    remove_namespace(rest, both.namespace)


def pod(name: str = "a", cpu: str = "100m", **spec: Any) -> Object:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def test_refused_creates_cost_nothing(pair: Pair) -> None:
    """kubernetes/kubernetes#61530: an object that exists already is charged again with each try to create it."""
    pair.create_quotas(hard={"pods": "9", "requests.cpu": "1"})
    pair.create(pod(cpu="300m")).require()
    assert [pair.create(pod(cpu="300m")).code for _ in range(2)] == [409, 409]
    pair.wait_until_ours_says({"pods": "1", "requests.cpu": "300m"})
    pair.assert_native_says({"pods": "3", "requests.cpu": "900m"})
    assert our_status(pair.rest, pair.namespace, "q")["remaining"]["requests.cpu"] == "700m"
    assert "exceeded quota" in pair.create(pod("b", cpu="300m")).message, "the native quota refuses what fits"
    pair.wait_until_told({"pods": ("3", "1"), "requests.cpu": ("900m", "300m")})
    assert pair.metric() == pytest.approx({"pods": 2, "requests.cpu": 0.6})
    pair.assert_both_agree_after_a_recount({"pods": "1", "requests.cpu": "300m"})
    # What admission knows of the quota is a moment older.
    wait_for(lambda: pair.create(pod("b", cpu="300m")).ok, timeout=AT_ONCE_SECONDS, message="room for another pod")


def test_a_pod_of_a_lost_node_is_released_when_its_grace_is_over(pair: Pair, figure: Callable[[str], None]) -> None:
    """kubernetes/kubernetes#113293: at deletionTimestamp + grace nothing makes the native controller count anew."""
    pair.create_quotas(hard={"pods": "9", "requests.cpu": "4", "count/pods": "9"})
    pair.create(pod(cpu="1", nodeName=absent_node())).require()
    counted = {"pods": "1", "requests.cpu": "1", "count/pods": "1"}
    released = {"pods": "0", "requests.cpu": "0", "count/pods": "1"}
    pair.wait_until_ours_says(counted)
    deleted = pair.rest.delete(pair.namespace, "Pod", "a", grace=3).require()["metadata"]
    due = seconds_of(deleted["deletionTimestamp"]) + deleted["deletionGracePeriodSeconds"]
    pair.wait_until_ours_says(released)
    took = written(pair.ours(), part="status") - due
    figure(f"released {took:.0f} s after the grace period")
    assert 0 <= took <= RELEASED_SECONDS
    pair.assert_native_says(counted)
    pair.wait_until_told({"pods": ("1", "0"), "requests.cpu": ("1", "0")})
    assert pair.metric() == {"pods": 1, "requests.cpu": 1}
    pair.assert_both_agree_after_a_recount(released)


def test_a_smaller_size_is_released_with_the_resize(pair: Pair) -> None:
    """kubernetes/kubernetes#127132: a resize down stays charged until something else makes for a recount."""
    pair.create_quotas(hard={"requests.cpu": "4"})
    pair.create(pod(cpu="400m")).require()
    pair.wait_until_ours_says({"requests.cpu": "400m"})
    smaller = {"spec": pod(cpu="100m")["spec"]}
    pair.rest.patch(pair.namespace, "Pod", "a", smaller, sub="resize", how=STRATEGIC).require()
    pair.wait_until_ours_says({"requests.cpu": "100m"})
    pair.assert_native_says({"requests.cpu": "400m"})
    pair.wait_until_told({"requests.cpu": ("400m", "100m")})
    assert pair.metric() == pytest.approx({"requests.cpu": 0.3})
    pair.assert_both_agree_after_a_recount({"requests.cpu": "100m"})


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_is_an_object_still(pair: Pair, phase: str) -> None:
    """kubernetes/kubernetes#117663: `pods` and `count/pods` are not the same."""
    pair.create_quotas(hard={"pods": "9", "count/pods": "9"})
    pair.create(pod()).require()
    pair.wait_until_ours_says({"pods": "1", "count/pods": "1"})
    pair.finish("a", phase)
    pair.wait_until_ours_says({"pods": "0", "count/pods": "1"})
    pair.assert_both_agree_after_a_recount({"pods": "0", "count/pods": "1"})


def test_the_place_of_a_sidecar_among_the_init_containers_counts(pair: Pair) -> None:
    """kubernetes/website#57244: before an init container it runs beside it, after it only beside the app."""
    init = {"name": "i", "resources": {"requests": {"cpu": "200m"}}}
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}
    pair.create_quotas(hard={"requests.cpu": "4"})
    pair.create(pod("before", initContainers=[sidecar, init])).require()
    pair.wait_until_ours_says({"requests.cpu": "300m"})
    pair.create(pod("after", initContainers=[init, sidecar])).require()
    pair.wait_until_ours_says({"requests.cpu": "500m"})
    pair.assert_both_agree_after_a_recount({"requests.cpu": "500m"})


def test_what_the_runtime_of_a_pod_takes_counts(pair: Pair) -> None:
    """kubernetes/kubernetes#99577: the overhead of the RuntimeClass."""
    pair.create_quotas(hard={"requests.cpu": "4", "requests.memory": "1Gi"})
    manifest = pod(runtimeClassName="oracle-rc")
    manifest["spec"]["containers"][0]["resources"]["requests"]["memory"] = "36Mi"
    pair.create(manifest).require()
    pair.wait_until_ours_says({"requests.cpu": "220m", "requests.memory": "100Mi"})
    pair.assert_both_agree_after_a_recount({"requests.cpu": "220m", "requests.memory": "100Mi"})


def test_a_finished_pod_leaves_the_quota_of_its_priority_class(pair: Pair) -> None:
    """kubernetes/kubernetes#117676: quotas with that scope were not counted anew when pods ended."""
    scope = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    pair.create_quotas(hard={"pods": "9", "requests.cpu": "4"}, scopeSelector=scope)
    for name, of in {"a": {"priorityClassName": "high"}, "b": {"priorityClassName": "high"}, "c": {}}.items():
        pair.create(pod(name, **of)).require()
    pair.wait_until_ours_says({"pods": "2", "requests.cpu": "200m"})
    pair.finish("a", "Succeeded")
    pair.wait_until_ours_says({"pods": "1", "requests.cpu": "100m"})
    pair.wait_until_native_says({"pods": "1", "requests.cpu": "100m"})
    pair.assert_both_agree_after_a_recount({"pods": "1", "requests.cpu": "100m"})
