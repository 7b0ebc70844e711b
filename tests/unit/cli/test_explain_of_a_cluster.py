"""`moorage explain` without files of quotas and objects asks a live cluster for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Answer, Moorage
from tests.unit.small_server import SmallServer, small_server

QUOTAS = "/apis/moorage.dev/v1alpha1/namespaces/team-a/namespacequotas"
NATIVE, PODS, RANGES = (f"/api/v1/namespaces/team-a/{each}" for each in ("resourcequotas", "pods", "limitranges"))
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"
Explain = Callable[..., Awaitable[Answer]]


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with small_server() as (server, _):
        server.serve("", "v1", pods="v1", resourcequotas="v1", limitranges="v1")
        server.serve("moorage.dev", "v1alpha1", namespacequotas="v1alpha1")
        server.documents["/apis/moorage.dev/v1alpha1"]["resources"][0]["kind"] = "NamespaceQuota"
        server.documents["/api/v1"]["resources"][2]["kind"] = "LimitRange"
        server.serve("node.k8s.io", "v1", runtimeclasses="v1")
        server.documents["/apis/node.k8s.io/v1"]["resources"][0] |= {"kind": "RuntimeClass", "namespaced": False}
        for path in (QUOTAS, NATIVE, PODS, RANGES):
            server.collections[path] = {}
        server.put(QUOTAS, "q", spec={"hard": {"requests.cpu": "2", "pods": 9}})
        yield server


@pytest.fixture
def explain(server: SmallServer, moorage: Moorage, tmp_path: Path) -> Explain:
    """Run the command in a thread, so that the server can answer."""
    config = {
        "clusters": [{"name": "it", "cluster": {"server": server.url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    async def run(manifest: dict[str, Any], *arguments: str) -> Answer:
        command = ("explain", "-f", "-", "-n", "team-a", "--kubeconfig", str(path), "-o", "json", *arguments)
        return await asyncio.to_thread(moorage, *command, stdin=json.dumps(manifest))

    return run


async def test_quotas_and_what_they_count_are_read(server: SmallServer, explain: Explain) -> None:
    server.put(PODS, "old", spec=pod("old", "1500m")["spec"])
    admitted, refused = await explain(pod("new", "500m")), await explain(pod("new", "501m"))
    assert (admitted.code, refused.code) == (0, 1), admitted.err
    (failure,) = refused.json["objects"][0]["failures"]
    assert (failure["quota"], failure["used"]) == ("q", "1500m")


async def test_overhead_counts_where_its_class_may_be_read(server: SmallServer, explain: Explain) -> None:
    manifest = pod("new", "1500m", runtimeClassName="gvisor")
    server.put(RUNTIMES, "gvisor", overhead={"podFixed": {"cpu": "501m"}})
    assert (await explain(manifest)).code == 1
    server.refusals[RUNTIMES] = 403
    answer = await explain(manifest)
    assert (answer.code, answer.err) == (0, "")


async def test_a_limit_range_of_the_namespace_is_obeyed(server: SmallServer, explain: Explain) -> None:
    server.put(RANGES, "lr", spec={"limits": [{"type": "Pod", "max": {"cpu": "1"}}]})
    answer = await explain(pod("new", "500m"))
    (failure,) = answer.json["objects"][0]["failures"]
    assert (answer.code, answer.err, failure["quota"]) == (1, "", "LimitRange/lr")


async def test_a_namespace_without_quotas_admits_everything(server: SmallServer, explain: Explain) -> None:
    server.delete(QUOTAS, "q")
    answer = await explain(pod("new", "100"))
    assert (answer.code, answer.json["objects"][0]["fits"]) == (0, None)
    assert answer.err == "moorage explain: namespace team-a has no quota\n"


async def test_pods_that_may_not_be_read_are_one_clear_line(server: SmallServer, explain: Explain) -> None:
    server.refusals[PODS] = 403
    answer = await explain(pod("new", "1"))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "moorage explain: pods cannot be read: refused with 403\n"
