"""What holds while no operator runs, and what is made good once one runs again."""

from __future__ import annotations

from collections.abc import Callable

from tests.cluster.crds import OURS
from tests.cluster.enforcing import PROJECTED, SCENARIO, change, create, enforce, enforced_quota, projected
from tests.cluster.native import NSQ
from tests.cluster.objects import wait_for_condition
from tests.cluster.policies import judged, label_namespace
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.manifests.documents import POLICIES
from tests.operator_process import OperatorProcess
from tests.pod_shapes import asks, container, limits, pod


def test_enforcement_goes_on_without_the_operator(
    policies: Cluster, rest: Rest, namespace: str, start_operator: Callable[..., OperatorProcess]
) -> None:
    operator = start_operator()
    enforce(policies, rest, namespace, SCENARIO)
    operator.stop()
    silent = create(rest, namespace, "silent", container()).require()
    assert silent["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "200m", "memory": "256Mi"}
    assert "maximum cpu per Pod" in create(rest, namespace, "too-big", asks(cpu="2", memory="1Mi")).message
    for name in ("a", "b"):
        create(rest, namespace, name, asks(cpu="900m", memory="1Mi")).require()
    assert f"exceeded quota: {PROJECTED}" in create(rest, namespace, "c", asks(cpu="1m", memory="1Mi")).message


def test_audit_and_deletion_count_while_the_operator_is_away(
    policies: Cluster, rest: Rest, namespace: str, start_operator: Callable[..., OperatorProcess]
) -> None:
    operator = start_operator()
    for name in ("audited", "deleted"):
        enforce(policies, rest, namespace, {"hard": {"pods": 6}}, name=name)
    operator.stop()
    change(rest, namespace, {"enforcement": "Audit"}, name="audited")
    rest.delete(namespace, NSQ, "deleted", OURS).require()
    wait_for(lambda: projected(rest, namespace, "moorage-deleted") is None, timeout=30, message="garbage collection")
    assert projected(rest, namespace, "moorage-audited") is not None
    start_operator()
    wait_for(lambda: projected(rest, namespace, "moorage-audited") is None, timeout=20, message="Audit to take effect")


def test_policies_that_are_missing_are_noticed(
    policies: Cluster, rest: Rest, namespace: str, start_operator: Callable[..., OperatorProcess]
) -> None:
    rest.create(namespace, enforced_quota("team", {"limits": limits(Container={"max": {"cpu": "1"}})})).require()
    label_namespace(rest, namespace)
    greedy = pod(asks(cpu="2"))
    wait_for(
        lambda: "maximum cpu per Container is 1" in judged(rest, namespace, greedy).message,
        timeout=30,
        message="the policy to refuse",
    )
    policies.kubectl("delete", "validatingadmissionpolicybinding", "moorage-pods")
    try:
        wait_for(lambda: judged(rest, namespace, greedy).ok, timeout=10, message="the policy to be gone")
        start_operator()
        said = wait_for_condition(
            policies, namespace, "nsq/team", "Enforced", "False", "PoliciesNotInForce", timeout=30
        )
        assert "policy moorage-pods is not in force" in said["message"]
    finally:
        policies.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(POLICIES))
    wait_for_condition(policies, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=60)
