"""The webhook as a part of the operator: what it serves, knows and writes, put together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from moorage.admission.certificate_store import ClusterCertificateStore
from moorage.admission.counters import AdmissionCounters
from moorage.admission.judge import Judge
from moorage.admission.keeper import CertificateKeeper
from moorage.admission.tls import server_context
from moorage.admission.webhook import serve_webhook, webhook_app
from moorage.cluster.client import Client
from moorage.cluster.event_series import Happening
from moorage.cluster.feed import Feed
from moorage.cluster.freshness import Freshness
from moorage.handlers.admission import AdmissionMemory
from moorage.handlers.operator import QUOTAS, OperatorState, key_of
from moorage.handlers.scalable import Scalables
from moorage.handlers.watches import Watches
from moorage.quota.ledger import QuotaKey
from moorage.quota.names import DEVICE_CLAIMS, PODS

logger = logging.getLogger(__name__)


class Webhook:
    """Explains admission on a port of its own.

    `policies_proved` says of a quota whether the API server's policies are known to obey it; `tell` writes events.
    """

    def __init__(
        self,
        client: Client,
        state: OperatorState,
        watches: Watches,
        *,
        system_namespace: str,
        policies_proved: Callable[[QuotaKey], bool],
        tell: Callable[[Happening], None],
    ) -> None:
        self.counters = AdmissionCounters()
        self._watches = watches
        self._scalables = Scalables(client, watches.places)
        self._freshness = Freshness(client, self._proved_feeds)
        self._context = server_context()
        store = ClusterCertificateStore(client, namespace=system_namespace)
        self.keeper = CertificateKeeper(store, self._context, now=lambda: datetime.now(UTC))
        memory = AdmissionMemory(
            state.quotas,
            state.ledger,
            self._scalables,
            is_fresh=self._is_fresh,
            policies_proved=policies_proved,
            uid=lambda key: state.uid(key_of(QUOTAS, *key)) or "",
        )
        self._app = webhook_app(Judge(memory, self.counters, tell), self.counters)
        self._runner: web.AppRunner | None = None

    async def listen(self, *, host: str, port: int) -> None:
        """Start to answer. Raises OSError when the port cannot be had."""
        self._runner = await serve_webhook(self._app, self._context, host=host, port=port)
        logger.info("explaining refusals on port %d", port)

    async def close(self) -> None:
        """Stop answering."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def run(self) -> None:
        """Keep what is answered with current, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.keeper.run(), name="certificate")
            tasks.create_task(self._freshness.run(), name="freshness")
            for feed in self._scalables.feeds:
                tasks.create_task(feed.run(), name=f"workloads {feed.path}")

    def _proved_feeds(self) -> Iterable[Feed[Any]]:
        """What pods are held against: pods, and claims for devices under the names that both count under."""
        return [*self._watches.feeds_of(PODS), *self._watches.feeds_of(DEVICE_CLAIMS)]

    def _is_fresh(self, resource: str, namespace: str) -> bool:
        return all(self._freshness.is_fresh(feed) for feed in self._watches.feeds_of(resource, namespace))
