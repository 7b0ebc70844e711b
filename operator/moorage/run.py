"""The operator as one process: kopf for our two kinds, feeds for what is counted, one writer of status, one HTTP app.

All run in one task group. What the cluster does ends none of them. When one ends by a bug, the process ends and is
started anew: a half-alive operator is worse than a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from moorage.cluster.client import Client
from moorage.cluster.credentials import Credentials
from moorage.cluster.definitions import Definitions
from moorage.cluster.errors import ClusterError
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.references import Reference, References
from moorage.cluster.status_writer import StatusWriter
from moorage.handlers.buffers import Buffers
from moorage.handlers.embedding import EmbeddedKopf, set_on_signals
from moorage.handlers.operator import GROUP, KINDS, QUOTAS, VERSION, OperatorState, key_of, registry, settings
from moorage.handlers.pods import UNFINISHED, PodSink, pod_decoder
from moorage.handlers.quotas import Quotas
from moorage.metrics import operator_metrics
from moorage.quota.ledger import Ledger
from moorage.quota.usage import PodReader, PodUse
from moorage.status.namespacequota import PodsView
from moorage.web.health import health_app, serve

logger = logging.getLogger(__name__)

STALE_SECONDS = 90.0
"""A feed that has heard nothing for so long is not believed: bookmarks come about every 60 seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `moorage run` was told; times in seconds."""

    kubeconfig: str | None = None
    context: str | None = None
    namespaces: tuple[str, ...] = ()
    """Namespaces to work in; empty for all."""
    host: str = "0.0.0.0"
    port: int = 8080
    """Port of the HTTP app; 0 picks a free one."""
    verify_interval: float = 900.0
    """How often the ledger is proved against the API server."""
    prune_interval: float = 300.0
    """How often objects are looked for whose deletion was missed."""


class Operator:
    """The parts of the operator and how they hang together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.credentials = Credentials.load(options.kubeconfig, options.context)
        self.client = Client(self.credentials)
        self.ledger = Ledger()
        self.references = References(self.client, self._reference_changed)
        self.state = OperatorState(self.ledger, Quotas(self.ledger), Buffers(self.references.known))
        self.state.writer = StatusWriter(
            self.client,
            self.state.desired,
            gone=lambda key, uid: self.state.remove(key, uid=uid),
            now=lambda: datetime.now(UTC),
        )
        self.state.specs_changed = self._specs_changed
        self.feeds = self._pod_feeds()
        self.kopf = EmbeddedKopf(
            registry(self.credentials),
            settings(),
            self.state,
            namespaces=options.namespaces,
            definitions=Definitions(self.client, GROUP, VERSION, KINDS),
            backoff=self.client.backoff,
        )
        self.port: int | None = None
        """Port of the HTTP app, once it serves."""

    async def run(self, stop: asyncio.Event | None = None) -> None:
        """Run until a signal, until `stop` is set, or until a part fails.

        Raises CredentialsError when there is no way to the API server, and ExceptionGroup for what a part raised.
        """
        stop = stop or asyncio.Event()
        set_on_signals(stop)
        logger.info("connecting with %s", self.credentials)
        await self.credentials.connection()
        app = health_app(not_ready=self.not_ready, metrics=operator_metrics(self.state, self.feeds))
        server = await serve(app, host=self.options.host, port=self.options.port, started=self._serving)
        try:
            async with asyncio.TaskGroup() as group:
                others = [
                    *(group.create_task(feed.run(), name=f"pods {feed.path}") for feed in self.feeds),
                    group.create_task(self.references.run(), name="references"),
                    group.create_task(self.state.writer.run(), name="status writer"),
                    group.create_task(self._publish_usage(), name="usage"),
                    group.create_task(self._watch_view(), name="view of the pods"),
                    group.create_task(self._prune(), name="prune"),
                ]
                operator = group.create_task(self.kopf.run(stop), name="kopf")
                operator.add_done_callback(lambda _: [task.cancel() for task in others])
            logger.info("told to end, and ended")
        finally:
            await server.cleanup()
            await self.client.close()

    def not_ready(self) -> str:
        """Return why the numbers cannot be trusted now, or an empty text."""
        view = self._view()
        if problem := self.kopf.problem or view.problem:
            return problem
        return "" if view.complete else "the pods are being listed"

    def _pod_feeds(self) -> list[Feed[PodUse]]:
        decode = pod_decoder(PodReader())
        places: Iterable[str | None] = self.options.namespaces or (None,)
        return [
            Feed(
                self.client,
                f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods",
                decode,
                PodSink(self.ledger, namespace=namespace, changed=self.state.usage_changed.set),
                field_selector=UNFINISHED,
                pace=Pace(verify=self.options.verify_interval),
            )
            for namespace in places
        ]

    def _serving(self, port: int) -> None:
        self.port = port
        logger.info("serving /healthz, /readyz and /metrics on port %d", port)

    def _reference_changed(self, reference: Reference) -> None:
        self.state.reference_changed(reference)

    def _specs_changed(self) -> None:
        """Read finished pods only while a quota counts them, and follow what buffers refer to."""
        for feed in self.feeds:
            feed.set_field_selector("" if self.ledger.counts_finished_pods else UNFINISHED)
        self.references.want(self.state.buffers.references())
        self._tell_view()

    async def _publish_usage(self) -> None:
        """Pass changes of usage on to the writer, and end grace periods when they are over."""
        while True:
            due = self.ledger.next_release()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else max(due - time.time(), 0) + 0.01):
                    await self.state.usage_changed.wait()
            self.state.usage_changed.clear()
            self.ledger.release_due(time.time())
            for namespace, name in self.ledger.take_changed():
                self.state.writer.mark(key_of(QUOTAS, namespace, name))

    async def _watch_view(self) -> None:
        """Tell every quota when the pods become known, or are not known any more."""
        settled = False
        while True:
            if self._tell_view():
                self.state.mark_quotas()
            if self.state.quotas.view.complete and not settled:
                settled = True
                gc.collect()
                gc.freeze()  # what was listed at the start stays; the collector need not walk it ever again
            await asyncio.sleep(0.1)

    def _tell_view(self) -> bool:
        """Tell the quotas how well the pods are known, and whether that has changed."""
        quotas = self.state.quotas
        before = quotas.view, quotas.views
        quotas.view = self._view()
        quotas.views = {
            namespace: self._view(feed) for namespace, feed in zip(self.options.namespaces, self.feeds, strict=False)
        }
        return (quotas.view, quotas.views) != before

    def _view(self, *feeds: Feed[PodUse]) -> PodsView:
        """Return what is known of the pods of some feeds; of all when none is named."""
        feeds = feeds or tuple(self.feeds)
        problems = [problem for feed in feeds if (problem := self._problem(feed))]
        return PodsView(
            complete=all(feed.synced for feed in feeds),
            finished_too=all(feed.held_selector == "" for feed in feeds),
            problem=problems[0] if problems else "",
        )

    def _problem(self, feed: Feed[PodUse]) -> str:
        if feed.state.startswith("refused"):
            return f"pods cannot be read ({feed.state.partition(': ')[2]}); give the operator list and watch on pods"
        if feed.synced and feed.last_byte_at is not None and time.monotonic() - feed.last_byte_at > STALE_SECONDS:
            return f"nothing has been heard of pods for more than {STALE_SECONDS:.0f} seconds ({feed.state})"
        return ""

    async def _prune(self) -> None:
        """Forget objects whose deletion fell into a gap of kopf's watch."""
        while True:
            await asyncio.sleep(self.options.prune_interval)
            for plural in KINDS:
                for namespace in self.options.namespaces or (None,):
                    try:
                        await self._forget_gone(plural, namespace)
                    except ClusterError as error:
                        logger.warning("%s could not be listed, which will be tried again: %s", plural, error)

    async def _forget_gone(self, plural: str, namespace: str | None) -> None:
        known = {
            key: uid
            for key, uid in self.state.known().items()
            if key.plural == plural and namespace in (None, key.namespace)
        }
        place = f"/namespaces/{namespace}" if namespace else ""
        found = await self.client.get(f"/apis/{GROUP}/{VERSION}{place}/{plural}")
        metas = [item["metadata"] for item in found["items"]]
        alive = {key_of(plural, meta["namespace"], meta["name"]): meta["uid"] for meta in metas}
        self.state.remove_gone(known, alive)
