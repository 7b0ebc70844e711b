"""What only a real API server can tell of the feed: that we take its versions, selectors and restarts as they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from moorage.cluster.client import Client
from moorage.cluster.credentials import Credentials
from moorage.cluster.discovery import Resource
from moorage.cluster.feed import Feed, Pace
from moorage.handlers.counting import UNFINISHED, LedgerSink, decoder
from moorage.quota.ledger import Ledger
from moorage.quota.usage import ObjectUse, Shapes
from tests.controlplane.cluster import Cluster
from tests.controlplane.control_plane import ControlPlane


class Followed:
    """The pods of a namespace as a feed keeps them."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.path = f"/api/v1/namespaces/{namespace}/pods"
        self.ledger = Ledger()
        sink = LedgerSink(self.ledger, "pods", namespace=namespace, changed=lambda: None)
        pace = Pace(page_size=7, verify=0)
        decode = decoder(Resource("", "v1", "pods", "Pod"), Shapes(), None)
        self.feed: Feed[ObjectUse] = Feed(client, self.path, decode, sink, field_selector=UNFINISHED, pace=pace)

    @property
    def names(self) -> set[str]:
        return {pod.name for pod in self.ledger.objects().values()}

    async def create(self, name: str) -> None:
        container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1m"}}}
        # No node that another test may have left is to take it and change its phase.
        spec = {"containers": [container], "schedulerName": "nobody"}
        await self.client.post(self.path, {"metadata": {"name": name}, "spec": spec})

    async def touch(self, name: str, note: str) -> None:
        await self.client.patch(f"{self.path}/{name}", {"metadata": {"annotations": {"note": note}}})

    async def finish(self, name: str) -> dict[str, Any]:
        return await self.client.patch(f"{self.path}/{name}/status", {"status": {"phase": "Succeeded"}})

    async def until(self, condition: Callable[[], bool], what: str, *, seconds: float = 30.0) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, f"not within {seconds} s: {what} ({self.feed.state})"
            await asyncio.sleep(0.01)


@asynccontextmanager
async def following(cluster: Cluster, namespace: str) -> AsyncIterator[Followed]:
    async with Client(Credentials.load(cluster.kubeconfig)) as client:
        followed = Followed(client, namespace)
        running = asyncio.create_task(followed.feed.run())
        try:
            await followed.feed.wait_synced()
            yield followed
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.wait([running])


async def test_what_is_held_equals_an_exact_list_at_any_moment(control_plane: Cluster, namespace: str) -> None:
    async with following(control_plane, namespace) as followed:

        async def churn() -> None:
            for number in range(60):
                await followed.create(f"pod-{number}")
                await followed.touch(f"pod-{number // 2}", str(number))
                if number % 3 == 2:
                    await followed.finish(f"pod-{number}")

        changing = asyncio.create_task(churn())
        proofs = 0
        while not changing.done():
            drift = await followed.feed.verify()
            assert not drift, str(drift)
            proofs += 1
        await changing
        await followed.until(lambda: len(followed.ledger) == 40, "all that have not finished")
        assert not await followed.feed.verify()
        assert proofs > 3
        assert followed.feed.counters.relists == 1


async def test_finished_pods_leave_and_come_back_with_the_selector(control_plane: Cluster, namespace: str) -> None:
    async with following(control_plane, namespace) as followed:
        await followed.create("stays")
        await followed.create("ends")
        await followed.until(lambda: followed.names == {"stays", "ends"}, "both")
        await followed.finish("ends")
        await followed.until(lambda: followed.names == {"stays"}, "the one that has not finished")
        followed.feed.set_field_selector("")
        await followed.until(lambda: followed.feed.held_selector == "", "the other selector")
        assert followed.names == {"stays", "ends"}
        assert not await followed.feed.verify()


async def test_an_api_server_that_restarts_is_followed_on(own_control_plane: ControlPlane, namespace: str) -> None:
    async with following(own_control_plane, namespace) as followed:
        await followed.create("before")
        await followed.until(lambda: followed.names == {"before"}, "the first pod")
        await asyncio.to_thread(own_control_plane.restart, "kube-apiserver")
        await followed.create("after")
        await followed.until(lambda: followed.names == {"before", "after"}, "both")
        assert followed.feed.state == "watching"
        assert not await followed.feed.verify()
