"""The options of `moorage simulate` that say how pods come, and the demand that they ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import click

from moorage.buffer.arrivals import BatchSizes
from moorage.buffer.burst import Autoscaler
from moorage.buffer.generate import Segment, diurnal, mmpp, poisson, profile, ramp
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.buffer.recorded import NANOSECONDS
from moorage.cli.documents import read_documents
from moorage.cli.errors import BadInput
from moorage.cli.trace import read_trace
from moorage.quoting import quoted, shortened

_MOST_PODS = 50_000_000
_SOURCES = ("profile", "trace", "pods", "poisson", "mmpp", "diurnal", "hpa")

_OPTIONS = (
    click.option("--profile", help="Rates one after the other, rate:seconds: 5:600,30:180,0:360."),
    click.option("--trace", help="CSV of times, or of times and counts; - for standard input."),
    click.option("--pods", help="Pods as kubectl get pods -o json prints them: when they were made; - for stdin."),
    click.option("--poisson", help="Pods per second that come at random."),
    click.option("--mmpp", help="Rates that take turns at random, rate:mean seconds: 5:60,0.1:1800."),
    click.option("--diurnal", help="A rate that swings over the day, mean:peak, such as 0.5:2."),
    click.option("--hpa", help="The fastest scale-up of an autoscaler, from:to replicas, such as 20:200."),
    click.option("--random", "at_random", is_flag=True, help="Have the pods of --profile come at random."),
    click.option("--batch-mean", help="Pods of --poisson that come at the same instant, on average."),
    click.option(
        "--batch-sizes",
        type=click.Choice([each.value for each in BatchSizes]),
        default="Geometric",
        help="How batches vary. Default: Geometric.",
    ),
    click.option("--duration", help="How long pods come, for --poisson, --mmpp and --diurnal. Default: 1h."),
)


def demand_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Demand:
    """How pods come: the same for each seed, or different ones."""

    times: Callable[[int], list[int]]
    is_random: bool


def demand_of(options: Mapping[str, Any]) -> Demand:
    """Return the demand that the options ask for; raises BadInput that names the option."""
    given = [source for source in _SOURCES if options[source] is not None]
    if len(given) != 1:
        names = ", ".join(f"--{source}" for source in _SOURCES)
        raise BadInput(f"say how pods come with one of {names}" + (", not several" if given else ""))
    if options["duration"] is not None and given[0] not in ("poisson", "mmpp", "diurnal"):
        raise BadInput(f"--duration: --{given[0]} says itself how long pods come; leave it out")
    if options["batch_mean"] is not None and given[0] != "poisson":
        raise BadInput("--batch-mean goes with --poisson only")
    seconds = _value("--duration", options["duration"] or "1h", parse_duration)
    if not seconds:
        raise BadInput("--duration: must be more than zero, such as 1h")
    found: Demand = _READERS[given[0]](options[given[0]], seconds, options)
    return found


def _poisson(text: str, seconds: Fraction, options: Mapping[str, Any]) -> Demand:
    rate = _rate("--poisson", text)
    batch = _number("--batch-mean", options["batch_mean"] or "1")
    if batch < 1:
        raise BadInput("--batch-mean: must be at least 1: a batch has a pod")
    sizes = BatchSizes(options["batch_sizes"])
    if sizes is BatchSizes.FIXED and batch != int(batch):
        raise BadInput(f"--batch-mean: {batch:g} is not a whole number, which batches of a fixed size need")
    _bounded("--poisson", rate * float(seconds))
    return Demand(lambda seed: poisson(rate, float(seconds), seed, batch_mean=batch, batch_sizes=sizes), is_random=True)


def _profile(text: str, _: Fraction, options: Mapping[str, Any]) -> Demand:
    segments = _segments("--profile", text)
    _bounded("--profile", sum(rate * lasts for rate, lasts in segments))
    at_random = options["at_random"]
    return Demand(lambda seed: profile(segments, seed if at_random else None), is_random=at_random)


def _mmpp(text: str, seconds: Fraction, _: Mapping[str, Any]) -> Demand:
    states = _segments("--mmpp", text)
    if any(not lasts for _, lasts in states):
        raise BadInput("--mmpp: each rate must last more than 0 seconds on average")
    _bounded("--mmpp", max(rate for rate, _ in states) * float(seconds))
    return Demand(lambda seed: mmpp(states, float(seconds), seed), is_random=True)


def _diurnal(text: str, seconds: Fraction, _: Mapping[str, Any]) -> Demand:
    mean, peak = (_rate("--diurnal", each) for each in _two("--diurnal", text, "0.5:2"))
    if peak < mean:
        raise BadInput(f"--diurnal: the peak {peak:g} must not be below the mean {mean:g}; write mean:peak")
    _bounded("--diurnal", peak * float(seconds))
    return Demand(lambda seed: diurnal(mean, peak, float(seconds), seed), is_random=True)


def _hpa(text: str, _: Fraction, __: Mapping[str, Any]) -> Demand:
    first, last = (_number("--hpa", each) for each in _two("--hpa", text, "20:200"))
    if first != int(first) or last != int(last) or not 0 < first < last:
        raise BadInput(
            f"--hpa: {shortened(text)} is not a scale-up; write two whole numbers, from fewer to more, such as 20:200"
        )
    _bounded("--hpa", last)
    times = ramp(Autoscaler(int(first), int(last)))
    return Demand(lambda _: times, is_random=False)


def _trace(text: str, _: Fraction, __: Mapping[str, Any]) -> Demand:
    times = read_trace(text)
    return Demand(lambda _: times, is_random=False)


def _pods(text: str, _: Fraction, __: Mapping[str, Any]) -> Demand:
    made = [each.metadata.get("creationTimestamp") for each in read_documents([text]) if each.kind == "Pod"]
    if not all(made) or not made:
        raise BadInput(f"--pods: {text} holds no pods of a cluster; give what kubectl get pods -o json prints")
    moments = sorted(_moment(stamp) for stamp in made)
    times = [(moment - moments[0]) * NANOSECONDS for moment in moments]
    return Demand(lambda _: times, is_random=False)


def _moment(stamp: Any) -> int:
    try:
        return int((stamp if isinstance(stamp, datetime) else datetime.fromisoformat(str(stamp))).timestamp())
    except ValueError:
        raise BadInput(
            f"--pods: {quoted(stamp)} is not when a pod was made; it is written as 2026-01-31T10:15:00Z"
        ) from None


_READERS: dict[str, Callable[..., Demand]] = {
    "poisson": _poisson,
    "profile": _profile,
    "mmpp": _mmpp,
    "diurnal": _diurnal,
    "hpa": _hpa,
    "trace": _trace,
    "pods": _pods,
}


def _segments(option: str, text: str) -> list[Segment]:
    segments = []
    for part in text.split(","):
        rate, _, lasts = part.strip().partition(":")
        if not lasts:
            raise BadInput(f"{option}: {quoted(part)} is not rate:seconds; write such as 5:600,30:180,0:360")
        segments.append((_rate(option, rate, zero=True), _number(option, lasts.removesuffix("s"))))
    if not any(rate * lasts for rate, lasts in segments):
        raise BadInput(f"{option}: no pods come; give a rate above 0 for more than 0 seconds")
    return segments


def _two(option: str, text: str, example: str) -> list[str]:
    parts = text.split(":")
    if len(parts) != 2:
        raise BadInput(f"{option}: {quoted(text)} is not two numbers; write such as {example}")
    return parts


def _rate(option: str, text: str, *, zero: bool = False) -> float:
    rate = float(_value(option, text, parse_rate))
    if not rate and not zero:
        raise BadInput(f"{option}: no pods come at a rate of 0; give one above it, such as 2 or 120/m")
    return rate


def _number(option: str, text: str) -> float:
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BadInput(f"{option}: {quoted(text)} is not a number") from None
    if number < 0:
        raise BadInput(f"{option}: {shortened(text)} must not be negative")
    return float(number)


def _value(option: str, text: str, parse: Callable[[str], Fraction]) -> Fraction:
    try:
        return parse(text)
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _bounded(option: str, pods: float) -> None:
    if pods > _MOST_PODS:
        raise BadInput(f"{option}: {pods:.0f} pods are more than can be simulated ({_MOST_PODS}); take less time")
