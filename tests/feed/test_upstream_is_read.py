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
FORBIDDEN = Script().refuse(403, "Forbidden", f"{PLURAL}.{GROUP} is forbidden")


@pytest.fixture
def objects() -> OwnedObjects:
    return OwnedObjects()


@pytest.fixture
def changes() -> list[int | None]:
    """The size that was read of the object at each change of what is known."""
    return []


@pytest.fixture
def found(
    server: ScriptedServer,
    client: Client,
    objects: OwnedObjects,
    changes: list[int | None],
    monkeypatch: pytest.MonkeyPatch,
) -> Upstream:
    """What an operator knows that was restarted and looks again every moment."""
    monkeypatch.setattr(upstream, "LOOK_AGAIN_SECONDS", 0.01)
    for each in list(server.objects):
        server.delete(each)
    server.put(MADE)
    group = json.dumps({"versions": [{"version": "v1beta1"}]}).encode()
    version = json.dumps({"resources": [{"name": PLURAL}]}).encode()
    server.next_request("get", *[Script().answer(each) for _ in range(500) for each in (group, version)])
    return Upstream(client, objects, namespaces=("team-a",), changed=lambda: changes.append(_replicas(objects)))


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


@pytest.mark.parametrize("code", [401, 404])
async def test_a_list_that_is_not_to_be_had_yet_is_waited_for(
    server: ScriptedServer, found: Upstream, objects: OwnedObjects, changes: list[int | None], code: int
) -> None:
    """Credentials that are not known yet, or a definition that is not in force yet, say nothing of what was made."""
    server.next_watch(*[Script().refuse(code)] * 5)
    async with running(found):
        await until(lambda: found.served is True, "served, and read")
    assert changes == [5]


async def test_a_refusal_is_told(server: ScriptedServer, found: Upstream) -> None:
    server.next_watch(*[FORBIDDEN] * 500)
    async with running(found):
        await until(lambda: found.served is True, "served, though it cannot be read")
        assert "is forbidden" in found.refusal


@pytest.mark.parametrize("times", [1, 5])
async def test_a_right_that_is_missing_for_a_moment_is_waited_for(
    server: ScriptedServer, found: Upstream, objects: OwnedObjects, times: int
) -> None:
    """Else all that was made would go, and suspended nodes with it, while an API server has yet to read its roles."""
    told_while_refused: list[str] = []

    async def look_often(*_: object) -> None:
        began = len(server.requests("get"))
        await until(lambda: len(server.requests("get")) > began + 10, "many looks while it is refused")
        told_while_refused.append(found.refusal)

    again = Script(steps=[look_often, *FORBIDDEN.steps])
    server.next_watch(Script().initial().initial_end().drop(), *[FORBIDDEN] * times, again)
    async with running(found):
        await until(lambda: bool(told_while_refused), "refused, and looked at")
        assert told_while_refused == [""]
        assert _replicas(objects) == 5
        server.put({**MADE, "spec": {"replicas": 6}})
        await until(lambda: _replicas(objects) == 6, "read again")
        assert found.refusal == ""


async def test_a_right_that_stays_away_is_told_in_the_end(
    server: ScriptedServer, found: Upstream, objects: OwnedObjects
) -> None:
    found.patience_seconds = 0.2
    server.next_watch(Script().initial().initial_end().drop(), *[FORBIDDEN] * 500)
    async with running(found):
        await until(lambda: "is forbidden" in found.refusal, "refused for good")
        assert _replicas(objects) == 5


def _replicas(objects: OwnedObjects) -> int | None:
    held = objects.get(ObjectKey(KIND, "team-a", "web-active"))
    return held.body["spec"]["replicas"] if held is not None else None


async def test_a_list_that_never_comes_is_told_in_the_end(
    server: ScriptedServer, found: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a conversion that is broken: buffers that never had units get placeholders then."""
    monkeypatch.setattr(upstream, "UNREAD_SECONDS", 0.2)
    server.next_watch(*[Script().refuse(500, "InternalError", "conversion webhook failed")] * 500)
    async with running(found):
        await until(lambda: found.served is True, "served, though it cannot be read")
        assert "conversion webhook failed" in found.refusal
