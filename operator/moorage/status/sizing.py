"""What a buffer is sized from: the values in force, where each comes from, and what is to be said about them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.sizing import CapacityBufferSizing
from moorage.api.sizing_methods import ArrivalsSpec, CostSpec, SizingFallback
from moorage.api.sizing_values import MEASURED
from moorage.buffer.arrivals import Arrivals, BatchSizes, batch_mean_of
from moorage.buffer.burst import Burst, Ramp
from moorage.buffer.cost import Penalties, Prices
from moorage.buffer.measured import ENOUGH_DAYS, ENOUGH_SAMPLES, Measured, Quantiles, days_needed
from moorage.buffer.method import Method, Quantile, Record, Worst
from moorage.buffer.promise import Latencies, Promise, percent_text
from moorage.buffer.rate import parse_duration, parse_rate, span_text
from moorage.buffer.scale_up import ScaleUp, Strategy, tiers_of
from moorage.buffer.size import SizingError
from moorage.quoting import quoted

_ANY_PROMISE = Promise(Fraction(1, 2))
"""Where cost decides and nothing is promised."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The values in force. `sources` says by field where what is Measured comes from; `waits_for` what is not known."""

    scale_up: ScaleUp
    promise: Promise | None = None
    prices: Prices | None = None
    sources: dict[str, str] = field(default_factory=dict)
    waits_for: str = ""
    few_days: str = ""


def inputs(spec: CapacityBufferSpec, measured: Measured) -> Inputs | None:
    """Return what `sizing` asks for, or None without it.

    Raises ValueError when something does not parse (the CRD refuses such a spec) and SizingError when the method has
    nothing to go by.
    """
    sizing = spec.sizing
    if sizing is None:
        return None
    sources: dict[str, str] = {}
    rate = _rate(sizing, measured, sources)
    resume, cold = _latencies(sizing, measured, sources)
    promise, prices = _promise(sizing), _prices(sizing.cost)
    found = Inputs(ScaleUp(rate or Fraction(0), resume, cold), promise, prices, sources)
    if rate is None:
        found = replace(found, waits_for="no burst of pods was seen yet that tells the rate")
    return _with_method(found, sizing, measured)


def _with_method(found: Inputs, sizing: CapacityBufferSizing, measured: Measured) -> Inputs:
    rate, promise = found.scale_up.rate, found.promise
    method: Method | None = None
    recorded = measured.recorded
    match sizing.method:
        case "Quantile":
            level = promise or _ANY_PROMISE
            method = Quantile(_arrivals(rate, sizing, measured), level, found.prices, _penalties(sizing.cost))
        case "Burst":
            method = _worst(rate, sizing, measured)
        case "Observed" if recorded is None:
            return replace(found, waits_for="no demand is recorded yet for these latencies")
        case "Observed" if recorded is not None:
            span = span_text(recorded.days * 86_400)
            method = Record(recorded.pairs, promise, _wait(sizing), prices=found.prices, source=span)
            if recorded.days < ENOUGH_DAYS:
                found = replace(found, few_days=_few_days(span, promise))
    return replace(found, scale_up=replace(found.scale_up, method=method))


def _few_days(span: str, promise: Promise | None) -> str:
    text = f"the record is {span} long, and demand has the rhythm of a week"
    if promise is None:
        return text
    days = days_needed(promise.level)
    return f"{text}; the peak that {percent_text(promise.level)}% of days keep below shows in {days} days"


def record_windows(spec: CapacityBufferSpec, measured: Measured) -> tuple[Fraction, Fraction] | None:
    """Return the windows in seconds whose counts decide, near and far; None without `sizing`.

    Raises as `inputs` does.
    """
    if spec.sizing is None:
        return None
    sources: dict[str, str] = {}
    latencies = Latencies(*_latencies(spec.sizing, measured, sources))
    return tiers_of(strategy_of(spec)).windows(latencies, _wait(spec.sizing))


def _latencies(sizing: CapacityBufferSizing, measured: Measured, sources: dict[str, str]) -> tuple[Fraction, Fraction]:
    fallback = sizing.fallback or SizingFallback()
    given, usual = sizing.standby_resume_latency, fallback.standby_resume_latency
    resume = _latency("standbyResumeLatency", given, usual, measured.resume, sources)
    given, usual = sizing.cold_node_latency, fallback.cold_node_latency
    return resume, _latency("coldNodeLatency", given, usual, measured.cold, sources)


