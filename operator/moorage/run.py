"""The operator as one process: kopf for our two kinds, feeds for what is counted, one writer of status, one HTTP app.

All run in one task group. What the cluster does ends none of them. When one ends by a bug, the process ends and is
started anew: a half-alive operator is worse than a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from moorage.buffer.holdings import Holding
from moorage.cluster.autoscalers import Autoscalers
from moorage.cluster.client import Client
from moorage.cluster.credentials import Credentials
from moorage.cluster.definitions import Definitions
from moorage.cluster.events import EventWriter
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.history import History
from moorage.cluster.reference import AnyReference
from moorage.cluster.references import References
from moorage.cluster.status_writer import StatusKey, StatusWriter
from moorage.cluster.volume_nodes import VolumeNodes
from moorage.handlers.alarms import Alarms
from moorage.handlers.buffers import Buffers
from moorage.handlers.embedding import EmbeddedKopf, set_on_signals
from moorage.handlers.enforcement import EXEMPT_NAMESPACES, Enforcer
from moorage.handlers.expected import ExpectedQuotas
from moorage.handlers.lives import Lives
from moorage.handlers.measuring import Measuring
from moorage.handlers.native import NativeQuotaSink, read_native
from moorage.handlers.nodes import Nodes
from moorage.handlers.operator import BUFFERS, GROUP, KINDS, QUOTAS, VERSION, OperatorState, key_of, registry, settings
from moorage.handlers.presence import Presence
from moorage.handlers.provisioning import Limits, Provisioning
from moorage.handlers.prune import Pruner
from moorage.handlers.quotas import Quotas
from moorage.handlers.rooms import Rooms
from moorage.handlers.watches import Watches
from moorage.handlers.webhook import Webhook
from moorage.handlers.wishes import Wishes
from moorage.handlers.workloads import WorkloadWatch
from moorage.metrics import operator_metrics
from moorage.quota.ledger import Ledger
from moorage.quota.names import DEVICE_CLAIMS, PODS
from moorage.quota.native import NativeQuota
from moorage.status.namespacequota import View
from moorage.web.health import health_app, serve

logger = logging.getLogger(__name__)

SYSTEM_NAMESPACE = "moorage-system"
"""Where the operator is installed, unless it is told otherwise."""

GATHER_SECONDS = 0.1
"""How long changes are gathered that cost a look at all buffers."""


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
    provisioning: Limits = field(default_factory=Limits)
    prune_interval: float = 300.0
    """How often objects are looked for whose deletion was missed."""
    webhook_port: int = 0
    """Port of the webhook that explains; 0 for none."""
    prometheus: str = ""
    """URL of the Prometheus that demand of the past is read from; empty: none."""
    system_namespace: str = ""
    """The operator's own, where its certificate is kept and nothing is enforced; empty: that of the service account,
    else `moorage-system`."""


class Operator:
    """The parts of the operator and how they hang together."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.credentials = Credentials.load(options.kubeconfig, options.context)
        self.system_namespace = options.system_namespace or self.credentials.own_namespace() or SYSTEM_NAMESPACE
        self.client = Client(self.credentials)
        self.events = EventWriter(self.client, instance=socket.gethostname())
        self.ledger = Ledger()
        self.usage_changed = asyncio.Event()
        self.watches = Watches(
            self.client,
            self.ledger,
            namespaces=options.namespaces,
            changed=self.usage_changed.set,
            pace=Pace(verify=options.verify_interval),
        )
        self.watches.want((), finished_pods=False)
        self.references = References(self.client, self._reference_changed)
        quotas = Quotas(self.ledger, self.watches.view)
        quotas.native.changed = self._native_quotas_changed
        quotas.changed = self._quotas_changed
        self.workloads = WorkloadWatch(self.client, quotas.states, self._mark_quotas)
        quotas.findings = self.workloads.findings
        self.native_feeds = self._native_feeds(quotas)
        self._references_changed = asyncio.Event()
        self.rooms = Rooms(quotas, self.ledger, self.watches.view, native=self.native_feeds)
        self.alarms: Alarms[tuple[str, str]] = Alarms(self._buffer_due)
        buffers = Buffers(self.references.known, self.rooms.of, Lives(self.alarms))
        self.state = OperatorState(self.ledger, quotas, buffers)
        self.autoscalers = Autoscalers(self.client, changed=self._autoscalers_changed)
        self.measuring = buffers.measuring = Measuring(
            self.client,
            buffers.needs,
            self._buffer_due,
            self.autoscalers,
            history=History(options.prometheus) if options.prometheus else None,
            clusterwide=not options.namespaces,
        )
        self.provisioning = self.state.provisioning = Provisioning(
            self.client,
            namespaces=options.namespaces,
            changed=lambda key: self.state.buffer_changed(*key),
            alarms=self.alarms,
            limits=options.provisioning,
        )
        self.enforcer = Enforcer(
            self.client,
            quotas,
            uid=lambda key: self.state.uid(key_of(QUOTAS, *key)),
            unlisted=self._native_unlisted,
            placeholders=self._placeholders,
            changed=lambda key: self.state.writer.mark(key_of(QUOTAS, *key)),
            tell=self.events.tell,
            exempt={*EXEMPT_NAMESPACES, self.system_namespace},
            namespaces=options.namespaces,
        )
        quotas.enforcement = self.enforcer.state
        self.state.labelled = self._labelled
        self.state.writer = StatusWriter(
            self.client,
            self.state.desired,
            gone=lambda key, uid: self.state.remove(key, uid=uid),
            now=lambda: datetime.now(UTC),
        )
        self.state.specs_changed, self.state.share_soon = self._specs_changed, self.rooms.changed
        nodes, self.volume_nodes = Nodes(self.client), VolumeNodes(self.client, clusterwide=not options.namespaces)
        self.provisioning.nodes = lambda: nodes.by_name
        self.provisioning.nodes_are_read = lambda: bool(options.namespaces) or not nodes.listing
        self.presence = self.state.presence = Presence(
            self.watches,
            nodes,
            Wishes(
                buffers,
                self.provisioning,
                self.volume_nodes,
                lambda key: self.state.writer.held(key_of(BUFFERS, *key)),
            ),
            on_change=lambda key: self.state.buffer_changed(*key),
            on_taken=self._units_taken,
        )
        self.provisioning.holdings_changed = lambda namespace: self.enforcer.look(namespace, prove=False)
        self.provisioning.not_held = self.enforcer.not_by_class
        self.provisioning.may_grow = self.enforcer.placeholders_have_room
        self.provisioning.sought_changed = self.volume_nodes.changed = self.presence.wake
        places = [f"/namespaces/{each}" for each in options.namespaces] or [""]
        self.expected = ExpectedQuotas(
            self.client,
            (f"/apis/{GROUP}/{VERSION}{place}/{QUOTAS}" for place in places),
            arrived=lambda key: self.state.knows(key_of(QUOTAS, *key)),
        )
        self.expected_buffers = ExpectedQuotas(
            self.client,
            (f"/apis/{GROUP}/{VERSION}{place}/{BUFFERS}" for place in places),
            arrived=lambda key: self.state.knows(key_of(BUFFERS, *key)),
        )
        quotas.awaited = self.expected.awaits
        self.rooms.awaits_buffers = self.state.awaits_buffers = self.expected_buffers.awaits
        self.pruner = Pruner(
            self.client, self.state, namespaces=options.namespaces, interval_seconds=options.prune_interval
        )
        self.kopf = EmbeddedKopf(
            registry(self.credentials),
            settings(),
            self.state,
            namespaces=options.namespaces,
            definitions=Definitions(self.client, GROUP, VERSION, KINDS),
            backoff=self.client.backoff,
        )
        self.webhook = self._webhook() if options.webhook_port else None
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
        admission = self.webhook.counters if self.webhook is not None else None
        app = health_app(not_ready=self.not_ready, metrics=operator_metrics(self.state, self.watches, admission))
        server = await serve(app, host=self.options.host, port=self.options.port, started=self._serving)
        try:
            if self.webhook is not None:
                await self.webhook.listen(host=self.options.host, port=self.options.webhook_port)
            async with asyncio.TaskGroup() as group:
                others = [
                    group.create_task(self.watches.run(), name="watches"),
                    *(group.create_task(feed.run(), name=f"native {feed.path}") for feed in self.native_feeds),
                    group.create_task(self.references.run(), name="references"),
                    group.create_task(self._follow_references(), name="what buffers refer to"),
                    group.create_task(self.workloads.run(), name="workloads"),
                    group.create_task(self.enforcer.run(), name="enforcer"),
                    group.create_task(self.events.run(), name="events"),
                    group.create_task(self.state.writer.run(), name="status writer"),
                    group.create_task(self.presence.run(), name="presence"),
                    group.create_task(self.volume_nodes.run(), name="volumes"),
                    group.create_task(self.alarms.run(), name="alarms"),
                    group.create_task(self.provisioning.run(), name="provisioning"),
                    group.create_task(self.measuring.run(), name="measuring"),
                    group.create_task(self.autoscalers.run(), name="autoscalers"),
                    group.create_task(self._publish_usage(), name="usage"),
                    group.create_task(self._look_again(), name="views"),
                    group.create_task(self._share_out_rooms(), name="rooms"),
                    group.create_task(self.expected.run(), name="expected quotas"),
                    group.create_task(self.expected_buffers.run(), name="expected buffers"),
                    group.create_task(self.pruner.run(), name="prune"),
                ]
                if self.webhook is not None:
                    others.append(group.create_task(self.webhook.run(), name="webhook"))
                operator = group.create_task(self.kopf.run(stop), name="kopf")
                operator.add_done_callback(lambda _: [task.cancel() for task in others])
            logger.info("told to end, and ended")
        finally:
            await server.cleanup()
            if self.webhook is not None:
                await self.webhook.close()
            await self.client.close()

    def not_ready(self) -> str:
        """Return why the numbers cannot be trusted now, or an empty text."""
        view = self.watches.view(PODS)
        if problem := self.kopf.problem or view.message:
            return problem
        return "" if view.complete else "the pods are being listed"

    def _native_feeds(self, quotas: Quotas) -> list[Feed[NativeQuota]]:
        places = [f"/api/v1/namespaces/{each}/resourcequotas" for each in self.options.namespaces]
        return [
            Feed(self.client, path, read_native, NativeQuotaSink(quotas.native), pace=Pace(verify=0))
            for path in places or ["/api/v1/resourcequotas"]
        ]

    def _native_unlisted(self, namespace: str) -> str:
        """Return why the ResourceQuotas of a namespace are not known; empty: they are."""
        for feed in self.native_feeds:
            if (not self.options.namespaces or f"/{namespace}/" in feed.path) and not feed.synced:
                refusal = f"cannot be read: {feed.refusal}" if feed.refusal is not None else "are being listed"
                return f"the ResourceQuotas {refusal}"
        return ""

    def _placeholders(self, namespace: str) -> Sequence[Holding] | None:
        """Return what the placeholders of a namespace may count for; None while its buffers are not known."""
        return None if self.expected_buffers.awaits(namespace) else self.provisioning.placeholders(namespace)

    def _webhook(self) -> Webhook:
        return Webhook(
            self.client,
            self.state,
            self.watches,
            system_namespace=self.system_namespace,
            policies_proved=self.enforcer.is_proved,
            tell=self.events.tell,
        )

    def _serving(self, port: int) -> None:
        self.port = port
        logger.info("serving /healthz, /readyz and /metrics on port %d", port)

    def _reference_changed(self, reference: AnyReference) -> None:
        self.state.reference_changed(reference)

    def _autoscalers_changed(self, namespace: str) -> None:
        for key in self.state.buffers:
            if key[0] == namespace:
                self._buffer_due(key)

    def _buffer_due(self, key: tuple[str, str]) -> None:
        self.state.buffer_due(*key)

    def _labelled(self, key: StatusKey, labels: Mapping[str, str]) -> None:
        if key.plural == QUOTAS:
            self.enforcer.labeller.observe((key.namespace, key.name), labels)

    def _units_taken(self, key: tuple[str, str], units: int) -> None:
        """Pods have taken the room of so many units of a buffer: whether these are made anew is up to its `refill`."""
        self.state.buffers.lives.take(key, units)
        self._buffer_due(key)

    def _quotas_changed(self, namespace: str) -> None:
        self._mark_quotas(namespace)
        self.workloads.look(namespace)
        self.enforcer.look(namespace, prove=True)
        self.provisioning.look_again(namespace, at_all=True)

    def _native_quotas_changed(self, namespace: str) -> None:
        self._mark_quotas(namespace)
        self.rooms.changed(namespace)
        self.enforcer.look(namespace, prove=False)
        self.provisioning.look_again(namespace, at_all=False)

    def _mark_quotas(self, namespace: str) -> None:
        for name in self.state.quotas.names(namespace):
            self.state.writer.mark(key_of(QUOTAS, namespace, name))

    def _specs_changed(self, plural: str) -> None:
        """Watch what quotas count, and follow what buffers refer to."""
        if plural == QUOTAS:
            self.watches.want(self.ledger.resources(), finished_pods=self.ledger.counts_finished_pods)
        else:
            self._references_changed.set()
        self.presence.wake()

    async def _follow_references(self) -> None:
        """Follow what buffers refer to, and what may scale it, looked up once for many that come."""
        while True:
            await self._references_changed.wait()
            self._references_changed.clear()
            self.references.want(self.state.buffers.references())
            self.autoscalers.want(self.state.buffers.scaled_namespaces())
            await asyncio.sleep(GATHER_SECONDS)

    async def _publish_usage(self) -> None:
        """Pass changes of usage on to the writer, and end grace periods when they are over."""
        while True:
            due = self.ledger.next_release()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else max(due - time.time(), 0) + 0.01):
                    await self.usage_changed.wait()
            self.usage_changed.clear()
            self.ledger.release_due(time.time())
            for namespace, name in self.ledger.take_changed():
                self.state.writer.mark(key_of(QUOTAS, namespace, name))
                self.rooms.changed(namespace)

    async def _share_out_rooms(self) -> None:
        shared: set[str] = set()

        def share_out(namespace: str) -> None:
            self.state.share_out(namespace)
            if namespace not in shared:  # it is known from now on what placeholders hold there
                shared.add(namespace)
                self._mark_quotas(namespace)
                self.enforcer.look(namespace, prove=False)

        await self.rooms.run(share_out=share_out, namespaces=self.state.buffers.namespaces)

    def _look_at_all_quotas(self, *, prove: bool) -> None:
        for namespace, name in self.state.quotas:
            self.state.writer.mark(key_of(QUOTAS, namespace, name))
        for namespace in {namespace for namespace, _ in self.state.quotas}:
            self.enforcer.look(namespace, prove=prove)

    async def _look_again(self) -> None:
        """Tell the quotas concerned when a resource becomes known, or is not known any more."""
        views: Mapping[tuple[str, str | None], View] = {}
        settled, look_at_native, classes = False, 0.0, self.ledger.names_of_classes
        holdings_known, none_awaited, listed = False, False, [False for _ in self.native_feeds]
        while True:
            if (listed_now := [feed.synced for feed in self.native_feeds]) != listed:
                listed = listed_now
                for namespace in {namespace for namespace, _ in self.state.quotas}:
                    self.enforcer.look(namespace, prove=False)
            now = self.watches.views()
            if changed := {key[0] for key in now.keys() | views.keys() if now.get(key) != views.get(key)}:
                views = now
                for key in self.ledger.quotas_counting(changed):
                    self.state.writer.mark(key_of(QUOTAS, *key))
            if DEVICE_CLAIMS in changed or self.ledger.names_of_classes != classes:
                classes = self.ledger.names_of_classes
                for namespace in {key[0] for key in self.ledger.quotas_counting({DEVICE_CLAIMS})}:
                    self.enforcer.look(namespace, prove=False)
                    self.provisioning.look_again(namespace, at_all=True)
            if not none_awaited and self.expected.missing == 0:
                none_awaited = True
                self._look_at_all_quotas(prove=True)
            if not holdings_known and self.expected_buffers.missing == 0 and self.provisioning.synced:
                holdings_known = True
                self._look_at_all_quotas(prove=False)
            if self.watches.view(PODS).complete and not settled:
                settled = True
                gc.collect()
                gc.freeze()  # what was listed at the start stays; the collector need not walk it ever again
            if time.monotonic() >= look_at_native:
                look_at_native = time.monotonic() + 1
                for key in self.state.quotas.unsettled():
                    self.state.writer.mark(key_of(QUOTAS, *key))
            await asyncio.sleep(0.1)
