"""`moorage nodes` without files reads a live cluster, and does with nodes alone where it may not read more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Answer, Moorage
from tests.unit.small_server import SmallServer, small_server

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
DAEMONSETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
LABELS = {"eks.amazonaws.com/nodegroup": "main", "node.kubernetes.io/instance-type": "m5.large"}
STATUS = {"capacity": {"memory": "8Gi"}, "allocatable": {"memory": "7518Mi", "pods": "29"}}
CNI = {
    "name": "aws-node",
    "image": "amazon-k8s-cni:v1.20.0",
    "env": [{"name": "ENABLE_PREFIX_DELEGATION", "value": "true"}, {"name": "WARM_PREFIX_TARGET", "value": "1"}],
}


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with small_server() as (server, _):
        server.serve("", "v1", nodes="v1", pods="v1")
        server.serve("apps", "v1", daemonsets="v1")
        for entry in server.documents["/apis/apps/v1"]["resources"]:
            entry["kind"] = "DaemonSet"
        server.collections[DAEMONSETS] = {}
        server.put(NODES, "a", metadata={"labels": LABELS}, status=STATUS)
        server.put(PODS, "web", spec={"nodeName": "a"}, status={"phase": "Running"})
        spec = {"template": {"spec": {"containers": [CNI]}}}
        server.put(DAEMONSETS, "aws-node", metadata={"namespace": "kube-system"}, spec=spec)
        yield server


async def ask(server: SmallServer, moorage: Moorage, folder: Path) -> Answer:
    """Run the command in a thread, so that the server can answer."""
    config = {
        "clusters": [{"name": "it", "cluster": {"server": server.url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return await asyncio.to_thread(moorage, "nodes", "--kubeconfig", str(path), "-o", "json")


async def test_nodes_pods_and_the_cni_are_read(server: SmallServer, moorage: Moorage, tmp_path: Path) -> None:
    answer = await ask(server, moorage, tmp_path)
    assert answer.code == 0, answer.err
    (group,) = answer.json["groups"]
    assert (group["group"], group["maxPods"], group["recommended"], group["pods"]) == ("main", [29], 110, 1)
    assert (answer.json["cni"]["version"], answer.json["cni"]["mode"]) == ("1.20.0", "prefix")


async def test_what_may_not_be_read_is_left_out(server: SmallServer, moorage: Moorage, tmp_path: Path) -> None:
    server.refusals |= {PODS: 403, DAEMONSETS: 403}
    answer = await ask(server, moorage, tmp_path)
    (group,) = answer.json["groups"]
    assert (answer.code, answer.json["cni"], group["pods"]) == (0, None, None)


async def test_nodes_that_may_not_be_read_are_one_clear_line(
    server: SmallServer, moorage: Moorage, tmp_path: Path
) -> None:
    server.refusals[NODES] = 403
    answer = await ask(server, moorage, tmp_path)
    assert (answer.code, answer.err) == (2, "moorage nodes: nodes cannot be read: refused with 403\n")