def _rate(sizing: CapacityBufferSizing, measured: Measured, sources: dict[str, str]) -> Fraction | None:
    if sizing.scale_up_rate != MEASURED:
        return parse_rate(sizing.scale_up_rate)
    if measured.rate is not None:
        sources["scaleUpRate"] = f"measured: {measured.rate.pods} pods"
        return measured.rate.per_second
    fallback = sizing.fallback.scale_up_rate if sizing.fallback is not None else None
    sources["scaleUpRate"] = "fallback: too few pods came yet" if fallback is not None else "not known yet"
    return parse_rate(fallback) if fallback is not None else None


def _latency(name: str, given: str, fallback: str, measured: Quantiles | None, sources: dict[str, str]) -> Fraction:
    if given != MEASURED:
        return parse_duration(given)
    samples = measured.samples if measured is not None else 0
    if measured is None or samples < ENOUGH_SAMPLES or measured.p95 is None:
        still = f", of which {measured.waiting} still wait" if measured is not None and measured.waiting else ""
        sources[name] = f"fallback: {samples} of {ENOUGH_SAMPLES} samples{still}"
        return parse_duration(fallback)
    sources[name] = f"measured: p95 of {samples} samples"
    return Fraction(round(measured.p95 * 10), 10)


def _promise(sizing: CapacityBufferSizing) -> Promise | None:
    if sizing.service_level is None:
        return None
    return Promise(Fraction(str(sizing.service_level.percentile)) / 100, parse_duration(sizing.service_level.max_wait))


def _arrivals(rate: Fraction, sizing: CapacityBufferSizing, measured: Measured) -> Arrivals:
    given = sizing.arrivals or ArrivalsSpec()
    if given.batch_mean is not None:
        return Arrivals(rate, Fraction(str(given.batch_mean)), BatchSizes(given.batch_sizes))
    if given.variance_to_mean is not None:
        return Arrivals(rate, batch_mean_of(Fraction(str(given.variance_to_mean))))
    if sizing.scale_up_rate == MEASURED and measured.rate is not None:
        return Arrivals(rate, seen_seconds=measured.rate.seconds)
    return Arrivals(rate)


def _worst(rate: Fraction, sizing: CapacityBufferSizing, measured: Measured) -> Worst:
    wait = _wait(sizing)
    if sizing.burst is not None:
        return Worst(Burst(sizing.burst, rate), wait)
    if measured.autoscaler is None:
        raise SizingError(
            "NoBurst",
            "the method Burst needs spec.sizing.burst, or a HorizontalPodAutoscaler of the workload (spec.scalableRef)",
        )
    return Worst(Ramp(measured.autoscaler), wait)


def _wait(sizing: CapacityBufferSizing) -> Fraction:
    return parse_duration(sizing.service_level.max_wait) if sizing.service_level is not None else Fraction(0)


def _prices(cost: CostSpec | None) -> Prices | None:
    if cost is None:
        return None
    return Prices(Fraction(str(cost.active_per_hour)), Fraction(str(cost.standby_per_hour)))


def _penalties(cost: CostSpec | None) -> Penalties | None:
    if cost is None or cost.penalty_per_resume is None or cost.penalty_per_cold_start is None:
        return None
    return Penalties(
        Fraction(str(cost.penalty_per_resume)),
        Fraction(str(cost.penalty_per_cold_start)),
        parse_duration(cost.spike_interval) / 3600,
    )


def strategy_of(spec: CapacityBufferSpec) -> Strategy | None:
    """Return the tier that the spec puts all units into, if any.

    Raises SizingError for a strategy that is not known.
    """
    if not spec.provisioning_strategy:
        return None
    try:
        return Strategy(spec.provisioning_strategy)
    except ValueError:
        raise SizingError(
            "UnsupportedStrategy",
            f"spec.provisioningStrategy {quoted(spec.provisioning_strategy)} is not known; use {Strategy.ACTIVE}, "
            f"{Strategy.STANDBY}, or leave it out",
        ) from None
