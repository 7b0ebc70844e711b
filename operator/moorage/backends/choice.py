"""Which backend a buffer uses, from what has been seen of the cluster so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

from moorage.backends.autoscaler import GROUP, STANDBY_STRATEGY, Answer, Tier

KARPENTER, STRATEGY_IGNORED, PLACEHOLDERS_RUN = "Karpenter", "StrategyIgnored", "PlaceholdersRun"
NOT_SUSPENDABLE, ASKING = "NotSuspendable", "Asking"
"""Reasons of the condition StandbyUnsupported."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long answers are waited for, in seconds."""

    first: float = 60.0
    """For a controller's first condition."""
    later: float = 300.0
    """For the answer to a change by one that has answered before, such as while it is upgraded."""


Setting = Literal["Auto", "Autoscaler", "Placeholder", "None"]


class Backend(StrEnum):
    """What makes units exist."""

    AUTOSCALER = "Autoscaler"
    PLACEHOLDER = "Placeholder"
    NONE = "None"


class Standby(Enum):
    """Whether the backend can have standby units."""

    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    ASKED = "asked"
    """An object of size 0 is there for the controller to answer on: one that ignores strategies must not run it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One of our objects of autoscaling.x-k8s.io, and since when an answer to it has been waited for (seconds)."""

    answer: Answer
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of the cluster."""

    served: bool | None
    """Whether the API group is served; None while that is not known."""
    refusal: str = ""
    """Why our objects of it cannot be read; empty when they can."""
    refused_since: float = 0.0
    """Since when `refusal` has stood (seconds)."""
    active: Asked | None = None
    standby: Asked | None = None
    platform: str = ""
    """GKE where the API server says so."""
    obstacles: Sequence[str] = ()
    """Why nodes for this unit cannot be suspended, each a sentence."""
    surveyed: bool = True
    """Whether all has been read that could show such obstacles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The backend in use, and why."""

    backend: Backend
    controller: str = ""
    reason: str = ""
    standby: Standby = Standby.UNSUPPORTED
    standby_reason: str = ""
    """A condition's reason, such as Karpenter."""
    standby_message: str = ""
    probes: bool = False
    """Whether objects of size 0 stay, so that a controller that comes later is noticed."""
    look_again: float | None = None
    """When waiting is over (seconds); None when only a change can change the choice."""


def choose(
    setting: Setting, seen: Seen, previous: Choice | None, *, now: float, patience: Patience = Patience()
) -> Choice | None:
    """Return the backend to use; None while too little is known, so that all stays as it is.

    `previous` is the choice so far; after a restart, what of it is in use. It holds until something else is known: what
    has not been read yet, or not answered anew, takes no unit away.
    """
    if setting == "None":
        return Choice(backend=Backend.NONE, reason="spec.backend is None: the size is computed, and nothing is made")
    if setting == "Placeholder":
        return _placeholder("spec.backend is Placeholder")
    if seen.served is None:
        return None
    if unusable := _unusable(seen):
        # Of objects that were read before a restart too, a refusal has to stand as long as of those that are read now.
        is_in_use = seen.served and previous is not None and previous.backend is Backend.AUTOSCALER
        until = seen.refused_since + patience.later if is_in_use and setting == "Auto" else None
        if setting == "Auto" and (until is None or now >= until):
            return _placeholder(unusable)
        return _autoscaler(setting, seen, previous, now=now, until=until, patience=patience)
    silent_since = _silent_since(seen.active)
    until = None if silent_since is None else silent_since + _patience(seen.active, patience)
    is_silent = until is not None and now >= until
    was_placeholder = previous is not None and previous.backend is Backend.PLACEHOLDER
    waits = seen.active is None or until is not None
    if setting == "Auto" and (is_silent or (was_placeholder and waits)):
        reason = f"the API group {GROUP} is served, but no controller answers on a CapacityBuffer of it"
        return _placeholder(reason, probes=True)
    return _autoscaler(setting, seen, previous, now=now, until=None if is_silent else until, patience=patience)


def _unusable(seen: Seen) -> str:
    """Return why the autoscalers' API is of no use; empty when it is."""
    if not seen.served:
        return f"the API group {GROUP} is not served"
    return f"the API group {GROUP} is served, but the operator may not use it: {seen.refusal}" if seen.refusal else ""


