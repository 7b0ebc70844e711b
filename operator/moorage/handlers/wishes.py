"""What is looked for on nodes: the units that should be there of every buffer, as its backend asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from moorage.backends.autoscaler import Tier, unit_template
from moorage.backends.choice import Backend
from moorage.backends.placeholder import placeholder_name
from moorage.cluster.volume_nodes import VolumeNodes
from moorage.density.eks.nodes import PlannedNodes
from moorage.density.units import Unit, unit
from moorage.handlers.buffers import BufferKey, Buffers
from moorage.handlers.provisioning import Provisioning
from moorage.handlers.sight import Wish
from moorage.handlers.sought import Sought
from moorage.objects import PodTemplate
from moorage.resources import pod_resources, with_defaults
from moorage.scheduling import PlacementTemplate
from moorage.status.presence import Unseen


class Wishes:
    """Makes wishes of what is sought; a unit stays the same value for as long as its template does.

    `stored` returns the status that the API server holds of a buffer.
    """

    def __init__(
        self,
        buffers: Buffers,
        provisioning: Provisioning,
        volumes: VolumeNodes,
        stored: Callable[[BufferKey], Mapping[str, Any]],
    ) -> None:
        self._buffers = buffers
        self._volumes = volumes
        self._provisioning = provisioning
        self._stored = stored
        self._units: dict[BufferKey, tuple[tuple[object, ...], Unit]] = {}

    def __call__(self) -> dict[BufferKey, Wish | Unseen]:
        """Return what is to be looked for now, or why nothing is; those first that have the first choice."""
        wishes: dict[BufferKey, Wish | Unseen] = {}
        for key in self._buffers.by_choice():
            if (sought := self._provisioning.sought(key)) is not None:
                try:
                    wishes[key] = self._wish(key, sought)
                except (msgspec.MsgspecError, ValueError) as error:
                    wishes[key] = Unseen("UnitUnreadable", f"the pod template of a unit cannot be read: {error}")
        for key in self._units.keys() - {key for key, each in wishes.items() if isinstance(each, Wish)}:
            del self._units[key]
        return wishes

    def _wish(self, key: BufferKey, sought: Sought) -> Wish:
        owner = sought.plan.owner
        holders = f"Deployment/{placeholder_name(owner)}" if sought.backend is Backend.PLACEHOLDER else ""
        return Wish(
            self._unit(key, sought),
            sought.allocation.active,
            sought.allocation.standby,
            shape=sought.shape,
            standby_of=f"{owner.namespace}/{owner.named(Tier.STANDBY.value)}",
            placeholders=holders,
            word=sought.word,
            planned=self._planned(key),
            consumed=_consumed(self._stored(key)),
        )

    def _planned(self, key: BufferKey) -> PlannedNodes | None:
        known = self._buffers.unit(*key)
        return known[0].nodes.planned if known is not None and known[0].nodes is not None else None

    def _unit(self, key: BufferKey, sought: Sought) -> Unit:
        plan = sought.plan
        made_of = sought.shape
        held = self._units.get(key)
        if held is None or held[0] != made_of:
            held = self._units[key] = (made_of, unit_of(plan.owner.namespace, unit_template(plan)["template"]))
        shape = held[1]
        if volumes := shape.spec.volumes:
            reached = self._volumes.of(plan.owner.namespace, volumes)
            if reached != shape.volume_nodes:
                shape = replace(shape, volume_nodes=reached)
                self._units[key] = (made_of, shape)
        return shape


def unit_of(namespace: str, template: Mapping[str, Any]) -> Unit:
    """Return the unit of a pod template, wherever its volumes are.

    Raises msgspec.ValidationError or QuantityError when it cannot be read.
    """
    shape = msgspec.convert(template, PodTemplate).spec
    placement = msgspec.convert(template, PlacementTemplate)
    requests = pod_resources(with_defaults(shape)).requests
    return unit(namespace, requests, labels=placement.metadata.labels, spec=placement.spec)


def _consumed(status: Mapping[str, Any]) -> tuple[int, int]:
    active, standby = (int((status.get(tier) or {}).get("consumed") or 0) for tier in ("active", "standby"))
    return active, standby
