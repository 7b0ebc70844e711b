"""What a buffer's status says of backends, schedules and units that are not made anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from moorage.api import parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.backends.allocation import Allocation, allocate
from moorage.backends.choice import Backend, Choice, Standby
from moorage.backends.warnings import Finding
from moorage.buffer.life import Adjustment, Life
from moorage.buffer.refill import Withheld
from moorage.buffer.stabilization import Target, Wanted
from moorage.status.capacitybuffer import buffer_status
from moorage.status.provisioning import (
    as_paused,
    choice_before,
    is_folded,
    life_before,
    with_adjustment,
    with_backend,
    with_findings,
    with_schedule,
    with_trouble,
)
from moorage.status.schedule import scheduled
from moorage.status.workload import Workload
from tests.builders import container, pod_spec

NIGHT = {"schedule": "0 20 * * *", "duration": "10h", "replicas": 0}
SIZING = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
UNIT = Workload(pod_spec(containers=[container("app", requests={"cpu": "1"})]), 10)
KARPENTER = Choice(
    backend=Backend.AUTOSCALER,
    controller="Karpenter",
    reason="it answers",
    standby_reason="Karpenter",
    standby_message="no standby",
)


def spec(**fields: Any) -> CapacityBufferSpec:
    return parse_capacity_buffer_spec({"scalableRef": {"kind": "Deployment", "name": "web"}, **fields})


def status(made_of: CapacityBufferSpec | None = None, adjustment: Adjustment | None = None) -> CapacityBufferStatus:
    given = made_of if made_of is not None else spec(sizing=SIZING)
    return buffer_status(given, UNIT, generation=3, adjustment=adjustment or Adjustment())


def said(found: CapacityBufferStatus, kind: str) -> tuple[str, str, str]:
    [condition] = [each for each in found.conditions if each.type == kind]
    assert condition.observed_generation == 3
    return condition.status, condition.reason, condition.message


def explanation(found: CapacityBufferStatus) -> str:
    assert found.sizing is not None
    return found.sizing.explanation


class TestBackend:
    def test_it_is_named_with_the_reason(self) -> None:
        found = with_backend(status(), KARPENTER, Allocation(active=60, standby=120))
        assert msgspec.to_builtins(found.backend) == {
            "name": "Autoscaler",
            "controller": "Karpenter",
            "reason": "it answers",
        }

    @pytest.mark.parametrize(
        ("fold", "active", "standby", "words"),
        [
            (False, 60, 120, "no standby; 120 standby units not made, which standbyFallback: Active would make active"),
            (True, 180, 0, "no standby; standbyFallback: Active makes 120 standby units active"),
        ],
    )
    def test_standby_units_that_cannot_be_are_told(self, fold: bool, active: int, standby: int, words: str) -> None:
        allocation = allocate(KARPENTER, active=60, standby=120, fold=fold)
        found = with_backend(status(), KARPENTER, allocation)
        assert said(found, "StandbyUnsupported") == ("True", "Karpenter", words)
        assert found.active is not None
        assert found.standby is not None
        assert (found.replicas, found.active.replicas, found.standby.replicas) == (180, active, standby)

    def test_while_a_controller_is_asked_it_is_unknown(self) -> None:
        asked = Choice(backend=Backend.AUTOSCALER, standby=Standby.ASKED, standby_reason="Asking", standby_message="m")
        found = with_backend(status(), asked, allocate(asked, active=60, standby=120, fold=True))
        assert said(found, "StandbyUnsupported") == ("Unknown", "Asking", "m")
        found = with_backend(status(), asked, allocate(asked, active=60, standby=120, fold=True, folded=True))
        words = "m; standbyFallback: Active makes 120 standby units active"
        assert said(found, "StandbyUnsupported") == ("Unknown", "Asking", words)

    def test_nothing_is_said_where_no_standby_is_wanted(self) -> None:
        found = with_backend(status(spec(replicas=3)), KARPENTER, Allocation(active=3, standby=0))
        assert said(found, "StandbyUnsupported")[:2] == ("False", "NoStandby")

    def test_units_beyond_the_limit_of_placeholders_stay_wanted(self) -> None:
        found = with_backend(status(spec(replicas=9)), KARPENTER, Allocation(active=5, standby=0, refused=4))
        assert found.active is not None
        assert found.active.replicas == 9


class TestARestart:
    """What is read from a status is what was chosen when it was written."""

    def restored(self, choice: Choice, *, fold: bool, **fields: Any) -> tuple[Choice | None, bool]:
        made = status(spec(sizing=SIZING, **fields))
        assert made.active is not None
        assert made.standby is not None
        allocation = allocate(choice, active=made.active.replicas, standby=made.standby.replicas, fold=fold)
        stored = msgspec.to_builtins(with_backend(made, choice, allocation))
        return choice_before(stored), is_folded(stored)

    @pytest.mark.parametrize("fold", [False, True])
    @pytest.mark.parametrize("reason", ["Karpenter", "StrategyIgnored", "NotSuspendable"])
    def test_why_there_are_no_standby_units(self, reason: str, fold: bool) -> None:
        choice = replace(KARPENTER, standby_reason=reason, standby_message="one; another")
        assert self.restored(choice, fold=fold) == (choice, fold)

    @pytest.mark.parametrize("fold", [False, True])
    def test_that_placeholders_run(self, fold: bool) -> None:
        choice = Choice(backend=Backend.PLACEHOLDER, standby_reason="PlaceholdersRun", standby_message="they run")
        assert self.restored(choice, fold=fold) == (choice, fold)

    @pytest.mark.parametrize("resume", ["30s", "90s"])
    def test_that_there_are_standby_units(self, resume: str) -> None:
        """They are given where a resume is no faster too, to those who ask for nothing else."""
        choice = replace(KARPENTER, standby=Standby.SUPPORTED, standby_reason="", standby_message="")
        fields = {"replicas": 5, "provisioningStrategy": "buffer.gke.io/standby-capacity"}
        sizing = SIZING | {"standbyResumeLatency": resume}
        made = status(spec(sizing=sizing, **fields))
        assert said(made, "StandbyUnsupported")[0] == ("False" if resume == "30s" else "True")
        stored = msgspec.to_builtins(with_backend(made, choice, Allocation(active=0, standby=5)))
        assert (choice_before(stored), is_folded(stored)) == (choice, False)

    def test_that_a_controller_is_asked(self) -> None:
        asked = replace(KARPENTER, standby=Standby.ASKED, standby_reason="Asking", standby_message="m")
        unknown = replace(asked, standby_reason="", standby_message="")
        assert self.restored(asked, fold=True) == (unknown, False)
        stored = msgspec.to_builtins(with_backend(status(), asked, Allocation(active=180, standby=0, folded=120)))
        assert (choice_before(stored), is_folded(stored)) == (unknown, True)

    def test_that_no_standby_units_are_wanted(self) -> None:
        stored = msgspec.to_builtins(with_backend(status(spec(replicas=3)), KARPENTER, Allocation(active=3, standby=0)))
        unknown = replace(KARPENTER, standby=Standby.ASKED, standby_reason="", standby_message="")
        assert (choice_before(stored), is_folded(stored)) == (unknown, False)

    def test_that_nothing_was_chosen(self) -> None:
        for stored in ({}, msgspec.to_builtins(status()), {"backend": {"name": "Another"}}):
            assert (choice_before(stored), is_folded(stored)) == (None, False)


class TestConditions:
    def test_warnings_are_all_in_one(self) -> None:
        found = with_findings(status(), [Finding("One", "first"), Finding("Two", "second")])
        assert said(found, "Warning") == ("True", "One", "first; second")
        assert with_findings(status(), []) == status()

    def test_what_cannot_be_written_makes_it_not_ready(self) -> None:
        found = with_trouble(status(), Finding("Forbidden", "no right"))
        assert said(found, "Ready") == ("False", "Forbidden", "no right")
        assert found.replicas == 180
        assert with_trouble(status(), None) == status()

    def test_a_pause_is_told(self) -> None:
        assert said(as_paused(status(), "moorage.dev/paused"), "Paused")[:2] == ("True", "Annotated")

    def test_there_is_one_of_each_type(self) -> None:
        found = with_trouble(with_trouble(status(), Finding("One", "first")), Finding("Two", "second"))
        assert said(found, "Ready")[1] == "Two"


class TestSchedules:
    def at(self, hour: int) -> datetime:
        return datetime(2026, 3, 4, hour, tzinfo=UTC)

    def explained(self, given: CapacityBufferSpec, hour: int) -> tuple[int | None, str]:
        in_force = scheduled(given, self.at(hour))
        found = with_schedule(status(in_force.spec), in_force, given)
        return found.replicas, explanation(found)

    def test_the_size_of_the_hour_is_in_the_place_of_the_others(self) -> None:
        given = spec(sizing=SIZING, replicas=500, percentage=50, schedules=[NIGHT])
        assert self.explained(given, 12)[0] == 500
        replicas, text = self.explained(given, 21)
        assert replicas == 0
        assert text == (
            "active 0 from spec.schedules[0].replicas; floor 0 decides; "
            "spec.schedules[0] (0 20 * * *) is in force, until 2026-03-05T06:00Z"
        )

    def test_a_rate_keeps_the_latencies(self) -> None:
        day = {"schedule": "0 8 * * *", "duration": "10h", "timeZone": "Etc/UTC", "scaleUpRate": "0.5"}
        replicas, text = self.explained(spec(sizing=SIZING, schedules=[NIGHT, day]), 9)
        assert replicas == 45
        assert text.endswith("; spec.schedules[1] (0 8 * * * Etc/UTC) is in force, until 2026-03-04T18:00Z")

    def test_a_percentage_refers_to_the_workload(self) -> None:
        assert self.explained(spec(replicas=1, schedules=[NIGHT | {"replicas": 2, "percentage": 35}]), 21)[0] == 4

    def test_limits_still_cap(self) -> None:
        assert self.explained(spec(limits={"cpu": 3}, schedules=[NIGHT | {"replicas": 9}]), 21)[0] == 3

    def test_one_that_never_comes_is_named(self) -> None:
        with pytest.raises(ValueError, match=r'^spec\.schedules\[1\]: "0 0 30 2 \*" is no time that ever comes'):
            scheduled(spec(schedules=[NIGHT, NIGHT | {"schedule": "0 0 30 2 *"}]), self.at(1))


class TestTime:
    def test_a_size_that_is_kept_is_explained(self) -> None:
        found = status(spec(replicas=10), Adjustment(held=Target(50, 50), held_until=1000))
        assert (found.replicas, found.active and found.active.replicas) == (50, 50)
        assert explanation(found).endswith(
            "floor 10 is exceeded; 50 with 50 active is kept for now by scaleDownStabilization, 10 is wanted"
        )

    def test_units_that_are_not_made_anew_are_counted(self) -> None:
        adjustment = Adjustment(withheld=7, refill_at=1767225600.0)
        found = with_adjustment(status(spec(replicas=10), adjustment), adjustment)
        assert found.replicas == 3
        assert explanation(found).endswith("7 units that were taken are not made anew (refill)")
        assert msgspec.to_builtins(found.refill) == {"withheld": 7, "nextTime": "2026-01-01T00:00:00Z"}

    def test_standby_units_refill_active_ones_before_any_is_missing(self) -> None:
        found = status(adjustment=Adjustment(withheld=70))
        assert found.active is not None
        assert (found.active.replicas, found.replicas) == (60, 110)

    def test_a_change_of_the_strategy_keeps_no_more_than_the_larger_size(self) -> None:
        standby = spec(sizing=SIZING, provisioningStrategy="buffer.gke.io/standby-capacity")
        found = status(standby, Adjustment(held=Target(180, 180), held_until=1000))
        assert found.active is not None
        assert (found.replicas, found.active.replicas) == (180, 180)

    def test_a_restart_remembers_what_the_status_says(self) -> None:
        adjustment = Adjustment(withheld=7, refill_at=1767225600.0)
        stored = msgspec.to_builtins(with_adjustment(status(spec(replicas=10), adjustment), adjustment))
        assert life_before(stored, now=5) == Life((Wanted(Target(3, 3), 5),), Withheld(7, 1767225600.0))
        assert life_before({}, now=5) == Life()
