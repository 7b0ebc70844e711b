"""What is made of a plan while the feed of ResourceQuotas has not shown what there is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.cluster.projector import Plan, Projector
from moorage.quantity import NANO
from moorage.quota.projection import Owner, Part, projection
from tests.unit.small_server import small_server, until

KEY = ("team-a", "all", Part.OTHERS)


PODS = ("team-a", "all", Part.PODS)
COLLECTION = "/api/v1/namespaces/team-a/resourcequotas"


@pytest.mark.parametrize(
    ("metadata", "is_made"),
    [
        pytest.param({"ownerReferences": [{"uid": "another", "controller": True}]}, False, id="of-another"),
        pytest.param({}, False, id="of-somebody"),
        pytest.param({"ownerReferences": [{"uid": "uid", "controller": True}]}, True, id="ours"),
        pytest.param(None, True, id="there-is-none"),
    ],
)
async def test_one_that_the_feed_has_not_shown_yet_is_not_taken_over(
    metadata: dict[str, Any] | None, is_made: bool
) -> None:
    """Somebody made it a moment ago, or the feed is waiting to be let in again."""
    async with small_server() as (server, client):
        server.collections[COLLECTION] = {}
        if metadata is not None:
            server.put(COLLECTION, "moorage-all", metadata=metadata)
        document = projection({"pods": 5 * NANO}, frozenset(), Part.PODS)
        server.documents[f"{COLLECTION}/moorage-all"] = {
            "metadata": {"name": "moorage-all", "resourceVersion": "7"},
            "spec": {"hard": {"pods": "5"}},
        }
        projector = Projector(
            client,
            plan=lambda key: Plan(Owner(*key[:2], "uid"), key[2], document),
            held=lambda *_: None,
            synced=lambda _: True,
            changed=lambda _: None,
            edited=lambda *_: None,
        )
        running = asyncio.create_task(projector.run())
        projector.mark(PODS)
        await until(lambda: projector.problems or server.patches, "what comes of it")
        assert bool(server.patches) == is_made
        assert projector.problems == (
            {}
            if is_made
            else {PODS: "there is a ResourceQuota moorage-all already that is not ours: rename or delete it"}
        )
        running.cancel()


async def test_a_namespace_that_is_never_listed_is_not_asked_for_again_and_again() -> None:
    asked, listed = 0, False

    def synced(_: str) -> bool:
        nonlocal asked
        asked += 1
        return listed

    async with small_server() as (_, client):
        projector = Projector(
            client,
            plan=lambda key: Plan(Owner(*key[:2], "uid"), key[2], None),
            held=lambda *_: None,
            synced=synced,
            changed=lambda _: None,
            edited=lambda *_: None,
        )
        running = asyncio.create_task(projector.run())
        projector.mark(KEY)
        await until(lambda: asked > 0, "a look")
        await asyncio.sleep(0.5)
        assert asked == 1
        listed = True
        projector.mark(KEY)
        await until(lambda: asked == 2, "a look as soon as it is listed")
        running.cancel()
