"""From the size of each buffer to the objects that make its units, and back to its status."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.backends.allocation import Allocation, allocate, documents
from moorage.backends.autoscaler import KIND, PASSED_ON, Tier, answer_of
from moorage.backends.choice import Asked, Backend, Choice, Patience, Seen, choose, says_enough
from moorage.backends.gke import Cluster, compute_class_of, standby_obstacles
from moorage.backends.placeholder import placeholder_name
from moorage.backends.plan import OWNED_SELECTOR, PAUSE_IMAGE, Document, Owner, Plan
from moorage.backends.warnings import Finding, can_preload
from moorage.backends.word import word_of
from moorage.buffer.holdings import Holding
from moorage.cluster.applier import Applier
from moorage.cluster.client import Client
from moorage.cluster.feed import Feed, Pace
from moorage.cluster.owned import Kind, ObjectKey, OwnedObject, OwnedObjects, OwnedSink, owned_decoder
from moorage.cluster.surroundings import Surroundings
from moorage.cluster.upstream import Upstream
from moorage.density.nodes import Node
from moorage.handlers.alarms import Alarms
from moorage.handlers.findings import findings
from moorage.handlers.sites import autopilot, gke_places
from moorage.handlers.sought import Sought, placeholders_in, placeholders_of
from moorage.objects import PodSpec
from moorage.resources import pod_resources, with_defaults
from moorage.status.provisioning import (
    as_paused,
    choice_before,
    is_folded,
    with_backend,
    with_choice,
    with_findings,
    with_trouble,
)

PAUSED = "moorage.dev/paused"
"""Annotation that keeps everything that was made for a buffer as it is."""

DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment")
POD_TEMPLATES = Kind("", "v1", "podtemplates", "PodTemplate")

BufferKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the operator was told about making units."""

    patience: Patience = field(default_factory=Patience)
    most_placeholders: int = 5000
    """Placeholders of one buffer; each is a pod in etcd and in the scheduler's queue."""
    pause_image: str = PAUSE_IMAGE


@dataclass(slots=True)
class _Buffer:
    """What is known of a buffer, and what was decided."""

    owner: Owner
    annotations: Mapping[str, str]
    choice: Choice | None
    sought: Sought | None = None
    holding: Holding | None = None
    """What placeholders for what is sought count for; None while nothing is sought."""
    asked: dict[Tier, Asked] = field(default_factory=dict)
    folded: bool = False
    """Whether standby units are among the active ones."""
    held_back: bool = False
    """Whether placeholders are not made yet, since they would be refused."""

    @property
    def paused(self) -> bool:
        return self.annotations.get(PAUSED) == "true"


