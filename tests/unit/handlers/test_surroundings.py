"""What of the cluster decides how units are made is followed: its version, and the classes that matter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from moorage.cluster.client import Client
from moorage.cluster.surroundings import Surroundings
from moorage.density.nodes import Node, State
from moorage.handlers.sites import autopilot, gke_places, open_places
from moorage.quantity import NANO
from moorage.scheduling import Taint
from tests.unit.small_server import SmallServer, small_server, until

PRIORITY, COMPUTE = "/apis/scheduling.k8s.io/v1/priorityclasses", "/apis/cloud.google.com/v1/computeclasses"
GKE_VERSION = "v1.36.1-gke.100"


@asynccontextmanager
async def following(server: SmallServer, client: Client, *, clusterwide: bool = True) -> AsyncIterator[Surroundings]:
    found = Surroundings(client, clusterwide=clusterwide, changed=lambda: None)
    task = asyncio.create_task(found.run())
    try:
        yield found
        assert not task.done(), "it ended by itself"
    finally:
        task.cancel()
        await asyncio.wait([task])


def serve(server: SmallServer, version: str) -> None:
    server.documents["/version"] = {"gitVersion": version}
    server.serve("scheduling.k8s.io", "v1", priorityclasses="v1")


async def test_version_and_class_are_known_and_followed() -> None:
    async with small_server() as (server, client):
        serve(server, "v1.36.3")
        async with following(server, client) as found:
            await until(lambda: found.kubernetes == (1, 36), "the version")
            await until(lambda: found.priority_class_is_known, "the class")
            assert found.priority_class is None
            assert found.platform == ""
            server.put(PRIORITY, "moorage-placeholder", value=-10)
            await until(lambda: (found.priority_class or {}).get("value") == -10, "the class that came")
            server.delete(PRIORITY, "moorage-placeholder")
            await until(lambda: found.priority_class is None, "the end of it")


@pytest.mark.parametrize("code", [403, 404])
async def test_a_version_that_is_not_told_is_not_waited_for(code: int) -> None:
    """Some clusters take from everybody the right to read it."""
    async with small_server() as (server, client):
        serve(server, "v1.36.3")
        server.refusals["/version"] = code
        async with following(server, client) as found:
            assert found.version_is_awaited
            await until(lambda: not found.version_is_awaited, "the refusal")
            assert found.is_read
            assert found.kubernetes is None
            server.refusals.clear()
            await until(lambda: found.kubernetes == (1, 36), "the version after all")


async def test_one_that_does_not_come_for_now_is(caplog: pytest.LogCaptureFixture) -> None:
    async with small_server() as (server, client):
        serve(server, "v1.36.3")
        server.refusals["/version"] = 503
        async with following(server, client) as found:
            await until(lambda: "cannot be read" in caplog.text, "a look")
            assert found.version_is_awaited
            assert not found.is_read


async def test_on_gke_its_compute_classes_are_followed() -> None:
    async with small_server() as (server, client):
        serve(server, GKE_VERSION)
        server.serve("cloud.google.com", "v1", computeclasses="v1")
        server.put(COMPUTE, "fast", spec={"priorities": []})
        async with following(server, client) as found:
            assert not found.is_read
            await until(lambda: found.is_read, "all that decides")
            assert found.compute_class("fast") is not None
            assert found.platform == "GKE"
            assert found.compute_class("slow") is None


async def test_elsewhere_and_without_rights_nothing_is_asked_for() -> None:
    async with small_server() as (server, client):
        serve(server, "v1.36.3")
        server.serve("cloud.google.com", "v1", computeclasses="v1")
        async with following(server, client, clusterwide=False) as found:
            await until(lambda: found.kubernetes == (1, 36), "the version")
            await asyncio.sleep(0.05)
            assert server.accepted == {}
            assert found.is_read
            assert not found.priority_class_is_known


async def test_classes_that_may_not_be_read_are_not_known() -> None:
    async with small_server() as (server, client):
        serve(server, GKE_VERSION)
        server.refusals[PRIORITY] = 403
        async with following(server, client) as found:
            await until(lambda: found.platform == "GKE", "the version")
            await until(lambda: found.is_read, "that there is nothing to read")
            assert not found.priority_class_is_known
            assert found.compute_class("fast") is None


def node(name: str = "n1", labels: dict[str, str] | None = None, gigabytes: int = 64, **further: Any) -> Node:
    allocatable = {"memory": gigabytes * 10**9 * NANO}
    return Node(name=name, state=State.RUNNING, allocatable=allocatable, labels=labels or {}, **further)


def test_nodes_of_autopilot_are_known_by_their_names() -> None:
    assert autopilot({"gk3-web-pool-2-1": node()})
    assert not autopilot({"gke-web-pool-2-1": node()})


def test_nodes_that_a_unit_selects_are_those_with_its_labels() -> None:
    nodes = {"a": node("a", {"team": "web"}, 512), "b": node("b", {"team": "api"})}
    template = {"spec": {"nodeSelector": {"team": "web"}}}
    assert [each.memory_bytes for each in gke_places(nodes, template)] == [512 * 10**9]
    assert len(gke_places(nodes, {})) == 2


def test_nodes_show_their_taints() -> None:
    taint = Taint(key="team", value="web", effect="NoSchedule")
    [found] = open_places({"a": node("a", {"team": "web"}, taints=(taint,))})
    assert (found.name, found.labels, found.taints) == ("a", {"team": "web"}, {("team", "web")})
