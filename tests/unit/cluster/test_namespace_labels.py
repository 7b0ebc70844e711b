"""Namespaces whose quotas have something to say about single objects get a label, and no others keep it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from moorage.cluster import namespace_labels
from moorage.cluster.client import Client
from moorage.cluster.namespace_labels import NamespaceLabels
from tests.unit.small_server import SmallServer, small_server, until

NAMESPACES = "/api/v1/namespaces"
QUOTAS = "/apis/moorage.dev/v1alpha1/namespaces/{}/namespacequotas"
SET = {"metadata": {"labels": {"moorage.dev/enforced": "true"}}}
TAKEN_OFF = {"metadata": {"labels": {"moorage.dev/enforced": None}}}


class Known:
    """What the operator knows of quotas."""

    def __init__(self) -> None:
        self.wanted: dict[str, bool | None] = {}
        self.quotas: dict[str, set[str]] = {}

    def labels(self, client: Client, *namespaces: str) -> NamespaceLabels:
        return NamespaceLabels(
            client,
            wanted=lambda namespace: self.wanted.get(namespace, False),
            quotas=lambda namespace: self.quotas.get(namespace, set()),
            namespaces=namespaces,
        )


@asynccontextmanager
async def labelling(
    *labelled: str, only: tuple[str, ...] = ()
) -> AsyncIterator[tuple[SmallServer, Known, NamespaceLabels]]:
    """Run it on a cluster in which these namespaces have the label."""
    async with small_server() as (server, client):
        server.collections[NAMESPACES] = {each: {"metadata": {"name": each}} for each in labelled}
        for each in ("team-a", "team-b"):
            server.documents[QUOTAS.format(each)] = {"items": []}
        known = Known()
        labels = known.labels(client, *only)
        running = asyncio.create_task(labels.run())
        try:
            yield server, known, labels
        finally:
            running.cancel()


async def test_a_namespace_gets_the_label_once() -> None:
    async with labelling() as (server, known, labels):
        known.wanted["team-a"] = True
        for _ in range(3):
            labels.mark("team-a")
            await until(lambda: server.patches, "the label")
        labels.mark("team-b")
        await asyncio.sleep(0.02)
        assert server.patches == [(f"{NAMESPACES}/team-a", SET)]


async def test_one_that_was_left_while_nobody_looked_is_taken_off() -> None:
    async with labelling("team-a", "team-b") as (server, known, _):
        known.wanted["team-b"] = True
        await until(lambda: server.patches, "the end of a label")
        assert server.patches == [(f"{NAMESPACES}/team-a", TAKEN_OFF)]


async def test_one_stays_while_quotas_of_its_namespace_are_not_known_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_labels, "LOOK_AGAIN_SECONDS", 0.02)
    async with labelling("team-a") as (server, known, _):
        server.documents[QUOTAS.format("team-a")] = {"items": [{"metadata": {"name": "late"}}]}
        await asyncio.sleep(0.2)
        assert server.patches == []
        known.quotas["team-a"] = {"late"}
        await until(lambda: server.patches, "the end of the label")
        assert server.patches[0] == (f"{NAMESPACES}/team-a", TAKEN_OFF)


async def test_one_stays_while_it_cannot_be_told_whether_it_is_wanted() -> None:
    async with labelling("team-a", "team-b") as (server, known, _):
        known.wanted["team-a"] = None
        await until(lambda: server.patches, "a look at both")
        assert server.patches == [(f"{NAMESPACES}/team-b", TAKEN_OFF)]


async def test_one_that_somebody_took_off_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_labels, "LOOK_AGAIN_SECONDS", 0.02)
    async with labelling("team-a") as (server, known, _):
        known.wanted["team-a"] = True
        await asyncio.sleep(0.1)
        assert server.patches == []
        server.collections[NAMESPACES].clear()
        await until(lambda: server.patches, "the label to be put back")
        assert server.patches[0] == (f"{NAMESPACES}/team-a", SET)


async def test_in_some_namespaces_only_nothing_is_read_of_the_cluster() -> None:
    async with labelling(only=("team-a", "team-b")) as (server, known, _):
        server.refusals[NAMESPACES] = 403
        known.wanted["team-a"] = True
        await until(lambda: len(server.patches) == 2, "a label set and one taken off")
        assert sorted(server.patches, key=str) == [(f"{NAMESPACES}/team-a", SET), (f"{NAMESPACES}/team-b", TAKEN_OFF)]


async def test_a_refusal_is_told() -> None:
    async with small_server() as (server, client):
        known = Known()
        known.wanted["team-a"] = True
        server.collections[NAMESPACES] = {}
        server.refusals[f"{NAMESPACES}/team-a"] = 403
        labels = known.labels(client)
        running = asyncio.create_task(labels.run())
        labels.mark("team-a")
        await until(lambda: labels.problems, "the reason")
        assert "label moorage.dev/enforced cannot be set on namespace team-a" in labels.problems["team-a"]
        server.refusals.clear()
        await until(lambda: not labels.problems, "the end of it")
        running.cancel()


async def test_a_refusal_is_forgotten_when_somebody_else_sets_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespace_labels, "LOOK_AGAIN_SECONDS", 0.02)
    async with labelling() as (server, known, labels):
        known.wanted["team-a"] = True
        server.refusals[f"{NAMESPACES}/team-a"] = 403
        labels.mark("team-a")
        await until(lambda: labels.problems, "the reason")
        server.collections[NAMESPACES]["team-a"] = {"metadata": {"name": "team-a"}}
        await until(lambda: not labels.problems, "the end of it")
        assert server.patches == []


async def test_a_list_undoes_nothing_that_was_done_while_it_was_read() -> None:
    async with small_server() as (_, client):
        labels = Known().labels(client)
        before = {"stays": True, "taken-off": True}
        labels._labelled = {"stays": True, "set": True}
        labels._take({"stays", "taken-off", "found"}, before)
        assert labels._labelled == {"stays": True, "set": True, "found": True}
