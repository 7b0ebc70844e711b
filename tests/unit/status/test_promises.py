"""Status says whether a promise is kept, what is left of it, and where measured values come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from moorage.api import parse_capacity_buffer_spec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.buffer.burst import Autoscaler
from moorage.buffer.measured import NOTHING_MEASURED, Measured, Quantiles, Recorded, SeenRate
from moorage.buffer.recorded import Pairs
from moorage.status.capacitybuffer import buffer_status
from moorage.status.measured import with_measured
from moorage.status.workload import Workload
from tests.builders import container, pod_spec

QUANTILE = {"method": "Quantile", "serviceLevel": {"percentile": 99}}
MEASURED = {"scaleUpRate": "Measured", "standbyResumeLatency": "Measured", "coldNodeLatency": "Measured"}
ENOUGH = Quantiles(40, 80.0, 88.0, 90.04, 95.0)


def status(measured: Measured = NOTHING_MEASURED, *, strategy: str = "", **sizing: Any) -> CapacityBufferStatus:
    given = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
    limits = sizing.pop("limits", None)
    spec: dict[str, Any] = {"sizing": given | sizing}
    if limits is not None:
        spec["limits"] = limits
    if strategy:
        spec["provisioningStrategy"] = strategy
    template = pod_spec(containers=[container("app", requests={"cpu": "1"})])
    found = Workload(template, 20, measured=measured)
    return buffer_status(parse_capacity_buffer_spec(spec), found, generation=1)


def kept(found: CapacityBufferStatus) -> tuple[str, str, str]:
    return next((each.status, each.reason, each.message) for each in found.conditions if each.type == "PromiseKept")


def sizing_of(found: CapacityBufferStatus) -> Any:
    assert found.sizing is not None
    return found.sizing


def test_a_promise_is_kept_and_its_worth_and_price_are_told() -> None:
    found = status(**QUANTILE, cost={"activePerHour": "0.05", "standbyPerHour": "0.0025"})
    assert (found.replicas, found.active.replicas if found.active else None) == (219, 80)
    assert kept(found)[:2] == ("True", "Kept")
    assert sizing_of(found).method == "Quantile"
    assert sizing_of(found).attained.percentile == "99.01"
    assert sizing_of(found).cost_per_month == f"{730 * (80 * 0.05 + 139 * 0.0025):.2f}"


def test_the_mean_promises_nothing_and_its_worth_is_told_all_the_same() -> None:
    found = status()
    assert "PromiseKept" not in {each.type for each in found.conditions}
    assert (sizing_of(found).attained.percentile, sizing_of(found).attained.max_wait) == ("33.45", "0s")


@pytest.mark.parametrize(
    ("more", "measured", "units"),
    [
        ({"limits": {"cpu": "200"}}, NOTHING_MEASURED, 200),
        ({}, Measured(autoscaler=Autoscaler(0, 220)), 200),
    ],
    ids=["limits", "maxReplicas"],
)
def test_a_cap_cuts_the_promise_and_the_level_that_is_left_is_told(
    more: dict[str, Any], measured: Measured, units: int
) -> None:
    found = status(measured, **QUANTILE, **more)
    assert found.replicas == units
    condition, reason, message = kept(found)
    assert (condition, reason) == ("False", "CutShort")
    assert message.startswith(f"{sizing_of(found).attained.percentile}% of pods wait at most 0s with 200 units; 219 ")


def test_standby_alone_cannot_promise_less_than_a_resume() -> None:
    found = status(**QUANTILE, strategy="buffer.gke.io/standby-capacity")
    assert found.replicas == 147
    assert kept(found)[1] == "CutShort"
    assert "standby alone cannot promise less than a resume" in kept(found)[2]
    patient = {"method": "Quantile", "serviceLevel": {"percentile": 99, "maxWait": "30s"}}
    assert kept(status(**patient, strategy="buffer.gke.io/standby-capacity"))[1] == "Kept"


def test_a_resume_that_is_not_quicker_makes_all_units_active_and_none_of_standby_alone() -> None:
    found = status(**QUANTILE, standbyResumeLatency="90s", coldNodeLatency="60s")
    assert found.standby is not None
    assert found.standby.replicas == 0
    assert kept(found)[1] == "Kept"
    alone = status(standbyResumeLatency="90s", coldNodeLatency="60s", strategy="buffer.gke.io/standby-capacity")
    assert alone.replicas == 0
    unsupported = next(each for each in alone.conditions if each.type == "StandbyUnsupported")
    assert (unsupported.status, unsupported.reason) == ("True", "ResumeNotFaster")


def test_a_buffer_that_never_fills_again_is_told_whatever_the_method() -> None:
    assert kept(status(creationLimit=170))[1] == "NeverRefills"
    assert kept(status(**QUANTILE, creationLimit=200))[1] == "Kept"


def test_until_there_are_samples_fallbacks_hold_and_say_so() -> None:
    few = Measured(resume=Quantiles(3), cold=replace(ENOUGH, samples=19, waiting=2))
    found = sizing_of(status(few, **MEASURED, fallback={"scaleUpRate": 2, "coldNodeLatency": "100s"}))
    assert (found.scale_up_rate, found.standby_resume_latency, found.cold_node_latency) == ("2", "35s", "100s")
    assert found.sources == {
        "scaleUpRate": "fallback: too few pods came yet",
        "standbyResumeLatency": "fallback: 3 of 20 samples",
        "coldNodeLatency": "fallback: 19 of 20 samples, of which 2 still wait",
    }


def test_then_the_upper_quantile_is_in_force() -> None:
    measured = Measured(rate=SeenRate(Fraction(3, 2), 240), resume=Quantiles(25, 20.0, 28.0, 30.0, 31.0), cold=ENOUGH)
    found = status(measured, **MEASURED)
    assert found.replicas == 135
    sizing = sizing_of(found)
    assert (sizing.scale_up_rate, sizing.standby_resume_latency, sizing.cold_node_latency) == ("1.5", "30s", "90s")
    assert sizing.sources["coldNodeLatency"] == "measured: p95 of 40 samples"
    shown = with_measured(found, measured, "record", method="Observed")
    assert sizing_of(shown).measured.cold.p95 == "90.04s"
    assert sizing_of(shown).measured.rate == "1.5"


def test_a_measured_rate_that_is_not_known_yet_asks_for_nothing() -> None:
    found = status(**MEASURED)
    assert found.replicas == 0
    assert kept(found)[:2] == ("Unknown", "NotMeasured")


def test_a_measured_rate_is_taken_for_no_better_known_than_it_is() -> None:
    seen = Measured(rate=SeenRate(Fraction(2), 240))
    found = status(seen, **QUANTILE, scaleUpRate="Measured")
    assert (found.active.replicas if found.active else 0, found.replicas) == (82, 242)


def test_recorded_demand_is_covered_and_a_short_record_is_told() -> None:
    pairs = Pairs(Counter({(near, 2 * near): 1 for near in range(1, 101)}))
    short = Measured(recorded=Recorded(pairs, Fraction(30), Fraction(90), 0.5))
    found = status(short, method="Observed")
    assert (found.active.replicas if found.active else 0, found.replicas) == (100, 200)
    assert kept(found)[:2] == ("Unknown", "TooFewDays")
    assert "the record is 12 hours long" in kept(found)[2]
    long = replace(short, recorded=Recorded(pairs, Fraction(30), Fraction(90), 20))
    level = status(long, method="Observed", serviceLevel={"percentile": 90})
    assert (level.active.replicas if level.active else 0, level.replicas) == (90, 180)
    assert kept(level)[1] == "Kept"
    early = status(short, method="Observed", serviceLevel={"percentile": 95})
    assert kept(early)[2].endswith("the peak that 95% of days keep below shows in 59 days")


def test_a_burst_needs_a_size_or_an_autoscaler() -> None:
    assert status(method="Burst", burst=50, scaleUpRate=1).replicas == 140
    unsized = status(method="Burst")
    assert unsized.replicas is None
    assert unsized.conditions[0].reason == "NoBurst"
    ramp = status(Measured(autoscaler=Autoscaler(20, 200)), method="Burst")
    assert (ramp.active.replicas if ramp.active else 0, ramp.replicas) == (120, 180)
