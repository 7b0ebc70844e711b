"""Refusals and warnings as clients get them from a real API server, with the webhook beside it."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator

import pytest

from tests.cluster.explaining import (
    ASKED,
    configured,
    events_of,
    explaining_operator,
    free_ports,
    limit,
    status_of,
    wait_for_used,
    wait_until_asked,
)
from tests.cluster.native import new_namespace, remove_namespace
from tests.cluster.objects import deployment, pod, wait_for_condition
from tests.cluster.rest import STRATEGIC, Object, Rest
from tests.controlplane import ControlPlane, wait_for
from tests.controlplane.cluster import Cluster
from tests.operator_process import OperatorProcess

PREFIX = 'admission webhook "pods.explain.moorage.dev" denied the request: '
UNSURE = "moorage_admission_unsure_total"
NATIVE = re.compile(r"exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)")


@pytest.fixture(scope="module")
def system(rest: Rest) -> Iterator[str]:
    """Where the operator keeps its certificate."""
    name = new_namespace(rest)
    yield name
    remove_namespace(rest, name)


@pytest.fixture(scope="module")
def explaining(
    rest: Rest, control_plane: ControlPlane, system: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """An operator whose webhook the API server calls."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the API server of another machine does not reach our loopback")
    log = tmp_path_factory.mktemp("explaining") / "operator.log"
    with free_ports(1) as [port], configured(rest, port):
        operator = explaining_operator(control_plane.kubeconfig, log, port=port, system=system)
        operator.start_and_wait()
        wait_until_asked(rest, system, operator)
        yield operator
        operator.stop()


@pytest.fixture
def team(rest: Rest, explaining: OperatorProcess) -> Iterator[str]:
    """A namespace of the test's own."""
    name = new_namespace(rest)
    yield name
    remove_namespace(rest, name)


def waiting_pod(name: str, **spec: str) -> Object:
    """A pod that no scheduler takes, so that deleting it frees its room at once."""
    return pod(name, schedulerName="none", **spec)


def refused(rest: Rest, team: str, object_: Object) -> str:
    """Send an object until the webhook refuses it: it does so once its numbers are proved; the server always does."""
    said = ""

    def explained() -> bool:
        nonlocal said
        answer = rest.create(team, object_)
        assert answer.code == 403, answer.message
        said = answer.message
        return said.startswith(PREFIX)

    wait_for(explained, timeout=15, message=lambda: f"an explanation; it was {said}")
    return said


def warned_of(rest: Rest, team: str, object_: Object) -> tuple[str, ...]:
    """Try to create an object until there are warnings: of a single call the webhook may be too slow to say any."""

    def warned() -> tuple[str, ...]:
        answer = rest.create(team, object_, dryRun="All")
        assert answer.ok, answer.message
        return answer.warnings

    return wait_for(warned, timeout=15, message=f"a warning about {object_['metadata']['name']}")


def test_a_refused_pod_names_all_failing_limits_of_all_quotas(rest: Rest, team: str) -> None:
    limit(rest, team, "cpu", hard={"pods": "2", "requests.cpu": "1"})
    limit(rest, team, "memory", hard={"requests.memory": "256Mi"})
    rest.create(team, waiting_pod("a", cpu="300m", memory="100Mi")).require()
    rest.create(team, waiting_pod("b", cpu="600m", memory="100Mi")).require()
    wait_for_used(rest, team, {"pods": "2", "requests.cpu": "900m"}, "cpu")
    wait_for_used(rest, team, {"requests.memory": "200Mi"}, "memory")

    message = refused(rest, team, waiting_pod("c", cpu="200m", memory="64Mi"))
    found = NATIVE.match(message.removeprefix(PREFIX))
    assert found
    assert found.groups() == (
        "moorage-cpu",
        "pods=1,requests.cpu=200m",
        "pods=2,requests.cpu=900m",
        "pods=2,requests.cpu=1",
    )
    assert message.splitlines()[1:] == [
        "3 limits stand against pod c:",
        "  - NamespaceQuota cpu: pods: 1 requested, but 2 of 2 is used, which leaves 0; most is held by Pod/a (1) and "
        "Pod/b (1); 1 must be freed, as by 1 pod less of Pod/a",
        "  - NamespaceQuota cpu: requests.cpu: 200m requested, but 900m of 1 is used, which leaves 100m; most is held "
        "by Pod/b (600m, 1 pod) and Pod/a (300m, 1 pod); 100m must be freed, as by 1 pod less of Pod/b",
        "  - NamespaceQuota memory: requests.memory: 64Mi requested, but 200Mi of 256Mi is used, which leaves 56Mi; "
        "most is held by Pod/a (100Mi, 1 pod) and Pod/b (100Mi, 1 pod); 8Mi must be freed, as by 1 pod less of Pod/a",
    ]


