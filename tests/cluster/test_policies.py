"""What the policies do beside judging new pods: resizes, claims, one message for all, and whom they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.crds import OURS
from tests.cluster.enforcing import enforced_quota
from tests.cluster.native import NSQ, remove_namespace
from tests.cluster.policies import PROBE, judged, label_namespace, pod_of, wait_until_in_force
from tests.cluster.rest import Answer, Object, Rest
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.pod_shapes import amounts, asks, capped, container, limits, pod

BOUNDED = {
    "limits": limits(
        Container={"max": {"cpu": "1", "memory": "1Gi"}, "min": {"cpu": "10m"}},
        Pod={"max": {"cpu": "1500m"}},
        PersistentVolumeClaim={"min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}},
    )
}


pytestmark = pytest.mark.usefixtures("policies")


@pytest.fixture
def bounded(policies: Cluster, rest: Rest, namespace: str) -> str:
    """A namespace whose one quota bounds single objects."""
    set_quota(rest, namespace, BOUNDED)
    return namespace


def set_quota(rest: Rest, namespace: str, spec: Object, name: str = "team") -> None:
    rest.create(namespace, enforced_quota(name, spec)).require()
    wait_until_in_force(rest, namespace, {name: spec})


def claim(storage: str, **further: Any) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **further}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"generateName": "data-"}, "spec": spec}


def resize(rest: Rest, namespace: str, name: str, **requests: str) -> Answer:
    wanted = {"spec": {"containers": [{"name": "app", "resources": {"requests": amounts(**requests)}}]}}
    return rest.patch(namespace, "Pod", name, wanted, sub="resize", how="strategic")


def stored(rest: Rest, namespace: str, spec: Object) -> str:
    body = rest.create(namespace, pod_of({**spec, "schedulerName": "nobody"})).require()
    return str(body["metadata"]["name"])


# One message


def test_one_message_names_every_bound_that_fails(rest: Rest, bounded: str) -> None:
    too_much = pod(asks("web", cpu="2", memory="2Gi"), capped("log", cpu="5m"), inits=[container("init")])
    answer = judged(rest, bounded, too_much, name="greedy")
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    text = answer.message.partition("NamespaceQuota team: ")[2]
    assert set(text.split("; ")) == {
        "maximum cpu per Container is 1, but container web requests 2",
        "maximum memory per Container is 1Gi, but container web requests 2Gi",
        "minimum cpu per Container is 10m, but container log requests 5m and has a limit of 5m",
        "minimum cpu per Container is 10m, but container init requests none",
        "maximum cpu per Pod is 1500m, but the pod requests 2005m",
    }


def test_a_message_of_many_containers_is_cut(rest: Rest, bounded: str) -> None:
    answer = judged(rest, bounded, pod(*(asks(f"container-{number}", cpu="2") for number in range(100))))
    assert answer.code == 403
    assert "but container container-0 requests 2" in answer.message
    assert answer.message.endswith(" ...")


def test_pods_of_three_hundred_containers_are_judged(rest: Rest, bounded: str) -> None:
    rest.patch(
        bounded,
        NSQ,
        "team",
        {"spec": {"limits": limits(Container={"max": {"cpu": "1"}}, Pod={"max": {"cpu": "3"}})}},
        version=OURS,
    ).require()
    many = [asks(f"app-{number}", cpu="10m") for number in range(200)]
    inits = [asks(f"init-{number}", cpu="10m") for number in range(100)]
    fits, exceeds = pod(*many, inits=inits), pod(asks("one-more", cpu="1001m"), *many[1:], inits=inits)
    wait_for(lambda: judged(rest, bounded, fits).ok, timeout=10, message="a pod without a limit of its containers")
    assert (
        "maximum cpu per Container is 1, but container one-more requests 1001m"
        in judged(rest, bounded, exceeds).message
    )


# Resizes


def test_a_resize_is_held_against_bounds(rest: Rest, bounded: str) -> None:
    name = stored(rest, bounded, pod(asks(cpu="500m")))
    refused = resize(rest, bounded, name, cpu="1100m")
    assert (refused.code, "maximum cpu per Container is 1" in refused.message) == (403, True), refused.message
    resize(rest, bounded, name, cpu="900m").require()


def test_a_resize_that_changes_nothing_is_not_held_against_later_bounds(rest: Rest, namespace: str) -> None:
    name = stored(rest, namespace, pod(asks(cpu="2")))
    set_quota(rest, namespace, BOUNDED)
    resize(rest, namespace, name, cpu="2").require()
    assert not resize(rest, namespace, name, cpu="1500m").ok
    resize(rest, namespace, name, cpu="1").require()


def test_a_resize_fills_in_nothing(rest: Rest, namespace: str) -> None:
    name = stored(rest, namespace, pod(asks(cpu="100m")))
    set_quota(rest, namespace, {"limits": limits(Container={"default": {"memory": "1Gi"}})})
    resized = resize(rest, namespace, name, cpu="200m").require()
    assert resized["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "200m"}}


# Claims


@pytest.mark.parametrize(
    ("storage", "refusal"),
    [
        ("1Gi", None),
        ("10Gi", None),
        ("1Mi", "minimum storage per PersistentVolumeClaim is 1Gi, but the claim requests 1Mi"),
        ("11Gi", "maximum storage per PersistentVolumeClaim is 10Gi, but the claim requests 11Gi"),
    ],
)
def test_claims_are_bounded(rest: Rest, bounded: str, storage: str, refusal: str | None) -> None:
    answer = rest.create(bounded, claim(storage), dryRun="All")
    assert (answer.code, answer.ok) == ((201, True) if refusal is None else (403, False))
    assert refusal is None or answer.message.endswith(f"NamespaceQuota team: {refusal}")


def test_a_bound_does_not_keep_an_older_claim_from_being_labelled(rest: Rest, namespace: str) -> None:
    made = rest.create(namespace, claim("20Gi")).require()["metadata"]["name"]
    set_quota(rest, namespace, BOUNDED)
    rest.patch(namespace, "PersistentVolumeClaim", made, {"metadata": {"labels": {"a": "b"}}}).require()


# Whom they leave alone


def test_audit_and_deletion_end_enforcement(rest: Rest, bounded: str) -> None:
    greedy = pod(asks(cpu="2"))
    assert not judged(rest, bounded, greedy).ok
    rest.patch(bounded, NSQ, "team", {"spec": {"enforcement": "Audit"}}, version=OURS).require()
    wait_for(lambda: judged(rest, bounded, greedy).ok, timeout=10, message="a pod that a quota in Audit would refuse")
    rest.patch(bounded, NSQ, "team", {"spec": {"enforcement": "Enforce"}}, version=OURS).require()
    wait_for(lambda: not judged(rest, bounded, greedy).ok, timeout=10, message="the pod to be refused again")
    rest.delete(bounded, NSQ, "team", OURS).require()
    wait_for(lambda: judged(rest, bounded, greedy).ok, timeout=10, message="a pod without any quota")


@pytest.mark.parametrize("exempt", ["kube-system", "moorage-system"])
def test_the_cluster_and_the_operator_cannot_be_locked(
    policies: Cluster, rest: Rest, namespace: str, exempt: str
) -> None:
    entry = {"min": {"cpu": "1"}, "default": {"memory": "1Gi"}}
    strict = {"hard": {"requests.cpu": 1}, "limits": limits(Container=entry)}
    made = rest.create("", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": exempt}}).ok
    try:
        policies.wait_for_service_account(exempt)
        label_namespace(rest, exempt)
        rest.create(exempt, enforced_quota("strict", strict)).require()
        set_quota(rest, namespace, strict)  # known after the other, so both are
        assert not judged(rest, namespace, pod()).ok
        admitted = judged(rest, exempt, pod()).require()
        assert admitted["spec"]["containers"][0]["resources"] == {}
    finally:
        rest.delete(exempt, NSQ, "strict", OURS)
        label_namespace(rest, exempt, label=None)
        if made:
            remove_namespace(rest, exempt)


def test_to_claim_to_be_a_probe_gains_nothing(rest: Rest, bounded: str) -> None:
    greedy = pod(asks(cpu="2"))
    for name in ("team", "no-such-quota"):
        annotations = {PROBE: name}
        answer = rest.create(bounded, pod_of(greedy, annotations=annotations))
        assert (answer.code, "maximum cpu" in answer.message) == (403, True)
    rest.create(bounded, pod_of(pod(asks(cpu="1")), annotations={PROBE: "no-such-quota"})).require()