class Provisioning:
    """Has the objects of each buffer made. `changed` is called with a buffer whose status may have to change.

    `alarms` has it called when an answer has been waited for long enough.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespaces: Iterable[str],
        changed: Callable[[BufferKey], None],
        alarms: Alarms[BufferKey],
        limits: Limits | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.nodes: Callable[[], Mapping[str, Node]] = dict
        """Returns the nodes that are known, by name."""
        self.nodes_are_read: Callable[[], bool] = lambda: True
        """Whether these are all, as far as they may be read."""
        self.sought_changed: Callable[[], None] = lambda: None
        """Called when other units of a buffer should be there than before."""
        self.holdings_changed: Callable[[str], None] = lambda _: None
        """Called with a namespace whose placeholders shall be others."""
        self.not_held: Callable[[str], frozenset[str] | None] = lambda _: frozenset()
        """Returns the resources that placeholders of a namespace must not hold; None: not known yet."""
        self.may_grow: Callable[[str], bool] = lambda _: True
        """Whether the quotas of a namespace have room yet for all placeholders that shall be there."""
        self.objects = OwnedObjects()
        self.applier = Applier(client, self.objects, settled=self._owner_changed)
        places = tuple(namespaces)
        self._limits = limits or Limits()
        self.upstream = Upstream(
            client,
            self.objects,
            namespaces=places,
            changed=self._upstream_changed,
            patience_seconds=self._limits.patience.later,
        )
        self.surroundings = Surroundings(client, clusterwide=not places, changed=self._all_changed)
        self._client = client
        self._places: tuple[str | None, ...] = places or (None,)
        self._changed = changed
        self._alarms = alarms
        self._now = now
        self._buffers: dict[BufferKey, _Buffer] = {}
        self._keys: dict[str, BufferKey] = {}
        """By uid."""
        self._names: dict[str, set[str]] = {}
        """By namespace."""
        self.objects.listeners.append(self._owner_changed)
        self._deployments, self._pod_templates = self._feeds(DEPLOYMENTS), self._feeds(POD_TEMPLATES)
        for kind in (DEPLOYMENTS, POD_TEMPLATES):
            self.applier.know(kind)

    # What comes in

    def observe(self, key: BufferKey, *, uid: str, annotations: Mapping[str, str], status: Mapping[str, Any]) -> None:
        """Take in what of a buffer is not its spec."""
        known = self._buffers.get(key)
        relevant = {name: annotations[name] for name in (PAUSED, *PASSED_ON) if name in annotations}
        if known is None or known.owner.uid != uid:
            self.remove(key)
            owner = Owner(*key, uid)
            self._buffers[key] = _Buffer(owner, relevant, choice_before(status), folded=is_folded(status))
            self._keys[uid] = key
            self._names.setdefault(key[0], set()).add(key[1])
        elif known.annotations == relevant:
            return
        else:
            known.annotations = relevant
        self._changed(key)

    def remove(self, key: BufferKey) -> None:
        """Forget a buffer that was deleted; the garbage collector removes what it owns."""
        known = self._buffers.pop(key, None)
        if known is not None:
            self._keys.pop(known.owner.uid, None)
            names = self._names[key[0]]
            names.discard(key[1])
            if not names:
                del self._names[key[0]]
            self.applier.forget(known.owner.uid)
            self.holdings_changed(key[0])

    # What is made of it

    def complete(
        self, key: BufferKey, spec: CapacityBufferSpec, template: bytes, status: CapacityBufferStatus
    ) -> CapacityBufferStatus | None:
        """Have made what a buffer needs that is sized like this, and return its status with what there is to say.

        `template` is the pod template of a unit as JSON. None when too little is known yet to say anything.
        """
        known = self._buffers.get(key)
        if known is None:
            return None
        if status.active is None or status.standby is None or not template:
            # Without a size, what was made stays as it is.
            return with_choice(status, known.choice) if known.choice is not None else status
        not_held = self.not_held(key[0])
        if not_held is None:
            return None
        plan = self._plan(known, spec, template, not_held)
        previous, known.choice = known.choice, self._choose(known, spec, plan, standby=status.standby.replicas > 0)
        # The version says whether images can be preloaded, and a template without them would replace all placeholders.
        is_placeholder = known.choice is not None and known.choice.backend is Backend.PLACEHOLDER
        if known.choice is None or (is_placeholder and plan.preload_images and self.surroundings.version_is_awaited):
            known.choice = previous
            return None
        allocation = allocate(
            known.choice,
            active=status.active.replicas,
            standby=status.standby.replicas,
            fold=spec.standby_fallback == "Active",
            folded=known.folded,
            most_placeholders=self._limits.most_placeholders,
        )
        known.folded = allocation.folded > 0
        asked = known.asked.get(Tier.ACTIVE)
        word = word_of(known.choice, asked.answer if asked is not None else None)
        sought = Sought(plan, template, known.choice.backend, allocation, word)
        if sought != known.sought:
            known.sought = sought
            self._hold(known, placeholders_of(sought))
            self.sought_changed()
        self._alarms.set(key, "answer", known.choice.look_again)
        if known.paused:
            self.applier.leave(known.owner.uid)
            return as_paused(with_backend(status, known.choice, allocation), PAUSED)
        kind = self.upstream.kind
        made = documents(
            replace(plan, preload_images=plan.preload_images and can_preload(self.surroundings.kubernetes)),
            known.choice,
            allocation,
            version=kind.version if kind is not None else None,
            pause_image=self._limits.pause_image,
        )
        self.applier.want(known.owner.uid, [self._in_time(known, each) for each in made])
        completed = with_backend(status, known.choice, allocation)
        completed = with_findings(completed, self._findings(known, plan, known.choice, allocation))
        return with_trouble(completed, self._trouble(known.owner.uid))

    def sought(self, key: BufferKey) -> Sought | None:
        """Return which units of a buffer should be there; None until it has had a size."""
        known = self._buffers.get(key)
        return known.sought if known is not None else None

    @property
    def synced(self) -> bool:
        """Whether the placeholders that there are have been read."""
        return all(feed.synced or feed.refusal is not None for feed in self._deployments)

    def placeholders(self, namespace: str) -> Sequence[Holding] | None:
        """Return what the placeholders of a namespace may count for; None while that is not known.

        Of a buffer whose units have not been sought yet they are those that its Deployment asks for.
        """
        if not self.synced:
            return None
        found = (self._buffers[namespace, name] for name in sorted(self._names.get(namespace, ())))
        return [each for known in found if (each := known.holding or self._stored(known.owner)) is not None]

    def look_again(self, namespace: str, *, at_all: bool) -> None:
        """Have another look at the placeholders of a namespace, whose quotas changed; or at those not made yet."""
        for name in self._names.get(namespace, ()):
            if at_all or self._buffers[namespace, name].held_back:
                self._changed((namespace, name))

    def _in_time(self, known: _Buffer, document: Document) -> Document:
        """Return what is to be made now: no more placeholders than there are before quotas have room for more."""
        if document["kind"] != DEPLOYMENTS.kind:
            return document
        known.held_back = False
        stored = self.objects.get(ObjectKey(DEPLOYMENTS.kind, known.owner.namespace, document["metadata"]["name"]))
        there = int(stored.body["spec"].get("replicas") or 0) if stored is not None else 0
        if document["spec"]["replicas"] <= there or self.may_grow(known.owner.namespace):
            return document
        known.held_back = True
        return {**document, "spec": {**document["spec"], "replicas": there}}

    def _stored(self, owner: Owner) -> Holding | None:
        stored = self.objects.get(ObjectKey(DEPLOYMENTS.kind, owner.namespace, placeholder_name(owner)))
        if stored is None or stored.owner_uid != owner.uid:
            return None
        return placeholders_in(stored.body, owner, int(stored.body["spec"].get("replicas") or 0))

    def _hold(self, known: _Buffer, holding: Holding | None) -> None:
        if known.holding != holding:
            known.holding = holding
            self.holdings_changed(known.owner.namespace)

    @staticmethod
    def _plan(known: _Buffer, spec: CapacityBufferSpec, template: bytes, not_held: frozenset[str]) -> Plan:
        return Plan(
            known.owner,
            msgspec.json.decode(template),
            annotations=known.annotations,
            dedicated=bool(spec.dedicated),
            preload_images=bool(spec.preload_images),
            placement=spec.placement or "Template",
            not_held=not_held,
        )

    def _choose(self, known: _Buffer, spec: CapacityBufferSpec, plan: Plan, *, standby: bool) -> Choice | None:
        seen = Seen(
            served=self.upstream.served,
            refusal=self.upstream.refusal,
            refused_since=self.upstream.refused_since,
            active=self._ask(known, Tier.ACTIVE),
            standby=self._ask(known, Tier.STANDBY),
            platform=self.surroundings.platform,
            obstacles=self._obstacles(plan) if standby else (),
            surveyed=self.surroundings.is_read and self.nodes_are_read(),
        )
        setting = spec.backend or "Auto"
        return choose(setting, seen, known.choice, now=self._now(), patience=self._limits.patience)

    def _ask(self, known: _Buffer, tier: Tier) -> Asked | None:
        """Return one of our objects, and since when it has waited for the answer that it lacks."""
        stored = self.objects.get(ObjectKey(KIND, known.owner.namespace, known.owner.named(tier.value)))
        if stored is None or stored.owner_uid != known.owner.uid:
            known.asked.pop(tier, None)
            return None
        answer, before = answer_of(stored.body), known.asked.get(tier)
        since = before.since if before is not None and not says_enough(before.answer, tier) else self._now()
        known.asked[tier] = Asked(answer, since)
        return known.asked[tier]

    def _obstacles(self, plan: Plan) -> tuple[str, ...]:
        if not self.surroundings.platform:
            return ()
        unit = msgspec.convert(plan.template.get("spec") or {}, PodSpec)
        return standby_obstacles(
            plan.template,
            pod_resources(with_defaults(unit)).requests,
            Cluster(self.surroundings.git_version, autopilot(self.nodes()), gke_places(self.nodes(), plan.template)),
            self.surroundings.compute_class(compute_class_of(plan.template)),
        )

    def _findings(self, known: _Buffer, plan: Plan, choice: Choice, allocation: Allocation) -> tuple[Finding, ...]:
        holders = ObjectKey(DEPLOYMENTS.kind, known.owner.namespace, placeholder_name(known.owner))
        return findings(
            plan,
            choice,
            allocation,
            self.surroundings,
            holders=self.objects.get(holders) if choice.backend is Backend.PLACEHOLDER else None,
            nodes=self.nodes(),
            most_placeholders=self._limits.most_placeholders,
        )

    def _trouble(self, uid: str) -> Finding | None:
        trouble = self.applier.trouble(uid)
        return Finding(trouble.reason, trouble.message) if trouble is not None else None

    # What makes it be looked at again

    def _owner_changed(self, uid: str) -> None:
        if (key := self._keys.get(uid)) is not None:
            self._changed(key)

    def _upstream_changed(self) -> None:
        if self.upstream.kind is not None:
            self.applier.know(self.upstream.kind)
        self._all_changed()

    def _all_changed(self) -> None:
        for key in list(self._buffers):
            self._changed(key)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for feed in (*self._deployments, *self._pod_templates):
                tasks.create_task(feed.run(), name=f"feed {feed.path}")
            tasks.create_task(self.upstream.run(), name="upstream")
            tasks.create_task(self.surroundings.run(), name="surroundings")
            tasks.create_task(self.applier.run(), name="applier")

    def _feeds(self, kind: Kind) -> list[Feed[OwnedObject]]:
        return [
            Feed(
                self._client,
                kind.path(place),
                owned_decoder(kind.kind),
                OwnedSink(self.objects),
                label_selector=OWNED_SELECTOR,
                pace=Pace(verify=0),
            )
            for place in self._places
        ]