def test_bounds_are_named_together_with_totals(rest: Rest, team: str, policies: Cluster) -> None:
    bounds = [{"type": "Container", "max": {"cpu": "500m"}, "default": {"memory": "1Gi"}}]
    limit(rest, team, hard={"pods": "1", "limits.memory": "2Gi"}, limits=bounds)
    wait_for_condition(policies, team, "nsq/team", "Enforced", "True", "Proved", timeout=30)
    rest.create(team, waiting_pod("a", cpu="100m")).require()
    wait_for_used(rest, team, {"pods": "1", "limits.memory": "1Gi"})
    message = refused(rest, team, waiting_pod("b", cpu="600m"))
    assert NATIVE.match(message.removeprefix(PREFIX))
    assert [line.split(";")[0].removeprefix("  - NamespaceQuota team: ") for line in message.splitlines()[2:]] == [
        "maximum cpu per Container is 500m, but container app requests 600m",
        "pods: 1 requested, but 1 of 1 is used, which leaves 0",
    ]
    rest.delete(team, "Pod", "a", grace=0).require()
    wait_for_used(rest, team, {"pods": "0"})
    message = refused(rest, team, waiting_pod("b", cpu="600m"))
    assert message.removeprefix(PREFIX).splitlines()[:2] == [
        "maximum cpu per Container is 500m, but container app requests 600m ",
        "1 limit stands against pod b:",
    ]


def test_the_native_text_is_that_of_the_api_server(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"pods": "1", "requests.memory": "1Gi", "requests.cpu": "1"})
    rest.create(team, waiting_pod("a", cpu="500m", memory="600Mi")).require()
    wait_for_used(rest, team, {"pods": "1"})
    second = waiting_pod("b", cpu="501m", memory="500Mi")
    ours = NATIVE.search(refused(rest, team, second))
    # In a dry run that may be a proof of our policies the webhook keeps silent, and so do the policies of other quotas.
    second["metadata"]["annotations"] = {"moorage.dev/probe": "another"}
    native = NATIVE.search(rest.create(team, second, dryRun="All").message)
    assert ours
    assert native
    assert ours.group() == native.group()


def test_a_resize_is_explained(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"requests.cpu": "1"})
    rest.create(team, waiting_pod("a", cpu="600m")).require()
    wait_for_used(rest, team, {"requests.cpu": "600m"})
    container = {"name": "app", "resources": {"requests": {"cpu": "1100m"}}}
    said = ""

    def explained() -> bool:
        nonlocal said
        change = {"spec": {"containers": [container]}}
        answer = rest.patch(team, "Pod", "a", change, sub="resize", how=STRATEGIC)
        assert answer.code == 403
        said = answer.message
        return "1 limit stands against this resize of pod a" in said

    wait_for(explained, timeout=15, message=lambda: said)
    assert "requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1" in said


def test_a_deletion_makes_room_at_once(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"pods": "1"})
    rest.create(team, waiting_pod("a")).require()
    wait_for_used(rest, team, {"pods": "1"})
    refused(rest, team, waiting_pod("b"))
    rest.delete(team, "Pod", "a", grace=0).require()
    wait_for(lambda: rest.create(team, waiting_pod("b")).ok, timeout=10, message="room")


def test_refusals_stay_explained_while_no_pod_changes(rest: Rest, team: str, explaining: OperatorProcess) -> None:
    limit(rest, team, hard={"pods": "0"})
    refused(rest, team, waiting_pod("a"))
    unsure, asked = explaining.metric(UNSURE), explaining.metric(ASKED)
    deadline = time.monotonic() + 12  # a watch on which nothing happens hears a bookmark about once a minute
    while time.monotonic() < deadline:
        # A refusal that is not explained may be one that the webhook was too slow for, so its own count is asked.
        assert rest.create(team, waiting_pod("a")).code == 403
        time.sleep(0.5)
    refused(rest, team, waiting_pod("a"))
    assert explaining.metric(UNSURE) == unsure
    assert explaining.metric(ASKED) > asked + 1


