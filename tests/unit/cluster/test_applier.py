"""Objects that cannot be made: their owner's status says why, until they can."""

from __future__ import annotations

import asyncio

import pytest

from moorage.cluster.applier import Applier, Trouble
from moorage.cluster.owned import Kind, OwnedObjects
from tests.unit.small_server import small_server, until

KIND = Kind("", "v1", "podtemplates", "PodTemplate")
OWNER = "uid-1"
PATH = KIND.path("team-a", "web-unit")
DOCUMENT = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "web-unit", "namespace": "team-a", "ownerReferences": [{"uid": OWNER, "controller": True}]},
}


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        (500, Trouble("WriteFailed", "objects cannot be written, which is tried again: refused with 500")),
        (403, Trouble("Forbidden", "objects cannot be written: refused with 403")),
    ],
)
async def test_why_an_object_cannot_be_written_is_told_until_it_is(code: int, trouble: Trouble) -> None:
    async with small_server() as (server, client):
        server.refusals[PATH] = code
        settled: list[str] = []
        applier = Applier(client, OwnedObjects(), settled=settled.append)
        applier.know(KIND)
        running = asyncio.create_task(applier.run())
        try:
            applier.want(OWNER, [DOCUMENT])
            await until(lambda: applier.trouble(OWNER) is not None, "the trouble")
            found = applier.trouble(OWNER)
            assert found is not None
            assert found.reason == trouble.reason
            assert found.message.startswith(trouble.message.partition("refused")[0])
            assert f"refused with {code}" in found.message
            assert settled == [OWNER]
            server.documents[PATH] = {
                **DOCUMENT,
                "metadata": {**DOCUMENT["metadata"], "uid": "uid-2", "resourceVersion": "7", "generation": 1},  # type: ignore[dict-item]
            }
            del server.refusals[PATH]
            await until(lambda: applier.trouble(OWNER) is None, "the end of it")
            assert settled == [OWNER, OWNER]
            assert [path for path, _ in server.patches] == [PATH]
        finally:
            running.cancel()
            await asyncio.wait([running])
