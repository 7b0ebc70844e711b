"""ResourceQuotas that cannot be read are waited for at a pace that costs nothing, however many quotas there are."""

from __future__ import annotations

import asyncio

from moorage.cluster.projector import Plan, Projector
from moorage.quota.projection import Owner, Part
from tests.unit.small_server import small_server, until

KEY = ("team-a", "all", Part.OTHERS)


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
