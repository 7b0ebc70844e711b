"""The options of `moorage size` for a promise, a worst case or a record, and the sizing that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import click
import msgspec

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.sizing_values import MEASURED
from moorage.buffer.burst import Autoscaler
from moorage.buffer.measured import Measured, Recorded, SeenRate
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.buffer.recorded import NANOSECONDS, nanoseconds, pairs
from moorage.cli.errors import BadInput
from moorage.cli.trace import read_trace
from moorage.status.sizing import record_windows

_OPTIONS = (
    click.option("--percentile", help="Promise for so many of 100 pods, such as 99 or 99.9."),
    click.option("--max-wait", help="How long these pods wait at most, such as 1s. Default: 0s."),
    click.option("--batch-mean", help="Pods that come at the same instant on average."),
    click.option(
        "--batch-sizes", type=click.Choice(["Geometric", "Fixed"]), help="How batches vary. Default: Geometric."
    ),
    click.option("--variance-to-mean", help="Instead of --batch-mean: variance of counts, divided by their mean."),
    click.option("--seen", help="How long the rate was seen, such as 120s, when it is an estimate."),
    click.option("--burst", type=click.IntRange(min=0), help="Pods that come at once, before the rate."),
    click.option("--trace", help="CSV of times, or of times and counts: size for this demand; - for standard input."),
    click.option(
        "--method", type=click.Choice(["Mean", "Quantile", "Observed", "Burst"]), help="Default: from the rest."
    ),
    click.option("--max-replicas", type=click.IntRange(min=0), help="Replicas that the workload may have at most."),
    click.option("--strategy", type=click.Choice(["hybrid", "active", "standby"]), help="Tiers. Default: hybrid."),
    click.option("--price-active", help="Price of an active unit per hour."),
    click.option("--price-standby", help="Price of a standby unit per hour."),
    click.option("--penalty-resume", help="What a wait for a resume costs."),
    click.option("--penalty-cold", help="What a wait for a new node costs."),
    click.option("--spike-interval", help="How long from one spike to the next. Default: 24h."),
    click.option("--per", type=click.Choice(["Pod", "Day"]), help="Of what --percentile is: pods, or quiet days."),
    click.option("--misses", type=click.Choice(["Wait", "GoCold"]), help="What pods do that find no unit."),
    click.option("--creation-limit", type=click.IntRange(min=1), help="Units that can be made at the same time."),
)
_STRATEGIES = {"active": "buffer.x-k8s.io/active-capacity", "standby": "buffer.gke.io/standby-capacity"}


def promise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Asked:
    """A spec from options, and what is taken as measured."""

    spec: CapacityBufferSpec
    measured: Measured


def from_options(
    rate: str | None, resume: str | None, cold: str | None, options: Mapping[str, Any], replicas: int | None
) -> Asked:
    """Return what the options ask for; raises BadInput that names the option."""
    trace = options["trace"]
    if trace is not None and rate is None:
        rate = "0"  # the trace tells when pods come
    _all_given({"--rate": rate, "--resume": resume, "--cold": cold})
    _check("--rate", rate, parse_rate)
    for option, text in (("--resume", resume), ("--cold", cold), ("--max-wait", options["max_wait"])):
        _check(option, text, parse_duration)
    if parse_duration(cold or "") == 0:
        raise BadInput("--cold: must be more than zero: a cluster without a cold start needs no buffer")
    sizing = {"scaleUpRate": rate, "standbyResumeLatency": resume, "coldNodeLatency": cold, **_sizing(options)}
    if sizing.get("method") == "Quantile" and parse_rate(rate or "") == 0:
        raise BadInput("--rate: 0 pods per second need no buffer; give the rate of a burst, such as 2 or 120/m")
    raw: dict[str, Any] = {"sizing": sizing}
    if options["strategy"] in _STRATEGIES:
        raw["provisioningStrategy"] = _STRATEGIES[options["strategy"]]
    try:
        spec = parse_capacity_buffer_spec(raw)
    except SpecError as error:
        raise BadInput(_in_options(str(error))) from error
    return _measured(spec, options, replicas)


def _all_given(given: Mapping[str, str | None]) -> None:
    if missing := [option for option, value in given.items() if value is None]:
        raise BadInput(f"{', '.join(missing)} missing: give --rate, --resume and --cold, or a CapacityBuffer with -f")


def _check(option: str, text: str | None, parse: Callable[[str], Fraction]) -> None:
    try:
        if text is not None:
            parse(text)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _sizing(options: Mapping[str, Any]) -> dict[str, Any]:
    level = _given(percentile=options["percentile"], maxWait=options["max_wait"])
    if level and "percentile" not in level and options["burst"] is None and options["method"] != "Burst":
        raise BadInput("--max-wait: for how many pods? Give --percentile beside it, such as 99")
    if options["burst"] is not None and level:
        level.setdefault("percentile", 99)  # nothing waits longer in the worst case, whatever the percentile
    arrivals = _given(
        batchMean=options["batch_mean"],
        batchSizes=options["batch_sizes"],
        varianceToMean=options["variance_to_mean"],
    )
    cost = _given(
        activePerHour=options["price_active"],
        standbyPerHour=options["price_standby"],
        penaltyPerResume=options["penalty_resume"],
        penaltyPerColdStart=options["penalty_cold"],
        spikeInterval=options["spike_interval"],
    )
    return _given(
        method=options["method"] or _method(options),
        serviceLevel=level or None,
        arrivals=arrivals or None,
        burst=options["burst"],
        cost=cost or None,
        creationLimit=options["creation_limit"],
    )


def _method(options: Mapping[str, Any]) -> str | None:
    if options["trace"] is not None:
        return "Observed"
    if options["burst"] is not None:
        return "Burst"
    return "Quantile" if options["percentile"] is not None or options["penalty_cold"] is not None else None


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _measured(spec: CapacityBufferSpec, options: Mapping[str, Any], replicas: int | None) -> Asked:
    measured = Measured()
    if options["max_replicas"] is not None:
        measured = replace(measured, autoscaler=Autoscaler(replicas or 0, options["max_replicas"]))
    assert spec.sizing is not None
    if options["seen"] is not None:
        _check("--seen", options["seen"], parse_duration)
        rate, seconds = parse_rate(spec.sizing.scale_up_rate), parse_duration(options["seen"])
        if not seconds:
            raise BadInput("--seen: must be more than zero; leave it out when the rate is known")
        measured = replace(measured, rate=SeenRate(rate, round(rate * seconds)))
        spec = _replace_sizing(spec, scale_up_rate=MEASURED)
    if options["trace"] is not None:
        times, windows = read_trace(options["trace"]), record_windows(spec, measured)
        assert windows is not None
        near, far = windows
        days = times[-1] / NANOSECONDS / 86_400
        recorded = Recorded(pairs(times, nanoseconds(near), nanoseconds(far)), near, far, days)
        measured = replace(measured, recorded=recorded)
    return Asked(spec, measured)


def _replace_sizing(spec: CapacityBufferSpec, **fields: Any) -> CapacityBufferSpec:
    """Return a spec with other fields of `sizing`."""
    assert spec.sizing is not None
    return msgspec.structs.replace(spec, sizing=msgspec.structs.replace(spec.sizing, **fields))


_FIELDS = {
    "spec.sizing.serviceLevel.percentile": "--percentile",
    "spec.sizing.serviceLevel.maxWait": "--max-wait",
    "spec.sizing.arrivals.batchMean": "--batch-mean",
    "spec.sizing.arrivals.varianceToMean": "--variance-to-mean",
    "spec.sizing.cost.activePerHour": "--price-active",
    "spec.sizing.cost.standbyPerHour": "--price-standby",
    "spec.sizing.cost.penaltyPerResume": "--penalty-resume",
    "spec.sizing.cost.penaltyPerColdStart": "--penalty-cold",
    "spec.sizing.cost.spikeInterval": "--spike-interval",
    "spec.sizing.scaleUpRate": "--rate",
    "spec.sizing.standbyResumeLatency": "--resume",
    "spec.sizing.coldNodeLatency": "--cold",
}


def _in_options(text: str) -> str:
    """Name options where a complaint names fields."""
    for field, option in _FIELDS.items():
        text = text.replace(field, option)
    return text
