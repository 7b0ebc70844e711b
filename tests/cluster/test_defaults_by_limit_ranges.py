"""An API server without policies that change objects: LimitRanges fill in defaults until it is upgraded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from moorage.api import GROUP
from tests.cluster.crds import OURS
from tests.cluster.enforcing import WITHOUT_MUTATING_POLICIES, change, create, enforce, enforced_quota
from tests.cluster.native import NSQ
from tests.cluster.objects import Object, condition, status_of, wait_for_condition
from tests.cluster.policies import judged
from tests.cluster.rest import Rest, rest_client
from tests.controlplane import ControlPlane, KubectlError, Options, wait_for
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.controlplane.commands import APISERVER
from tests.manifests.documents import LIMIT_RANGES, POLICIES
from tests.operator_process import OperatorProcess
from tests.pod_shapes import asks, container, limits, pod

MADE = "moorage-team"
RANGED = "kubernetes.io/limit-ranger"
DEFAULTS = {"defaultRequest": {"cpu": "100m"}, "default": {"memory": "512Mi"}}
SPEC = {"hard": {"requests.cpu": "2"}, "limits": limits(Container={**DEFAULTS, "max": {"cpu": "1"}})}


@pytest.fixture(scope="module")
def older() -> Iterator[ControlPlane]:
    """A cluster without MutatingAdmissionPolicy, with everything of the overlay for such clusters."""
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane(options=Options(extra={APISERVER: WITHOUT_MUTATING_POLICIES})) as plane:
        plane.kubectl("apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-k", str(LIMIT_RANGES))
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/namespacequotas.{GROUP}")
        yield plane


@pytest.fixture
def rest(older: ControlPlane) -> Iterator[Rest]:
    with rest_client(older.kubeconfig) as client:
        yield client


@pytest.fixture
def namespace(older: ControlPlane) -> Iterator[str]:
    with older.namespace() as name:
        yield name


@pytest.fixture
def start_operator(older: ControlPlane, tmp_path: Path) -> Iterator[Callable[[], OperatorProcess]]:
    """Start an operator with the rights of its installation."""
    started: list[OperatorProcess] = []

    def start() -> OperatorProcess:
        account = older.service_account_kubeconfig("moorage-system", "moorage")
        process = OperatorProcess(account, tmp_path / f"operator-{len(started)}.log")
        started.append(process)
        process.start_and_wait()
        return process

    yield start
    for process in started:
        process.stop()


def made(rest: Rest, namespace: str) -> Object | None:
    """Return the LimitRange that was made for a quota."""
    answer = rest.get(namespace, "LimitRange", MADE)
    return answer.body if answer.ok else None


def test_a_limit_range_fills_in_defaults_and_nothing_else(
    older: ControlPlane, rest: Rest, namespace: str, start_operator: Callable[[], OperatorProcess]
) -> None:
    start_operator()
    enforced = enforce(older, rest, namespace, SPEC)
    assert f"defaults by LimitRange {MADE}, since this API server has no MutatingAdmissionPolicy" in enforced["message"]
    found = made(rest, namespace)
    assert found is not None
    assert found["spec"]["limits"] == [
        {
            "type": "Container",
            "default": {"memory": "512Mi"},
            "defaultRequest": {"cpu": "100m", "memory": "512Mi"},
        }
    ]
    stored = create(rest, namespace, "silent", container()).require()
    assert stored["spec"]["containers"][0]["resources"] == {
        "limits": {"memory": "512Mi"},
        "requests": {"cpu": "100m", "memory": "512Mi"},
    }
    assert "maximum cpu per Container is 1" in create(rest, namespace, "too-big", asks(cpu="2", memory="1Mi")).message
    not_raised = create(rest, namespace, "not-raised", asks(cpu="1", memory="1Gi"))
    assert (not_raised.code, "must be less than or equal to memory limit" in not_raised.message) == (422, True)

    change(rest, namespace, {"limits": limits(Container={"defaultRequest": {"cpu": "200m"}})})
    wait_for_condition(older, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=30)
    found = made(rest, namespace)
    assert found is not None
    assert found["spec"]["limits"] == [{"type": "Container", "defaultRequest": {"cpu": "200m"}}]

    change(rest, namespace, {"enforcement": "Audit"})
    wait_for(lambda: made(rest, namespace) is None, timeout=20, message="the end of the LimitRange")


def test_one_that_is_not_ours_is_left_alone(
    older: ControlPlane, rest: Rest, namespace: str, start_operator: Callable[[], OperatorProcess]
) -> None:
    theirs = {"limits": [{"type": "Container", "max": {"cpu": "7"}}]}
    rest.create(namespace, {"kind": "LimitRange", "metadata": {"name": MADE}, "spec": theirs}).require()
    start_operator()
    rest.create(namespace, enforced_quota("team", SPEC)).require()
    said = wait_for_condition(older, namespace, "nsq/team", "Enforced", "False", "DefaultsNotInForce", timeout=30)
    assert f"there is a LimitRange {MADE} already that is not ours" in said["message"]
    found = made(rest, namespace)
    assert found is not None
    assert found["spec"]["limits"][0]["max"] == {"cpu": "7"}


def test_an_upgraded_api_server_gets_the_policy_in_its_place(
    older: ControlPlane, rest: Rest, namespace: str, start_operator: Callable[[], OperatorProcess]
) -> None:
    operator = start_operator()
    enforce(older, rest, namespace, SPEC)
    operator.stop()
    older.options = replace(older.options, extra={})
    older.restart(APISERVER)
    wait_for(
        lambda: older.kubectl("apply", "--server-side", "-k", str(POLICIES)),
        timeout=60,
        ignore=KubectlError,
        message="the policies to be installed",
    )
    start_operator()
    wait_for(lambda: made(rest, namespace) is None, timeout=30, message="the end of the LimitRange")

    def told() -> str:
        return str(condition(status_of(older, namespace, "nsq/team"), "Enforced").get("message"))

    wait_for(lambda: "defaults by the policy moorage-defaults" in told(), timeout=60, message=told)
    wait_for_condition(older, namespace, "nsq/team", "Enforced", "True", "Proved", timeout=60)
    # Gone from the store, it may still be in the cache of what fills in by LimitRanges.
    wait_for(
        lambda: RANGED not in (judged(rest, namespace, pod()).body.get("metadata", {}).get("annotations", {RANGED})),
        timeout=30,
        message="the API server to fill in nothing by the LimitRange",
    )
    raised = create(rest, namespace, "raised", asks(cpu="1", memory="1Gi")).require()
    assert raised["spec"]["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    rest.delete(namespace, NSQ, "team", OURS).require()
