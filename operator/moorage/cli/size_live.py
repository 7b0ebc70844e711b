"""A buffer of a live cluster as `moorage size` takes it: by the spec in force and what its status has found."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.cli.errors import BadInput
from moorage.objects import Container, PodSpec, ResourceRequirements
from moorage.status.schedule import schedule_note, scheduled
from moorage.status.workload import Workload


@dataclass(frozen=True, slots=True)
class Named:
    """A buffer of a cluster."""

    name: str
    namespace: str
    kubeconfig: str | None
    context: str | None


def live_options(command: Callable[..., int]) -> Callable[..., int]:
    """Let a command be given the name of a live buffer, as one parameter `named` (None: it was not)."""

    @functools.wraps(command)
    def with_name(
        *, buffer: str | None, namespace: str, kubeconfig: str | None, context: str | None, **others: Any
    ) -> int:
        named = Named(buffer, namespace, kubeconfig, context) if buffer is not None else None
        return command(named=named, **others)

    for parameter in (
        click.option("--context", help="Context of the kubeconfig."),
        click.option("--kubeconfig", help="Kubeconfig file, for a live BUFFER."),
        click.option("-n", "--namespace", default="default", show_default=True, help="Namespace of a live BUFFER."),
        click.argument("buffer", required=False),
    ):
        with_name = parameter(with_name)
    return with_name


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """What is known of a stored buffer."""

    spec: CapacityBufferSpec
    """With the size of the schedule in force."""
    found: Workload
    room: int | None
    """Units that quotas leave; None when that is enough."""
    units_per_node: int
    """0 when it is not known."""
    replicas: int | None
    """What the operator says of its size now; None when it has none."""
    why_unsized: str
    notes: tuple[str, ...]


def live_buffer(named: Named) -> LiveBuffer:
    """Read a buffer.

    Raises BadInput when the cluster cannot be read, or has no such buffer.
    """
    # The client takes half a second to import.
    from moorage.cli.live import connected, live_object  # noqa: PLC0415

    with connected(named.kubeconfig, named.context) as api:
        body = live_object(api, "moorage.dev/v1alpha1", named.namespace, "capacitybuffers", named.name)
    if body is None:
        raise BadInput(f"there is no CapacityBuffer {named.name} in namespace {named.namespace}; name another with -n")
    return read_buffer(body, datetime.now(UTC))


def read_buffer(body: dict[str, Any], at: datetime) -> LiveBuffer:
    """Read a stored buffer as of a time.

    Raises BadInput when its spec cannot be read.
    """
    status = body.get("status") or {}
    sizing = status.get("sizing") or {}
    try:
        spec = parse_capacity_buffer_spec(body["spec"], allow_unknown=True)
        in_force = scheduled(spec, at)
    except (SpecError, ValueError) as error:
        raise BadInput(f"CapacityBuffer {body['metadata']['name']}: {error}") from error
    unit = sizing.get("unit")
    shape = PodSpec(containers=[Container(resources=ResourceRequirements(requests=unit))]) if unit else None
    ready: dict[str, Any] = next((each for each in status.get("conditions") or () if each["type"] == "Ready"), {})
    replicas = status.get("replicas")
    note = schedule_note(in_force, spec)
    return LiveBuffer(
        _with_found(in_force.spec, sizing),
        Workload(shape, sizing.get("workloadReplicas")),
        sizing.get("room"),
        int((status.get("nodes") or {}).get("unitsPerNode") or 0),
        replicas,
        "" if replicas is not None else ready.get("message") or "the operator has not said anything of it yet",
        (note,) if note else (),
    )


def _with_found(spec: CapacityBufferSpec, sizing: Mapping[str, Any]) -> CapacityBufferSpec:
    """Return the spec with what the operator has found out of its inputs, where these say no number."""
    given = spec.sizing
    if given is None:
        return spec
    used: dict[str, Any] = {}
    for name, key, parse in _INPUTS:
        try:
            parse(getattr(given, name))
        except ValueError:
            if key in sizing:
                used[name] = sizing[key]
    return msgspec.structs.replace(spec, sizing=msgspec.structs.replace(given, **used)) if used else spec


_INPUTS: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("scale_up_rate", "scaleUpRate", parse_rate),
    ("standby_resume_latency", "standbyResumeLatency", parse_duration),
    ("cold_node_latency", "coldNodeLatency", parse_duration),
)
