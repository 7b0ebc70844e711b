"""Totals, bounds and defaults in force: what the operator brings about, keeps up and takes away again."""

from __future__ import annotations

import pytest

from moorage.quota.scopes import PLACEHOLDER_CLASS
from tests.cluster.crds import OURS
from tests.cluster.enforcing import PROJECTED, SCENARIO, change, create, enforce, enforced_quota, projected
from tests.cluster.explaining import wait_for_used
from tests.cluster.native import NSQ, RQ, amounts, native_quota
from tests.cluster.objects import SETTLE_SECONDS, Object, wait_for_condition, wait_for_status
from tests.cluster.policies import judged, probe
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess
from tests.pod_shapes import asks, container, limits, pod


@pytest.fixture
def cluster(policies: Cluster, operator: OperatorProcess) -> Cluster:
    """The cluster with the policies and a running operator."""
    return policies


# The scenario


def test_the_admission_scenario(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforce(cluster, rest, namespace, SCENARIO)

    defaulted = create(rest, namespace, "silent", container()).require()
    assert defaulted["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "200m", "memory": "256Mi"}}
    wait_until_used(cluster, namespace, {"requests.cpu": "200m", "requests.memory": "256Mi", "pods": "1"})

    too_big = create(rest, namespace, "too-big", asks(cpu="1100m", memory="256Mi"))
    assert (too_big.code, "maximum cpu per Pod is 1, but the pod requests 1100m" in too_big.message) == (403, True)

    for number in range(1, 6):
        create(rest, namespace, f"small-{number}", asks(cpu="100m", memory="100Mi")).require()
    seventh = create(rest, namespace, "seventh", asks(cpu="100m", memory="100Mi"))
    assert seventh.code == 403
    assert f"exceeded quota: {PROJECTED}, requested: pods=1, used: pods=6, limited: pods=6" in seventh.message

    wait_until_used(cluster, namespace, {"requests.cpu": "700m", "pods": "6"})
    for number in range(1, 4):
        rest.delete(namespace, "Pod", f"small-{number}", grace=0).require()
    wait_for_used(rest, namespace, {"requests.cpu": "400m", "pods": "3"})
    wait_for(
        lambda: create(rest, namespace, "large", asks(cpu="1", memory="1Gi")).ok, timeout=30, message="room for a pod"
    )
    beyond_total = create(rest, namespace, "beyond-total", asks(cpu="700m", memory="256Mi"))
    assert beyond_total.code == 403
    assert (
        f"exceeded quota: {PROJECTED}, requested: requests.cpu=700m, used: requests.cpu=1400m" in beyond_total.message
    )

    rest.delete(namespace, "Pod", "large", grace=0).require()
    wait_for(
        lambda: create(rest, namespace, "beyond-total", asks(cpu="700m", memory="256Mi")).ok,
        timeout=30,
        message="the room that a deleted pod gave back",
    )

    change(rest, namespace, {"limits": limits(Pod={"max": {"cpu": "1", "memory": "1Gi"}})})
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=30)
    rest.delete(namespace, "Pod", "silent", grace=0).require()
    silent = create(rest, namespace, "silent", container())
    assert (silent.code, "must specify requests.cpu for app" in silent.message) == (403, True)


def wait_until_used(cluster: Cluster, namespace: str, expected: dict[str, str]) -> None:
    """Wait until our status has these amounts."""
    seen: Object = {}

    def settled() -> bool:
        seen.update(cluster.get("-n", namespace, "nsq/team").get("status", {}).get("used", {}))
        return seen.items() >= expected.items()

    wait_for(settled, timeout=SETTLE_SECONDS, message=lambda: f"{expected}; used is {seen}")


# The ResourceQuota


def test_what_is_made_for_a_quota(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforced = enforce(cluster, rest, namespace, {"hard": {"cpu": "1.5", "memory": "2048Mi", "pods": 6}})
    made = projected(rest, namespace)
    assert made is not None
    owner = rest.get(namespace, NSQ, "team", OURS).require()
    expression = {"scopeName": "PriorityClass", "operator": "NotIn", "values": [PLACEHOLDER_CLASS]}
    assert made["spec"] == {
        "hard": {"cpu": "1500m", "memory": "2Gi", "pods": "6"},
        "scopeSelector": {"matchExpressions": [expression]},
    }
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "moorage"}
    [reference] = made["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["uid"], reference["controller"]) == (
        "NamespaceQuota",
        owner["metadata"]["uid"],
        True,
    )
    assert f"totals by ResourceQuotas {PROJECTED} and moorage.placeholders-team" in enforced["message"]


def test_it_is_written_only_when_hard_or_scopes_change(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforce(cluster, rest, namespace, {"hard": {"pods": 6}})
    before = generation(rest, namespace)
    change(rest, namespace, {"limits": limits(Container={"max": {"cpu": "1"}})})
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved")
    create(rest, namespace, "a", asks(cpu="100m")).require()
    wait_until_used(cluster, namespace, {"pods": "1"})
    assert generation(rest, namespace) == before
    change(rest, namespace, {"hard": {"pods": 7}})
    wait_until_hard(rest, namespace, {"pods": "7"})


def generation(rest: Rest, namespace: str) -> list[Object]:
    """What managed fields say of our writes: when and what."""
    made = projected(rest, namespace)
    assert made is not None
    return [each for each in made["metadata"]["managedFields"] if each["manager"] == "moorage"]


def wait_until_hard(rest: Rest, namespace: str, expected: dict[str, str]) -> None:
    """Wait until the ResourceQuota limits exactly this, in spec and status."""

    def settled() -> bool:
        made = projected(rest, namespace)
        return made is not None and all(
            amounts(made.get(part, {}).get("hard", {})) == amounts(expected) for part in ("spec", "status")
        )

    wait_for(settled, timeout=SETTLE_SECONDS, message=lambda: f"{expected}; there is {projected(rest, namespace)}")


EDITS: dict[str, Object] = {
    "a-limit-is-raised": {"spec": {"hard": {"pods": "100"}}},
    "a-limit-is-added": {"spec": {"hard": {"limits.cpu": "1"}}},
    "one-is-added-that-goes-with-no-scopes": {"spec": {"hard": {"services": "1"}, "scopeSelector": None}},
    "a-limit-is-taken-out": {"spec": {"hard": {"pods": None}}},
    "scopes-are-added": {
        "spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}
    },
    "it-is-disowned": {"metadata": {"ownerReferences": None}},
    "its-label-is-changed": {"metadata": {"labels": {"app.kubernetes.io/managed-by": "somebody"}}},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_is_put_back_and_reported(cluster: Cluster, rest: Rest, namespace: str, edit: Object) -> None:
    enforce(cluster, rest, namespace, {"hard": {"pods": 6, "requests.cpu": 2}})
    before = projected(rest, namespace)
    assert before is not None
    rest.patch(namespace, RQ, PROJECTED, edit).require()

    def is_back() -> bool:
        now = projected(rest, namespace)
        return (
            now is not None
            and all(now["metadata"].get(key) == before["metadata"][key] for key in ("labels", "ownerReferences"))
            and now["spec"] == before["spec"]
        )

    wait_for(is_back, timeout=10, message=lambda: f"{before}, but there is {projected(rest, namespace)}")
    wait_for(
        lambda: f"ResourceQuota {PROJECTED} was put back" in enforced_message(rest, namespace),
        timeout=10,
        message=lambda: f"a report of the edit; it says {enforced_message(rest, namespace)}",
    )
    wait_for(
        lambda: f"ResourceQuota {PROJECTED} was put back" in str(events(rest, namespace, "EditPutBack")),
        timeout=10,
        message="an event on the quota",
    )
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=30)


def test_somebody_who_keeps_changing_it_is_told_of(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforce(cluster, rest, namespace, {"hard": {"pods": 6}})

    def told() -> bool:
        rest.patch(namespace, RQ, PROJECTED, {"spec": {"hard": {"pods": "100"}}}).require()
        return f"somebody keeps changing ResourceQuota {PROJECTED}" in enforced_message(rest, namespace)

    wait_for(told, timeout=20, message=lambda: f"a word of it; it says {enforced_message(rest, namespace)}")
    wait_until_hard(rest, namespace, {"pods": "6"})


def events(rest: Rest, namespace: str, reason: str) -> list[str]:
    """What events on the quota tell."""
    found = rest.items(namespace, "Event", "events.k8s.io/v1")
    return [each["note"] for each in found if each["reason"] == reason and each["regarding"]["name"] == "team"]


def enforced_message(rest: Rest, namespace: str) -> str:
    status = rest.get(namespace, NSQ, "team", OURS).require().get("status", {})
    return next((str(each["message"]) for each in status.get("conditions", ()) if each["type"] == "Enforced"), "")


def test_a_deleted_one_is_made_again(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforce(cluster, rest, namespace, {"hard": {"pods": 6}})
    before = projected(rest, namespace)
    assert before is not None
    rest.delete(namespace, RQ, PROJECTED).require()
    wait_until_hard(rest, namespace, {"pods": "6"})
    after = projected(rest, namespace)
    assert after is not None
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_a_quota_of_the_same_name_that_is_not_ours_is_left_alone(cluster: Cluster, rest: Rest, namespace: str) -> None:
    theirs = rest.create(namespace, native_quota(PROJECTED, {"hard": {"pods": "3"}})).require()
    rest.create(namespace, enforced_quota("team", {"hard": {"pods": 6}})).require()
    said = wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "False", "TotalsNotInForce", timeout=20)
    assert f"there is a ResourceQuota {PROJECTED} already that is not ours" in said["message"]
    now = projected(rest, namespace)
    assert now is not None
    assert (now["spec"], now["metadata"]["uid"]) == (theirs["spec"], theirs["metadata"]["uid"])
    rest.delete(namespace, RQ, PROJECTED).require()
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=20)


def test_a_changed_scope_is_recounted_at_once(cluster: Cluster, rest: Rest, namespace: str) -> None:
    create(rest, namespace, "high", asks(cpu="100m"), priorityClassName="high").require()
    create(rest, namespace, "plain", asks(cpu="100m")).require()
    create(rest, namespace, "plain-too", asks(cpu="100m")).require()
    enforce(cluster, rest, namespace, {"hard": {"pods": 2}, "scopeSelector": in_classes("high")})
    wait_until_native_used(rest, namespace, "1")
    change(
        rest,
        namespace,
        {
            "scopeSelector": {
                "matchExpressions": [{"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}]
            }
        },
    )
    wait_until_native_used(rest, namespace, "2")
    change(rest, namespace, {"scopeSelector": None})
    wait_until_native_used(rest, namespace, "3")
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved")


def in_classes(*classes: str) -> Object:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": list(classes)}]}


def wait_until_native_used(rest: Rest, namespace: str, pods: str) -> None:
    """Wait for a number of pods in the ResourceQuota; by itself it would count anew only after five minutes."""

    def used() -> str | None:
        made = projected(rest, namespace) or {}
        return str(made.get("status", {}).get("used", {}).get("pods"))

    wait_for(lambda: used() == pods, timeout=20, message=lambda: f"{pods} pods used; it says {used()}")


def test_scopes_move_between_both_fields(cluster: Cluster, rest: Rest, namespace: str) -> None:
    enforce(
        cluster,
        rest,
        namespace,
        {"hard": {"pods": 2}, "scopes": ["NotTerminating"], "scopeSelector": in_classes("high")},
    )
    made = projected(rest, namespace)
    assert made is not None
    assert "scopes" not in made["spec"]
    assert [each["scopeName"] for each in made["spec"]["scopeSelector"]["matchExpressions"]] == [
        "NotTerminating",
        "PriorityClass",
    ]
    change(rest, namespace, {"scopes": ["BestEffort"]})
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved")


def test_names_that_nothing_counts_are_left_out_and_said(cluster: Cluster, rest: Rest, namespace: str) -> None:
    rest.create(namespace, enforced_quota("team", {"hard": {"pods": 6, "nvidia.com/gpu": 4}})).require()
    said = wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "False", "UnsupportedResource")
    assert "nvidia.com/gpu: never counted" in said["message"]
    wait_until_hard(rest, namespace, {"pods": "6"})


# The end of enforcement


def test_audit_removes_what_was_made_and_nothing_else(cluster: Cluster, rest: Rest, namespace: str) -> None:
    rest.create(namespace, native_quota("theirs", {"hard": {"pods": "100"}})).require()
    enforce(cluster, rest, namespace, SCENARIO)
    enforce(cluster, rest, namespace, {"hard": {"pods": 50}}, name="other")
    change(rest, namespace, {"enforcement": "Audit"})
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "False", "Audit")
    wait_for(lambda: projected(rest, namespace) is None, timeout=10, message="the ResourceQuota to be removed")
    wait_for(
        lambda: (
            {each["metadata"]["name"] for each in rest.items(namespace, RQ)}
            == {"theirs", "moorage-other", "moorage.placeholders-other"}
        ),
        timeout=10,
        message="all of them to be removed, and nothing else",
    )
    wait_for(lambda: judged(rest, namespace, pod(asks(cpu="3"))).ok, timeout=10, message="nothing to be refused")
    change(rest, namespace, {"enforcement": "Enforce"})
    wait_for_condition(cluster, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=30)
    assert not judged(rest, namespace, pod(asks(cpu="3"))).ok


def test_nothing_is_made_in_namespaces_that_no_quota_may_lock(cluster: Cluster, rest: Rest) -> None:
    rest.create("kube-system", enforced_quota("strict", {"hard": {"pods": 0}})).require()
    try:
        wait_for_condition(cluster, "kube-system", "nsq/strict", "Enforced", "False", "ExemptNamespace")
        assert projected(rest, "kube-system", "moorage-strict") is None
        assert judged(rest, "kube-system", pod()).ok
    finally:
        rest.delete("kube-system", NSQ, "strict", OURS).require()


# Defaults of several quotas


def test_defaults_of_several_quotas_are_put_together_in_the_order_of_their_names(
    cluster: Cluster, rest: Rest, namespace: str
) -> None:
    first = limits(Container={"default": {"memory": "512Mi"}, "defaultRequest": {"cpu": "100m"}})
    second = limits(Container={"defaultRequest": {"cpu": "200m", "memory": "256Mi"}})
    enforce(cluster, rest, namespace, {"limits": second}, name="b")
    assert given(rest, namespace) == {"requests": {"cpu": "200m", "memory": "256Mi"}}
    enforce(cluster, rest, namespace, {"limits": first}, name="a")
    # That "a" is proved says nothing of "b", which fills in as before until the API server sees its new status.
    wait_for_status(cluster, namespace, "nsq/b", {"defaults": {}})
    wait_for(
        lambda: "filled in: nothing" in probe(rest, namespace, "b"),
        timeout=SETTLE_SECONDS,
        message=lambda: f"no defaults of the second; a probe of it says {probe(rest, namespace, 'b')}",
    )
    together = {"limits": {"memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}}
    for _ in range(20):  # the API server goes through the quotas in no fixed order
        assert given(rest, namespace) == together
    wait_for_condition(cluster, namespace, "nsq/b", "Enforced", "True", "Proved")
    rest.delete(namespace, NSQ, "a", OURS).require()
    wait_for(
        lambda: given(rest, namespace) == {"requests": {"cpu": "200m", "memory": "256Mi"}},
        timeout=SETTLE_SECONDS,
        message=lambda: f"the defaults of the other quota; there are {given(rest, namespace)}",
    )


def given(rest: Rest, namespace: str) -> Object:
    """What a container gets that says nothing."""
    stored = judged(rest, namespace, pod()).require()
    return dict(stored["spec"]["containers"][0]["resources"])
