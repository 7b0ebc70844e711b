"""What the operator knows of the autoscalers' own CapacityBuffers while a slow API server lists them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.feed.harness import until
from tests.feed.scripted_server import Script, ScriptedServer

from moorage.backends.autoscaler import GROUP, KIND, PLURAL
from moorage.cluster import upstream
from moorage.cluster.client import Client
from moorage.cluster.owned import ObjectKey, OwnedObjects
from moorage.cluster.upstream import Upstream

MADE = {
    "metadata": {
        "name": "web-active",
        "namespace": "team-a",
        "uid": "made",
        "ownerReferences": [{"kind": "CapacityBuffer", "name": "web", "uid": "web", "controller": True}],
    },
    "spec": {"replicas": 5},
}


@pytest.fixture
def objects() -> OwnedObjects:
    return OwnedObjects()


@pytest.fixture
def found(server: ScriptedServer, client: Client, objects: OwnedObjects, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    """What an operator knows that was restarted and looks again every moment."""
    monkeypatch.setattr(upstream, "LOOK_AGAIN_SECONDS", 0.01)
    for each in list(server.objects):
        server.delete(each)
    server.put(MADE)
    group = json.dumps({"versions": [{"version": "v1beta1"}]}).encode()
    version = json.dumps({"resources": [{"name": PLURAL}]}).encode()
    server.next_request("get", *[Script().answer(each) for _ in range(500) for each in (group, version)])
    return Upstream(client, objects, namespaces=("team-a",), changed=lambda: None)


@asynccontextmanager
async def running(found: Upstream) -> AsyncIterator[None]:
    task = asyncio.create_task(found.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_slow_list_is_waited_for(server: ScriptedServer, found: Upstream, objects: OwnedObjects) -> None:
    """Else the size of standby capacity would go back to 0, to ask a controller that has answered long ago."""
    is_let_go = asyncio.Event()
    known_early: list[bool | None] = []

    def look() -> None:
        known_early.append(found.served)

    slow = Script().initial()
    slow.steps.append(lambda *_: is_let_go.wait())
    server.next_watch(slow.do(look).initial_end().live())
    async with running(found):
        await until(lambda: len(server.requests("get")) > 10, "many looks at what is served")
        is_let_go.set()
        await until(lambda: found.served is True, "served, and read")
    assert known_early == [None]
    assert objects.get(ObjectKey(KIND, "team-a", "web-active")) is not None


async def test_a_refusal_is_told(server: ScriptedServer, found: Upstream) -> None:
    server.next_watch(*[Script().refuse(403, "Forbidden", f"{PLURAL}.{GROUP} is forbidden")] * 500)
    async with running(found):
        await until(lambda: found.served is True, "served, though it cannot be read")
        assert "is forbidden" in found.refusal
