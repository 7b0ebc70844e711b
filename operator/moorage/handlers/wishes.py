"""What is looked for on nodes: the units of every buffer that has a size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from moorage.density.units import Unit, unit
from moorage.handlers.buffers import BufferKey, Buffers
from moorage.handlers.sight import Wish
from moorage.status.capacitybuffer import unit_requests
from moorage.status.workload import Workload


class Wishes:
    """Makes wishes of sizes; a unit stays the same value for as long as its template does.

    `stored` returns the status that the API server holds of a buffer.
    """

    def __init__(self, buffers: Buffers, stored: Callable[[BufferKey], Mapping[str, Any]]) -> None:
        self._buffers = buffers
        self._stored = stored
        self._units: dict[BufferKey, tuple[Workload, Unit]] = {}

    def __call__(self) -> dict[BufferKey, Wish]:
        """Return what is to be looked for now, those first that have the first choice."""
        wishes: dict[BufferKey, Wish] = {}
        for target in self._buffers.targets():
            with suppress(ValueError):  # requests that nobody can read; the size says so where it matters
                if (shape := self._unit(target.key, target.workload)) is not None:
                    namespace, name = target.key
                    wishes[target.key] = Wish(
                        shape,
                        target.active,
                        target.standby,
                        standby_of=f"{namespace}/{name}-standby",
                        consumed=_consumed(self._stored(target.key)),
                    )
        for key in self._units.keys() - wishes.keys():
            del self._units[key]
        return wishes

    def _unit(self, key: BufferKey, found: Workload) -> Unit | None:
        held = self._units.get(key)
        if held is not None and held[0].template == found.template and held[0].placement == found.placement:
            return held[1]
        requests = unit_requests(found.template)
        if requests is None:
            return None
        placement = found.placement
        made = unit(
            key[0],
            requests,
            labels=placement.metadata.labels if placement is not None else None,
            spec=placement.spec if placement is not None else None,
        )
        self._units[key] = (found, made)
        return made


def _consumed(status: Mapping[str, Any]) -> tuple[int, int]:
    active, standby = (int((status.get(tier) or {}).get("consumed") or 0) for tier in ("active", "standby"))
    return active, standby
