"""`kubectl get`, `describe` and `explain` are the product's face: what they print is checked in and compared.

After a wanted change, run this file with UPDATE_OUTPUTS=1 and read the difference before committing it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.objects import (
    SETTLE_SECONDS,
    buffer,
    deployment,
    pod,
    quota,
    sizing,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane import ControlPlane
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess

OUTPUTS = Path(__file__).parents[1] / "data" / "outputs"
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"(Resource Version:\s+)\d+"), r"\1<version>"),
    (re.compile(r"([A-Z]\w+ +)(?:(?:\d+m)?\d+s|\d+[mh])$", re.MULTILINE), r"\1<age>"),
    (re.compile(r"moorage-test-[0-9a-f]{8}"), "<namespace>"),
)


POOL = {"example.com/pool": "what-kubectl-prints"}


@pytest.fixture(scope="module")
def nodes(control_plane: Cluster) -> Iterator[Cluster]:
    """Two nodes that nobody else asks for, so that what is there of buffers is the same every time."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("needs a control plane of our own, to make nodes in")
    made = control_plane.add_nodes(2, labels=POOL)
    yield control_plane
    control_plane.kubectl("delete", "node", *made, "--wait=false")


@pytest.fixture(scope="module")
def team(crds: Cluster, nodes: Cluster, operator: OperatorProcess) -> Iterator[str]:
    """A namespace with a busy team, for all these tests, since they only look.

    It has a quota that is nearly full, one that cannot be counted, and three buffers.
    """
    with crds.namespace() as namespace:
        _fill(crds, namespace)
        yield namespace


def _fill(crds: Cluster, namespace: str) -> None:
    ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    hard = {
        "requests.cpu": "20",
        "requests.memory": "64Gi",
        "limits.memory": "96Gi",
        "pods": 10,
        "requests.nvidia.com/gpu": 4,
    }
    crds.apply(
        quota("team-a", hard=hard, buffers="Ignore"),
        quota("objects", hard={"pods": 2, "nvidia.com/gpu": 3}, buffers="Ignore"),
        deployment(replicas=8, cpu="500m", memory="2304Mi", nodeSelector=POOL),
        pod("train", cpu="2500m", memory="512Mi"),
        namespace=namespace,
    )
    # What runs before a buffer comes is not taken from it.
    crds.wait_for_rollout("web", namespace, timeout=30)
    crds.apply(
        buffer("web", scalableRef=ref, sizing=sizing(), replicas=10, percentage=20, limits={"cpu": 400}),
        buffer("share", scalableRef=ref, percentage=20),
        buffer("lost", podTemplateRef={"name": "nowhere"}, replicas=3),
        namespace=namespace,
    )
    wait_for_status(crds, namespace, "nsq/team-a", {"used": {"requests.cpu": "6500m", "pods": "9"}})
    wait_for_status(crds, namespace, "nsq/objects", {"used": {"pods": "9"}})
    wait_for_status(crds, namespace, "cbuf/web", {"readyReplicas": 60, "sizing": {"workloadReplicas": 8}})
    wait_for_status(crds, namespace, "cbuf/share", {"readyReplicas": 2})
    wait_for_condition(crds, namespace, "cbuf/lost", "Ready", "False", "TemplateNotFound")
    for name in ("team-a", "objects"):
        wait_for_condition(crds, namespace, f"nsq/{name}", "WorkloadsRefused", "True", "NextPodRefused")
    wait_for_condition(crds, namespace, "nsq/team-a", "Ready", "True", "Reconciled")
    wait_for_condition(crds, namespace, "nsq/objects", "Ready", "False", "UnsupportedResource")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("get nsq,cbuf", id="get"),
        pytest.param("get nsq,cbuf -o wide", id="get-wide"),
        pytest.param("describe nsq team-a", id="describe-quota"),
        pytest.param("describe nsq objects", id="describe-quota-exceeded"),
        pytest.param("describe cbuf web", id="describe-buffer"),
        pytest.param("describe cbuf lost", id="describe-buffer-without-template"),
        pytest.param("explain nsq.spec", id="explain-quota"),
        pytest.param("explain cbuf.spec.sizing", id="explain-sizing"),
    ],
)
def test_kubectl_prints_what_is_checked_in(
    crds: Cluster, team: str, command: str, request: pytest.FixtureRequest
) -> None:
    seen = ""

    def printed() -> str:
        text = crds.kubectl("-n", team, *command.split())
        for pattern, placeholder in _CHANGING:
            text = pattern.sub(placeholder, text)
        return text

    file = OUTPUTS / f"{request.node.callspec.id}.txt"
    if os.environ.get("UPDATE_OUTPUTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(printed())

    def same() -> bool:
        nonlocal seen
        seen = printed()
        return seen == file.read_text()

    # What kubectl explains is published a moment after the definitions.
    with contextlib.suppress(TimeoutError):
        wait_for(same, timeout=SETTLE_SECONDS, message="the same")
    assert seen == file.read_text()
