"""The operator's shared state before anything has been read, for tests of what it makes of what comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import kopf

from moorage.cluster.client import Client
from moorage.cluster.reference import AnyReference
from moorage.cluster.status_writer import StatusWriter
from moorage.handlers.buffers import Buffers
from moorage.handlers.operator import OperatorState
from moorage.handlers.quotas import Quotas
from moorage.handlers.rooms import Rooms
from moorage.quota.ledger import Ledger
from moorage.status.namespacequota import View
from moorage.status.workload import NO_REFERENCE, Unresolved, Workload


class NoCredentials:
    """Proof that nothing talks to a cluster."""

    async def connection(self) -> kopf.ConnectionInfo:
        raise AssertionError("this was not to talk to a cluster")


class Known:
    """How well each resource is known; the same for all until a test says otherwise for one."""

    def __init__(self) -> None:
        self.all = View(complete=False)
        self.each: dict[str, View] = {}

    def __call__(self, resource: str, namespace: str) -> View:
        return self.each.get(resource, self.all)


def operator_state(
    resolve: Callable[[AnyReference], Workload | Unresolved] = lambda _: NO_REFERENCE,
    *,
    known: Known | None = None,
    now: Callable[[], float] = time.time,
) -> OperatorState:
    """Return a state whose buffers resolve what they refer to by `resolve`. To be called inside an event loop."""
    ledger = Ledger()
    views = known or Known()
    quotas = Quotas(ledger, views, now=now)
    state = OperatorState(ledger, quotas, Buffers(resolve, Rooms(quotas, ledger, views).of))
    client = Client(NoCredentials())
    state.writer = StatusWriter(client, state.desired, gone=lambda *_: None, now=lambda: datetime.now(UTC))
    state.share_soon = state.share_out  # at once: nothing gathers changes here
    return state
