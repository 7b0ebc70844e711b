"""Policies that an admin adds: some objects are admitted only in namespaces where a quota covers them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.crds import OURS
from tests.cluster.enforcing import change, enforced_quota
from tests.cluster.native import NSQ
from tests.cluster.objects import Object
from tests.cluster.policies import judged
from tests.cluster.rest import Answer, Rest
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess
from tests.pod_shapes import affinity, asks, pod

CLASS, ACROSS = "priority-class.high", "cross-namespace-affinity"
FLAGS = ("--priority-class", "high", "--storage-class", "gold", "--cross-namespace-affinity")
HIGH = pod(asks(cpu="10m"), priorityClassName="high")
PLAIN = pod(asks(cpu="10m"))
ELSEWHERE = pod(asks(cpu="10m"), affinity=affinity(namespaces=["other"]))
OF_HIGH = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high", "higher"]}]}


@pytest.fixture(scope="module")
def demands(policies: Cluster, rest: Rest, operator: OperatorProcess) -> Iterator[Cluster]:
    """The cluster with an operator, and with policies that demand quotas."""
    command = [sys.executable, "-m", "moorage", "require", *FLAGS]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    policies.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", stdin=printed)
    with policies.namespace() as name:

        def admitted() -> list[bool]:
            return [judged(rest, name, HIGH).ok, judged(rest, name, ELSEWHERE).ok, claimed(rest, name).ok]

        try:
            wait_for(lambda: not any(admitted()), timeout=20, message="the policies to take effect")
            yield policies
        finally:
            policies.kubectl("delete", "-f", "-", stdin=printed)
            # They act for a moment after their end.
            wait_for(lambda: all(admitted()), timeout=20, message="the policies to take effect no more")


def claimed(rest: Rest, namespace: str, storage_class: str = "gold") -> Answer:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"generateName": "data-"}, "spec": spec}
    return rest.create(namespace, claim, dryRun="All")


def limit(rest: Rest, namespace: str, name: str, **spec: Any) -> None:
    rest.create(namespace, enforced_quota(name, spec)).require()


def wait_until_admitted(rest: Rest, namespace: str, spec: Object) -> None:
    wait_for(
        lambda: judged(rest, namespace, spec).ok, timeout=15, message=lambda: judged(rest, namespace, spec).message
    )


def wait_until_refused(rest: Rest, namespace: str, spec: Object, policy: str) -> None:
    def is_refused() -> bool:
        answer = judged(rest, namespace, spec)
        return not answer.ok and f"'moorage-covered.{policy}'" in answer.message

    wait_for(is_refused, timeout=15, message="a refusal for want of a quota")


def test_a_priority_class_needs_a_quota_that_covers_it(demands: Cluster, rest: Rest, namespace: str) -> None:
    wait_until_refused(rest, namespace, HIGH, CLASS)
    assert judged(rest, namespace, PLAIN).ok, "other pods need none"

    limit(rest, namespace, "all", hard={"pods": 50})  # counts such pods too, but does not name the class
    limit(rest, namespace, "high", hard={"pods": 5}, scopeSelector=OF_HIGH)
    wait_until_admitted(rest, namespace, HIGH)
    assert judged(rest, namespace, PLAIN).ok

    rest.delete(namespace, NSQ, "high", OURS).require()
    wait_until_refused(rest, namespace, HIGH, CLASS)
    assert judged(rest, namespace, PLAIN).ok


def test_a_quota_covers_only_while_it_is_enforced_and_has_these_scopes(
    demands: Cluster, rest: Rest, namespace: str
) -> None:
    limit(rest, namespace, "high", hard={"pods": 5}, scopeSelector=OF_HIGH)
    wait_until_admitted(rest, namespace, HIGH)
    change(rest, namespace, {"enforcement": "Audit"}, name="high")
    wait_until_refused(rest, namespace, HIGH, CLASS)
    change(rest, namespace, {"enforcement": "Enforce"}, name="high")
    wait_until_admitted(rest, namespace, HIGH)
    change(rest, namespace, {"scopes": ["NotTerminating"]}, name="high")
    wait_until_refused(rest, namespace, HIGH, CLASS)


def test_affinity_across_namespaces_needs_one(demands: Cluster, rest: Rest, namespace: str) -> None:
    wait_until_refused(rest, namespace, ELSEWHERE, ACROSS)
    assert judged(rest, namespace, pod(affinity=affinity())).ok
    limit(rest, namespace, "across", hard={"pods": 5}, scopes=["CrossNamespacePodAffinity"])
    wait_until_admitted(rest, namespace, ELSEWHERE)


def test_claims_of_a_storage_class_need_one(demands: Cluster, rest: Rest, namespace: str) -> None:
    refused = claimed(rest, namespace)
    assert "'moorage-covered.storage-class.gold'" in refused.message
    assert claimed(rest, namespace, "silver").ok
    limit(rest, namespace, "storage", hard={"gold.storageclass.storage.k8s.io/requests.storage": "1Ti"})
    wait_for(lambda: claimed(rest, namespace).ok, timeout=15, message=lambda: claimed(rest, namespace).message)


def test_labels_that_somebody_else_sets_are_taken_off(demands: Cluster, rest: Rest, namespace: str) -> None:
    limit(rest, namespace, "all", hard={"pods": 50})
    labels = {f"covers.moorage.dev/{CLASS}": "true", "theirs": "stays"}
    rest.patch(namespace, NSQ, "all", {"metadata": {"labels": labels}}, version=OURS).require()

    def labels_now() -> Any:
        return rest.get(namespace, NSQ, "all", OURS).require()["metadata"].get("labels")

    wait_for(lambda: labels_now() == {"theirs": "stays"}, timeout=10, message=lambda: f"it has {labels_now()}")
    wait_until_refused(rest, namespace, HIGH, CLASS)
