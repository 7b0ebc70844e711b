"""The policies look at namespaces whose quotas have something to say about single objects, and at no others."""

from __future__ import annotations

import pytest

from tests.cluster.crds import OURS
from tests.cluster.enforcing import change, enforce, enforced_quota
from tests.cluster.native import NSQ
from tests.cluster.objects import Object, wait_for_condition
from tests.cluster.policies import is_labelled, label_namespace
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess
from tests.pod_shapes import limits

BOUNDED = {"limits": limits(Container={"max": {"cpu": "1"}})}
DEMANDING = {"hard": {"requests.cpu": 2}}
SCOPED = {**DEMANDING, "scopes": ["NotBestEffort"]}
COUNTING = {"hard": {"pods": 6, "services": 2}}


def wait_until_labelled(rest: Rest, namespace: str, expected: bool) -> None:
    wait_for(
        lambda: is_labelled(rest, namespace) == expected,
        timeout=20,
        message=f"the label of namespace {namespace} to be {'there' if expected else 'gone'}",
    )


@pytest.mark.parametrize("spec", [BOUNDED, DEMANDING, SCOPED], ids=["bounds", "demands", "demands of some pods"])
def test_a_namespace_with_limits_is_labelled_while_they_are_enforced(
    policies: Cluster, operator: OperatorProcess, rest: Rest, namespace: str, spec: Object
) -> None:
    enforce(policies, rest, namespace, spec)
    if spec is SCOPED:  # nothing of it is proved by a pod on trial, so it may be proved before the label is there
        wait_until_labelled(rest, namespace, True)
    assert is_labelled(rest, namespace)
    change(rest, namespace, {"enforcement": "Audit"})
    wait_until_labelled(rest, namespace, False)
    change(rest, namespace, {"enforcement": "Enforce"})
    wait_until_labelled(rest, namespace, True)
    rest.delete(namespace, NSQ, "team", OURS).require()
    wait_until_labelled(rest, namespace, False)


def test_a_namespace_is_labelled_until_its_last_limits_are_gone(
    policies: Cluster, operator: OperatorProcess, rest: Rest, namespace: str
) -> None:
    for name in ("one", "two"):
        enforce(policies, rest, namespace, BOUNDED, name=name)
    enforce(policies, rest, namespace, COUNTING, name="count")
    rest.delete(namespace, NSQ, "one", OURS).require()
    change(rest, namespace, BOUNDED, name="count")
    wait_for_condition(policies, namespace, "nsq/count", "Enforced", "True", "Proved", timeout=30)
    assert is_labelled(rest, namespace)
    change(rest, namespace, {"limits": None}, name="count")
    rest.delete(namespace, NSQ, "two", OURS).require()
    wait_until_labelled(rest, namespace, False)


def test_totals_alone_need_no_policy(policies: Cluster, operator: OperatorProcess, rest: Rest, namespace: str) -> None:
    enforce(policies, rest, namespace, COUNTING)
    assert not is_labelled(rest, namespace)


def test_what_changed_while_the_operator_was_down_is_put_right(
    policies: Cluster, rest: Rest, namespace: str, operator: OperatorProcess
) -> None:
    """It is the operator of all tests here that is down: another one would do its work."""
    enforce(policies, rest, namespace, BOUNDED)
    operator.kill()
    label_namespace(rest, namespace, label=None)
    operator.start_and_wait()
    wait_until_labelled(rest, namespace, True)
    operator.kill()
    rest.delete(namespace, NSQ, "team", OURS).require()
    assert is_labelled(rest, namespace)
    operator.start_and_wait()
    wait_until_labelled(rest, namespace, False)


def test_no_namespace_is_locked_by_the_label_alone(policies: Cluster, rest: Rest, namespace: str) -> None:
    label_namespace(rest, namespace)
    rest.create(namespace, enforced_quota("team", {**BOUNDED, "enforcement": "Audit"})).require()
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "2"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "greedy"}, "spec": {"containers": [container]}}
    rest.create(namespace, pod, dryRun="All").require()