def says_enough(answer: Answer, tier: Tier) -> bool:
    """Tell whether an answer is the one that is waited for: somebody's, and of standby units that they can be had."""
    if tier is Tier.STANDBY:
        return answer.ready and answer.strategy == STANDBY_STRATEGY
    return answer.answered and answer.current


def _patience(asked: Asked | None, patience: Patience) -> float:
    return patience.later if asked is not None and asked.answer.answered else patience.first


def _silent_since(asked: Asked | None) -> float | None:
    """Return since when an answer is due; None when it is there, or not asked for yet."""
    if asked is None or says_enough(asked.answer, Tier.ACTIVE):
        return None
    return asked.since


def _placeholder(reason: str, *, probes: bool = False) -> Choice:
    return Choice(
        backend=Backend.PLACEHOLDER,
        reason=reason,
        standby_reason=PLACEHOLDERS_RUN,
        standby_message="placeholders need running nodes, so there are no standby units",
        probes=probes,
    )


def _autoscaler(
    setting: Setting, seen: Seen, previous: Choice | None, *, now: float, until: float | None, patience: Patience
) -> Choice:
    active = seen.active.answer if seen.active is not None else Answer(0)
    controller = seen.platform if seen.platform and active.controller == "Cluster Autoscaler" else active.controller
    standby, why, message, standby_until = _standby(seen, previous, controller, now=now, patience=patience)
    due = [each for each in (until, standby_until) if each is not None]
    return Choice(
        backend=Backend.AUTOSCALER,
        controller=controller,
        reason=_reason(setting, seen, controller, is_waiting=until is not None or seen.active is None),
        standby=standby,
        standby_reason=why,
        standby_message=message,
        look_again=min(due, default=None),
    )


def _reason(setting: Setting, seen: Seen, controller: str, *, is_waiting: bool) -> str:
    is_set = "spec.backend is Autoscaler; " if setting == "Autoscaler" else ""
    if not seen.served:
        return f"spec.backend is Autoscaler, but {_unusable(seen)}: nothing is made"
    if seen.refusal:
        return f"{is_set}{_unusable(seen)}"
    served = f"the CapacityBuffer API of {GROUP} is served"
    if controller:
        return f"{is_set}{served} and {controller if controller != 'Other' else 'a controller'} answers"
    if is_waiting:
        return f"{served}; waiting for a controller to answer"
    return f"{is_set}{served}, but no controller has answered, so no node may come"


def _standby(
    seen: Seen, previous: Choice | None, controller: str, *, now: float, patience: Patience
) -> tuple[Standby, str, str, float | None]:
    """Return whether there is standby capacity; if not, a condition's reason and message; and when to look again."""
    asked = seen.standby
    answer = asked.answer if asked is not None else Answer(0)
    before, reason_before, message_before = Standby.ASKED, "", ""
    if previous is not None and previous.backend is Backend.AUTOSCALER:
        before, reason_before, message_before = previous.standby, previous.standby_reason, previous.standby_message
    if KARPENTER in (controller, answer.controller):
        message = "Karpenter does not look at the strategy and would run standby units as active ones, at full cost"
        return Standby.UNSUPPORTED, KARPENTER, message, None
    if reason_before == NOT_SUSPENDABLE and not seen.surveyed:
        return before, reason_before, message_before, now + patience.first
    if seen.obstacles:
        return Standby.UNSUPPORTED, NOT_SUSPENDABLE, "; ".join(seen.obstacles), None
    if says_enough(answer, Tier.STANDBY):
        return Standby.SUPPORTED, "", "", None
    until = None
    if asked is not None and controller:
        until = asked.since + (patience.later if before is Standby.SUPPORTED else patience.first)
    if until is not None and now >= until:
        said = f": {answer.message}" if answer.message else ""
        message = f"{_the(controller)} does not take the strategy {STANDBY_STRATEGY}{said}"
        return Standby.UNSUPPORTED, STRATEGY_IGNORED, message, None
    is_kept = reason_before == STRATEGY_IGNORED or (reason_before == KARPENTER and not controller)
    if before is Standby.SUPPORTED or is_kept:
        return before, reason_before, message_before, until
    return Standby.ASKED, ASKING, "waiting for a controller to take the standby strategy", until


def _the(controller: str) -> str:
    return "the controller" if controller == "Other" else controller
