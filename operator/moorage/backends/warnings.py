"""What a buffer's owner should know before it matters: units that will not do what they are meant for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.backends.choice import Backend, Choice
from moorage.backends.placeholder import LOWEST_PRIORITY
from moorage.backends.plan import Plan
from moorage.backends.unit import DEDICATED_KEY, claimed_volumes, is_dedicated, spec_of, with_dedication

IMAGE_VOLUMES_SINCE = (1, 35)
"""The first Kubernetes where they are on without asking for them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One warning: a condition's reason, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Place:
    """A node as far as others could use it: its labels and the taints that keep pods away, as (key, value)."""

    name: str
    labels: Mapping[str, str]
    taints: frozenset[tuple[str, str]]


def warnings(
    plan: Plan,
    choice: Choice,
    *,
    kubernetes: tuple[int, int] | None,
    priority: int = LOWEST_PRIORITY,
    places: Iterable[Place] = (),
) -> tuple[Finding, ...]:
    """Return what does not fit together.

    `kubernetes` is the version of the API server (None: not known), `priority` that of placeholders, and `places` are
    the nodes that are known.
    """
    spec = spec_of(plan.template)
    found: list[Finding] = []
    if choice.backend is Backend.PLACEHOLDER:
        found += _about_placeholders(spec, priority)
    found += _volumes(spec, choice)
    if plan.preload_images:
        found += _preloading(choice, kubernetes)
    if plan.dedicated:
        found += _dedication(plan, places)
    return tuple(found)


def parse_kubernetes_version(git_version: str) -> tuple[int, int] | None:
    """Return major and minor of a version such as v1.36.3 or v1.36.0-gke.1; None when it is something else."""
    match = re.match(r"v?(\d+)\.(\d+)", git_version)
    return (int(match[1]), int(match[2])) if match else None


def can_preload(kubernetes: tuple[int, int] | None) -> bool:
    """Whether pods may have image volumes."""
    return kubernetes is not None and kubernetes >= IMAGE_VOLUMES_SINCE


def _about_placeholders(spec: Mapping[str, Any], priority: int) -> Iterator[Finding]:
    if spec.get("preemptionPolicy") == "Never":
        yield Finding(
            "PreemptionNever",
            "pods of the workload have preemptionPolicy Never, so they cannot push placeholders out; give them another "
            "PriorityClass, or use backend Autoscaler, which needs no preemption",
        )
    own = spec.get("priority")
    if own is not None and int(own) <= priority:
        yield Finding(
            "PriorityTooLow",
            f"pods of the workload have priority {own}, not above the {priority} of placeholders, so they cannot push "
            "them out",
        )
    if any(each.get("whenUnsatisfiable") == "ScheduleAnyway" for each in spec.get("topologySpreadConstraints") or ()):
        yield Finding(
            "SoftSpread",
            "pods of the workload are spread by whenUnsatisfiable ScheduleAnyway, for which nothing is pushed out: "
            "they may crowd on nodes with free room while placeholders stay on others; DoNotSchedule pushes them out",
        )


def _volumes(spec: Mapping[str, Any], choice: Choice) -> Iterator[Finding]:
    volumes = claimed_volumes(spec)
    ignoring = {"Karpenter": "Karpenter leaves out the volumes of units"}.get(choice.controller, "")
    if choice.backend is Backend.PLACEHOLDER:
        ignoring = "placeholders mount no volumes"
    if volumes and ignoring:
        names = ", ".join(str(each["name"]) for each in volumes)
        yield Finding(
            "VolumesIgnored",
            f"{ignoring} ({names}), so room may be held in a zone where the volume is not; select the zone in the pod "
            "template if that matters",
        )


def _preloading(choice: Choice, kubernetes: tuple[int, int] | None) -> Iterator[Finding]:
    if choice.backend is Backend.AUTOSCALER:
        yield Finding(
            "NothingPreloaded",
            "preloadImages needs backend Placeholder: no pod runs on the nodes of backend Autoscaler; a DaemonSet with "
            "the unit's nodeSelector can pull images there",
        )
    elif choice.backend is Backend.PLACEHOLDER and not can_preload(kubernetes):
        major, minor = IMAGE_VOLUMES_SINCE
        yield Finding("NothingPreloaded", f"preloadImages needs Kubernetes {major}.{minor} (image volumes)")


def _dedication(plan: Plan, places: Iterable[Place]) -> Iterator[Finding]:
    spec = spec_of(plan.template)
    if not is_dedicated(spec):
        yield Finding(
            "WorkloadNotDedicated",
            f"the pod template neither selects nor tolerates {DEDICATED_KEY}={plan.owner.label}, so its pods cannot "
            f"take the units: add nodeSelector {{{DEDICATED_KEY}: {plan.owner.label}}} and a toleration of that taint",
        )
    unit = with_dedication(dict(spec), plan.owner)
    selected = unit.get("nodeSelector") or {}
    tolerated = {each.get("key") for each in unit.get("tolerations") or ()}
    keys = [key for key in selected if key in tolerated]
    open_nodes = sorted(
        place.name
        for place in places
        if selected.items() <= place.labels.items() and not {key for key, _ in place.taints} & set(keys)
    )
    if open_nodes:
        shown = ", ".join(open_nodes[:3]) + (f" and {len(open_nodes) - 3} more" if len(open_nodes) > 3 else "")
        yield Finding(
            "OpenToOthers",
            f"other pods can take the units on {shown}, which have the label but not the taint {keys[0]}",
        )