def test_while_there_is_room_kubectl_prints_a_warning(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"pods": "10", "requests.cpu": "1"})
    expected = ("NamespaceQuota team: with this pod requests.cpu at 900m of 1 (90%)",)
    assert warned_of(rest, team, waiting_pod("a", cpu="900m")) == expected


def test_workloads_are_warned_when_they_are_applied_and_scaled(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"pods": "5"})
    app = deployment("web", replicas=3, schedulerName="none")
    app["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 3}}
    assert warned_of(rest, team, app) == (
        "NamespaceQuota team: 3 replicas of Deployment/web fit, but of the 3 pods more of a rolling update (maxSurge) "
        "only 2: pods has 5 for them, and each takes 1",
    )
    rest.create(team, app).require()
    wait_for_used(rest, team, {"pods": "3"})
    seen: tuple[str, ...] = ()

    def warned() -> bool:
        nonlocal seen
        answer = rest.patch(team, "Deployment", "web", {"spec": {"replicas": 7}}, version="apps/v1", sub="scale")
        rest.patch(team, "Deployment", "web", {"spec": {"replicas": 3}}, version="apps/v1", sub="scale").require()
        seen = answer.warnings
        return bool(answer.ok and seen)

    wait_for(warned, timeout=10, message="a warning about the scale")
    assert seen[0] == (
        "NamespaceQuota team: only 5 of the 7 replicas of Deployment/web fit: pods has 5 for them, and each takes 1"
    )


def test_refusals_are_one_event_on_the_quota_and_one_on_the_deployment(rest: Rest, team: str) -> None:
    limit(rest, team, hard={"pods": "1"})
    rest.create(team, waiting_pod("a")).require()
    wait_for_used(rest, team, {"pods": "1"})
    refused(rest, team, waiting_pod("b"))
    rest.create(team, deployment("web", replicas=3)).require()

    def told() -> bool:
        return bool(events_of(rest, team, "Deployment", "PodRefused"))

    wait_for(told, timeout=20, message="an event on the Deployment")
    [on_deployment] = events_of(rest, team, "Deployment", "PodRefused")
    uid = rest.get(team, "Deployment", "web", "apps/v1").require()["metadata"]["uid"]
    assert on_deployment["regarding"]["uid"] == uid
    assert "by NamespaceQuota team: pods: 1 requested, but 1 of 1 is used" in on_deployment["note"]

    def counted() -> bool:
        [event] = events_of(rest, team, "Deployment", "PodRefused")
        return int((event.get("series") or {}).get("count", 1)) > 2

    wait_for(counted, timeout=30, message="the refusals after it to be counted")
    on_quota = events_of(rest, team, "NamespaceQuota", "Refused")
    assert len(on_quota) == 2, "one for the pod of its own, one for those of the Deployment"
    assert any(each["note"].startswith("refused pod b: pods: 1 requested") for each in on_quota)


def test_audit_refuses_nothing_and_counts(rest: Rest, team: str, explaining: OperatorProcess) -> None:
    limit(rest, team, hard={"pods": "1"}, enforcement="Audit")
    for name in ("a", "b"):
        rest.create(team, waiting_pod(name)).require()
    warning = "NamespaceQuota team is in Audit mode, else it would refuse this: pods: 1 requested, but 2 of 1 is used"

    def warned() -> bool:
        answer = rest.create(team, waiting_pod("c"), dryRun="All")
        return answer.ok and any(each.startswith(warning) for each in answer.warnings)

    wait_for(warned, timeout=10, message="a warning of what would be refused")
    further = (waiting_pod(f"d-{number}") for number in itertools.count())

    def counted() -> bool:
        found = status_of(rest, team, "team").get("wouldRefuse", [])
        if not found:  # the webhook may have been too slow for a pod; dry runs are not counted
            rest.create(team, next(further)).require()
        return [each["reason"] for each in found] == ["count"] and found[0]["objects"] >= 1

    wait_for(counted, timeout=10, message=lambda: f"the number in status: {status_of(rest, team, 'team')}")
    label = f'namespace="{team}",namespacequota="team",reason="count"'
    assert explaining.metric(f"moorage_admission_would_refuse_total{{{label}}}") >= 1
    wait_for(
        lambda: events_of(rest, team, "NamespaceQuota", "WouldRefuse"), timeout=10, message="an event on the quota"
    )
