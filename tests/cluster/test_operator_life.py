"""The operator ends, starts, is cut off and meets hands that edit: status comes out true, and nothing is stranded."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable

import pytest

from tests.cluster.objects import (
    buffer,
    deployment,
    pod,
    pod_template,
    quota,
    sizing,
    status_of,
    versions,
    wait_for_condition,
    wait_for_rest,
    wait_for_status,
)
from tests.cluster.policies import wait_until_judged
from tests.controlplane.cluster import Cluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.waiting import wait_for
from tests.operator_process import START_SECONDS, OperatorProcess

HARD = {"requests.cpu": "2", "pods": 10}
StartOperator = Callable[..., OperatorProcess]


@pytest.fixture
def settled(crds: Cluster, namespace: str) -> str:
    """A namespace with a quota over two pods and a sized buffer."""
    crds.apply(
        quota(hard=HARD, buffers="Ignore"),
        pod("a", cpu="500m"),
        pod("b", cpu="500m"),
        pod_template(),
        buffer(podTemplateRef={"name": "unit"}, sizing=sizing()),
        namespace=namespace,
    )
    return namespace


def _wait_until_counted(cluster: Cluster, namespace: str) -> None:
    wait_for_status(cluster, namespace, "nsq/quota", {"used": {"requests.cpu": "1", "pods": "2"}})
    wait_for_status(cluster, namespace, "cbuf/buffer", {"replicas": 180})


def test_a_restart_writes_nothing_when_nothing_changed(
    crds: Cluster, settled: str, start_operator: StartOperator
) -> None:
    crds.apply(quota("enforced", hard={"pods": 100}, buffers="Ignore", enforcement="Enforce"), namespace=settled)
    operator = start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    wait_for_condition(crds, settled, "nsq/enforced", "Enforced", "True", "Proved")
    before = wait_for_rest(crds, settled, "nsq/quota", "nsq/enforced", "cbuf/buffer")
    operator.stop()
    assert operator.returncode == 0
    operator.start_and_wait()
    # A later change shows that the restarted operator has been through all of them.
    crds.apply(quota("later", hard={"pods": 1000}, buffers="Ignore", enforcement="Enforce"), namespace=settled)
    wait_for_status(crds, settled, "nsq/later", {"used": {"pods": "2"}})
    wait_for_condition(crds, settled, "nsq/later", "Enforced", "True", "Proved")
    assert versions(crds, settled, *before) == before


def test_a_buffer_that_quotas_cut_is_never_larger_while_they_are_read_again(
    crds: Cluster, namespace: str, start_operator: StartOperator
) -> None:
    unit = {"podTemplateRef": {"name": "unit"}}
    crds.apply(pod_template(), pod("a"), quota(hard={"pods": 10}, enforcement="Enforce"), namespace=namespace)
    crds.apply(buffer("first", **unit, replicas=5), namespace=namespace)
    crds.apply(buffer("second", **unit, replicas=9), namespace=namespace)
    operator = start_operator("-n", namespace)
    wait_for_status(crds, namespace, "cbuf/first", {"replicas": 5})
    wait_for_status(crds, namespace, "cbuf/second", {"replicas": 4})
    before = wait_for_rest(crds, namespace, "cbuf/first", "cbuf/second")
    operator.kill()
    operator.start_and_wait()
    crds.apply(buffer("third", **unit, replicas=1), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/third", {"replicas": 0})
    assert versions(crds, namespace, *before) == before


def test_what_happened_while_it_was_down_is_caught_up(
    crds: Cluster, settled: str, start_operator: StartOperator
) -> None:
    operator = start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    operator.kill()
    crds.kubectl("delete", "pod", "-n", settled, "a", "--grace-period=0", "--force")
    crds.apply(pod("c", cpu="100m"), quota(hard={"requests.cpu": 8}, buffers="Ignore"), namespace=settled)
    crds.kubectl("delete", "cbuf", "-n", settled, "buffer", "--timeout=5s")
    operator.start_and_wait()
    wait_for_status(crds, settled, "nsq/quota", {"used": {"requests.cpu": "600m"}, "observedGeneration": 2})


def test_objects_can_be_deleted_for_good_while_it_is_down(
    crds: Cluster, settled: str, start_operator: StartOperator
) -> None:
    operator = start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    operator.kill()
    crds.kubectl("delete", "nsq/quota", "cbuf/buffer", "-n", settled, "--timeout=5s")
    assert not crds.get("nsq,cbuf", "-n", settled)


def test_a_status_that_someone_edits_is_put_right(crds: Cluster, settled: str, start_operator: StartOperator) -> None:
    start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    lie = {"status": {"used": {"pods": "77"}, "observedGeneration": 1}}
    crds.kubectl("patch", "nsq", "-n", settled, "quota", "--subresource=status", "--type=merge", "-p", json.dumps(lie))
    wait_for_status(crds, settled, "nsq/quota", {"used": {"requests.cpu": "1", "pods": "2"}})


def test_only_the_named_namespaces_are_touched(crds: Cluster, settled: str, start_operator: StartOperator) -> None:
    with crds.namespace() as other:
        crds.apply(quota(hard=HARD, buffers="Ignore"), namespace=other)
        start_operator("-n", settled)
        _wait_until_counted(crds, settled)
        assert status_of(crds, other, "nsq/quota") == {}
        assert "annotations" not in crds.get("-n", other, "nsq/quota")["metadata"]


def test_pods_and_workloads_are_never_written_to(crds: Cluster, settled: str, start_operator: StartOperator) -> None:
    crds.apply(deployment(replicas=0), namespace=settled)
    start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    for item in crds.get("pods,deployments,podtemplates", "-n", settled, "--show-managed-fields"):
        managers = {each["manager"] for each in item["metadata"]["managedFields"]}
        assert managers
        assert not managers & {"moorage", "kopf"}
        assert not any("moorage" in name for name in item["metadata"].get("annotations", {}))


def test_an_api_server_restart_is_survived_and_nothing_is_missed(
    crds: Cluster, own_control_plane: ControlPlane, settled: str, start_operator: StartOperator
) -> None:
    operator = start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    process = operator.pid
    own_control_plane.restart("kube-apiserver")
    wait_until_judged(crds, settled)
    crds.apply(pod("c", cpu="500m"), namespace=settled)
    wait_for_status(crds, settled, "nsq/quota", {"used": {"requests.cpu": "1500m", "pods": "3"}}, timeout=30)
    crds.apply(quota(hard={"pods": 5}, buffers="Ignore"), namespace=settled)
    wait_for_status(crds, settled, "nsq/quota", {"observedGeneration": 2, "used": {"pods": "3"}}, timeout=60)
    assert operator.pid == process
    assert operator.running
    assert operator.metric("moorage_feed_drifts_total") == 0


def test_a_frozen_api_server_makes_it_unready_but_keeps_it_alive(
    crds: Cluster, own_control_plane: ControlPlane, settled: str, start_operator: StartOperator
) -> None:
    operator = start_operator("-n", settled)
    _wait_until_counted(crds, settled)
    own_control_plane.pause("kube-apiserver")
    try:
        assert operator.get("/healthz") == "ok\n"
    finally:
        own_control_plane.resume("kube-apiserver")
    crds.apply(pod("c", cpu="500m"), namespace=settled)
    wait_for_status(crds, settled, "nsq/quota", {"used": {"pods": "3"}}, timeout=30)


def test_it_starts_before_its_definitions_are_installed(
    start_control_plane: Callable[..., ControlPlane], tmp_path_factory: pytest.TempPathFactory
) -> None:
    cluster = start_control_plane()
    operator = OperatorProcess(cluster.kubeconfig, tmp_path_factory.mktemp("early") / "operator.log")
    operator.start()
    try:
        wait_for(
            lambda: "moorage crds | kubectl apply" in operator.output(),
            timeout=START_SECONDS,
            message=lambda: f"word that the definitions are missing: {operator.output()}",
        )
        cluster.kubectl("apply", "--server-side", "-f", "crds/")
        cluster.wait_until_served("namespacequotas.moorage.dev", "capacitybuffers.moorage.dev")
        with cluster.namespace() as namespace:
            cluster.apply(quota(hard=HARD, buffers="Ignore"), pod(cpu="1"), namespace=namespace)
            wait_for_status(cluster, namespace, "nsq/quota", {"used": {"requests.cpu": "1"}}, timeout=60)
    finally:
        operator.stop()


def test_without_the_right_to_read_pods_it_says_what_to_give(
    crds: Cluster, settled: str, start_operator: StartOperator
) -> None:
    rules = [
        {"apiGroups": ["moorage.dev"], "resources": ["*"], "verbs": ["get", "list", "watch", "patch", "update"]},
        {"apiGroups": [""], "resources": ["podtemplates"], "verbs": ["get", "list", "watch"]},
    ]
    named = {"name": "limited", "namespace": settled}
    rbac = "rbac.authorization.k8s.io"
    crds.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": named, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": named,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "limited"},
            "subjects": [{"kind": "ServiceAccount", **named}],
        },
        namespace=settled,
    )
    account = crds.service_account_kubeconfig(settled, "limited")
    operator = start_operator("-n", settled, kubeconfig=account, wait=False)
    ready = wait_for_condition(crds, settled, "nsq/quota", "Ready", "False", "Forbidden", timeout=30)
    with pytest.raises(urllib.error.HTTPError):  # it does not call itself ready
        operator.get("/readyz")
    assert 'give the operator\'s ClusterRole list, watch on pods in API group ""' in ready["message"]
    wait_for_condition(crds, settled, "cbuf/buffer", "LimitedByQuotas", "Unknown", "Forbidden")
    wait_for_status(crds, settled, "cbuf/buffer", {"replicas": 180})


def test_readiness_tells_why_not(crds: Cluster, settled: str, start_operator: StartOperator) -> None:
    operator = start_operator("-n", settled)
    assert operator.get("/readyz") == "ok\n"
    with pytest.raises(urllib.error.HTTPError):
        operator.get("/nothing")


def test_the_ledger_is_proved_against_the_server_again_and_again(
    crds: Cluster, settled: str, start_operator: StartOperator
) -> None:
    operator = start_operator("-n", settled, "--verify-interval", "0.5")
    _wait_until_counted(crds, settled)
    wait_for(lambda: operator.metric("moorage_feed_verifications_total") >= 3, timeout=15, message="three proofs")
    assert operator.metric("moorage_feed_drifts_total") == 0
