"""While pods or nodes cannot be read, it is told why nothing is known of what is there."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moorage.backends.word import Word
from moorage.handlers.presence import Presence
from moorage.handlers.sight import Wish
from moorage.status.namespacequota import Trouble, View
from moorage.status.presence import Unseen
from tests.nodes import a_unit, occupied_by
from tests.unit.small_server import until

WEB = ("team-a", "web")
KNOWN = View(complete=True)


def watches(view: View) -> Any:
    """Watches of all namespaces, as far as they are asked about pods."""
    residents = SimpleNamespace(watched=False, watch=lambda _: None, changed=None, occupancy=occupied_by())
    return SimpleNamespace(clusterwide=True, view=lambda _: view, residents=residents, pod_feeds=[])


class Nodes(SimpleNamespace):
    """Nodes that are listed, or cannot be."""

    async def run(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("view", "nodes_trouble", "expected"),
    [
        (
            View(complete=False, trouble=Trouble.FORBIDDEN, message="pods cannot be read"),
            "",
            Unseen("PodsUnknown", "pods cannot be read"),
        ),
        (KNOWN, "nodes cannot be read", Unseen("NodesUnknown", "nodes cannot be read")),
        (View(complete=False), "", Unseen("NodesUnknown", "nodes and pods are being listed", pending=True)),
    ],
    ids=["pods", "nodes", "listing"],
)
async def test_why_nothing_is_known_is_told(view: View, nodes_trouble: str, expected: Unseen) -> None:
    told: list[tuple[str, str]] = []
    wish = Wish(a_unit(cpu="1"), 2, 0, word=Word.NOBODY)
    nodes = Nodes(listing=False, trouble=nodes_trouble, by_name={}, version=0, changed=None)
    presence = Presence(watches(view), cast("Any", nodes), lambda: {WEB: wish}, on_change=told.append)
    assert presence.seen(WEB) == Unseen("NodesUnknown", "nodes and pods are being looked at", pending=True)
    running = asyncio.create_task(presence.run())
    try:
        await until(lambda: told, "word of the buffer")
        assert told == [WEB]
        assert presence.seen(WEB) == expected
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_a_template_that_cannot_be_read_is_told_without_a_look_at_nodes() -> None:
    unreadable = Unseen("UnitUnreadable", "the pod template of a unit cannot be read: no")
    told: list[tuple[str, str]] = []
    nodes = Nodes(listing=False, trouble="", by_name={}, version=0, changed=None)
    presence = Presence(watches(KNOWN), cast("Any", nodes), lambda: {WEB: unreadable}, on_change=told.append)
    running = asyncio.create_task(presence.run())
    try:
        await until(lambda: told, "word of the buffer")
        assert presence.seen(WEB) == unreadable
    finally:
        running.cancel()
        await asyncio.wait([running])
