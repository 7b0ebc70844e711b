"""Labels on NamespaceQuotas that somebody edits while one of them is being written."""

from __future__ import annotations

import asyncio
from typing import Any

from moorage.cluster.labeller import Labeller
from moorage.quota.coverage import COVERS
from tests.unit.small_server import small_server, until

KEY = ("team-a", "quota")
PATH = "/apis/moorage.dev/v1alpha1/namespaces/team-a/namespacequotas/quota"


async def test_an_edit_that_comes_while_labels_are_written_is_put_right() -> None:
    async with small_server() as (server, client):
        server.documents[PATH] = {"metadata": {"name": "quota"}}
        labeller = Labeller(client, wanted=lambda _: frozenset({"pods"}), uid=lambda _: "1")
        patch = client.patch

        async def edited_meanwhile(path: str, body: Any, *rest: Any) -> dict[str, Any]:
            stored = await patch(path, body, *rest)
            if len(server.patches) == 1:
                labeller.observe(KEY, {f"{COVERS}secrets": "true"})
            return stored

        client.patch = edited_meanwhile  # type: ignore[method-assign]
        running = asyncio.create_task(labeller.run())
        labeller.observe(KEY, {})
        await until(lambda: len(server.patches) == 2, "what was edited to be put right")
        assert server.patches[1][1]["metadata"]["labels"] == {f"{COVERS}pods": "true", f"{COVERS}secrets": None}
        running.cancel()
