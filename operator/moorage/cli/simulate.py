"""`moorage simulate`: try a size before paying for it, or have the cheapest found."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, repeat
from typing import Any

import click

from moorage.buffer.cost import Prices
from moorage.buffer.generate import latencies
from moorage.buffer.nodes import StandbyLife, simulate_nodes, suspend_seconds
from moorage.buffer.optimize import Target, optimize
from moorage.buffer.promise import STANDBY_PRICE, Counts, Promise
from moorage.buffer.rate import parse_duration
from moorage.buffer.recorded import nanoseconds
from moorage.buffer.report import report
from moorage.buffer.simulate import Path, Setup, simulate
from moorage.cli.demand import demand_of, demand_options
from moorage.cli.errors import BadInput
from moorage.cli.output import emit, output_option
from moorage.cli.simulated import answer_of, table_of, write_csv
from moorage.quoting import quoted

_TARGET = re.compile(r"p(?P<percentile>[0-9]+(?:\.[0-9]+)?)=(?P<wait>.+)")
_LONG_RUNS = 4
"""Runs from which a progress bar is shown."""


@click.command("simulate")
@demand_options
@click.option("--active", type=click.IntRange(min=0), help="Active units.")
@click.option("--standby", type=click.IntRange(min=0), help="Standby units.")
@click.option("--resume", required=True, help="How long a standby node takes to resume, such as 30s.")
@click.option("--cold", required=True, help="How long a new node takes to come, such as 90s.")
@click.option("--optimize", "targets", multiple=True, help="Find the cheapest size instead: p99=1s; repeat for more.")
@click.option("--runs", default=1, show_default=True, type=click.IntRange(1, 10_000), help="Runs, each from full.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of what is random.")
@click.option("--resume-cv", default=0.0, type=click.FloatRange(0, 10), help="Variation of resumes: deviation / mean.")
@click.option("--cold-cv", default=0.0, type=click.FloatRange(0, 10), help="The same of cold starts.")
@click.option("--common", default=0.0, type=click.FloatRange(0, 1), help="Part of the variation that is slow together.")
@click.option("--creation-limit", type=click.IntRange(min=1), help="Units that can be made at the same time.")
@click.option("--units-per-node", default=1, show_default=True, type=click.IntRange(min=1), help="Nodes are whole.")
@click.option("--misses", default="Wait", type=click.Choice(["Wait", "GoCold"]), help="What pods do without a unit.")
@click.option("--init", default="0s", help="How long a new standby node runs before it is suspended.")
@click.option("--suspend", default="0s", help="How long suspending takes.")
@click.option("--suspend-per-gib", default="0s", help="What each GiB of a node's memory adds to that.")
@click.option("--memory", default=0.0, type=click.FloatRange(min=0), help="Memory of a node in GiB.")
@click.option("--refresh", default="0s", help="How often standby nodes are made anew, such as 24h.")
@click.option("--price-active", type=click.FloatRange(min=0), help="Price of an active unit per hour.")
@click.option("--price-standby", type=click.FloatRange(min=0), help="Price of a standby unit per hour.")
@click.option("--addresses", default=0, type=click.IntRange(min=0), help="Addresses that a suspended unit keeps.")
@click.option("--disk", default=0.0, type=click.FloatRange(min=0), help="Disk in GiB that a suspended unit keeps.")
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False), help="Write each pod's time, wait and tier.")
@click.option("--plot", "plot_file", type=click.Path(dir_okay=False), help="Write three charts: out.svg, .png or .pdf.")
@output_option
def simulate_command(**options: Any) -> int:
    """Say how long pods would wait with a buffer.

    \b
    moorage simulate --poisson 2 --active 80 --standby 139 --resume 30s --cold 90s
    moorage simulate --profile 5:600,30:180,0:360 --active 60 --standby 120 --resume 30s --cold 90s
    moorage simulate --trace times.csv --optimize p99=1s --resume 30s --cold 90s

    All units are there at the start, standby nodes suspended. Exit code 0 with a result, 2 for bad input.
    """
    question = _Question.of(options)
    if plot_file := options["plot_file"]:
        _plotting()
    counts, runs = question.answer()
    answer = answer_of(report(*runs), counts, options, prices=question.prices)
    if options["csv_file"]:
        write_csv(options["csv_file"], runs)
    if plot_file:
        _plotting()(plot_file, runs, answer, latencies=(question.resume, question.cold), prices=question.prices)
    emit(answer, options["output"], lambda: table_of(answer, runs[0]))
    return 0


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, read from the options; durations in nanoseconds."""

    options: dict[str, Any]
    times: Callable[[int], list[int]]
    runs: int
    resume: int
    cold: int
    life: StandbyLife
    targets: tuple[Target, ...]
    prices: Prices | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> _Question:
        """Read the options; raises BadInput."""
        demand = demand_of(options)
        targets = tuple(_target(text) for text in options["targets"])
        if not targets and (options["active"] is None or options["standby"] is None):
            raise BadInput("give --active and --standby, or --optimize p99=1s to have them found")
        if targets and (options["active"] is not None or options["standby"] is not None):
            raise BadInput("--optimize finds --active and --standby; leave these out")
        is_random = demand.is_random or options["resume_cv"] or options["cold_cv"]
        if options["runs"] > 1 and not is_random:
            raise BadInput("--runs: nothing is random here, so all runs would be the same; leave it out")
        suspend = suspend_seconds(
            _seconds("--suspend", options), _seconds("--suspend-per-gib", options), options["memory"]
        )
        life = StandbyLife(
            nanoseconds(_seconds("--init", options)),
            nanoseconds(suspend),
            nanoseconds(_seconds("--refresh", options)),
        )
        alone = targets or options["units_per_node"] > 1 or options["creation_limit"] or life != StandbyLife()
        if options["misses"] == "GoCold" and alone:
            raise BadInput(
                "--misses GoCold: leave out --optimize, --units-per-node, --creation-limit, --init, --suspend and "
                "--refresh; a size for it comes from moorage size --misses GoCold"
            )
        cold = nanoseconds(_seconds("--cold", options))
        if not cold:
            raise BadInput("--cold: must be more than zero: a cluster without a cold start needs no buffer")
        resume = nanoseconds(_seconds("--resume", options))
        return cls(options, demand.times, options["runs"], resume, cold, life, targets, _prices(options))

    def answer(self) -> tuple[Counts, list[Path]]:
        """Simulate the size that is given, or the one that is found."""
        seed = self.options["seed"]
        if self.targets:
            times = self.times(seed)
            price = self.prices.ratio if self.prices is not None else STANDBY_PRICE
            with _progress(24, "looking for the cheapest size") as step:
                counts = optimize(
                    times,
                    self.targets,
                    lambda counts: self._path(counts, times, seed),
                    latencies=(min(self.resume, self.cold), self.cold),
                    standby_price=price,
                    progress=step,
                )
        else:
            counts = Counts(self.options["active"], self.options["active"] + self.options["standby"])
        runs = []
        with _progress(self.runs, "simulating") as step:
            for each in range(seed, seed + self.runs):
                runs.append(self._path(counts, self.times(each), each))
                step()
        return counts, runs

    def _path(self, counts: Counts, times: list[int], seed: int) -> Path:
        options = self.options
        go_cold = options["misses"] == "GoCold"
        setup = Setup(counts.active, counts.total, options["units_per_node"], options["creation_limit"], go_cold)
        common = options["common"]
        resume: Any = self.resume
        cold: Any = self.cold
        if options["resume_cv"] and self.resume:
            resume = latencies(self.resume / 1e9, options["resume_cv"], times, seed, common=common)
        if options["cold_cv"]:
            cold = latencies(self.cold / 1e9, options["cold_cv"], times, seed, stream=1, common=common)
        if self.life == StandbyLife():
            return simulate(times, setup, resume, cold)
        one = repeat(resume) if isinstance(resume, int) else cycle(resume)
        other = repeat(cold) if isinstance(cold, int) else cycle(cold)
        return simulate_nodes(times, setup, one, other, self.life)


def _target(text: str) -> Target:
    match = _TARGET.fullmatch(text)
    if match is None:
        raise BadInput(f"--optimize: {quoted(text)} is not a target; write a percentile and a wait, such as p99=1s")
    try:
        promise = Promise(Fraction(match["percentile"]) / 100, parse_duration(match["wait"]))
    except ValueError as error:
        raise BadInput(f"--optimize: {error}") from error
    return Target(promise.level, promise.max_wait)


def _seconds(option: str, options: dict[str, Any]) -> float:
    try:
        return float(parse_duration(options[option.removeprefix("--").replace("-", "_")]))
    except ValueError as error:
        raise BadInput(f"{option}: {error}") from error


def _prices(options: dict[str, Any]) -> Prices | None:
    active, standby = options["price_active"], options["price_standby"]
    if (active is None) != (standby is None):
        raise BadInput("give both of --price-active and --price-standby, or neither")
    return Prices(Fraction(str(active)), Fraction(str(standby))) if active is not None else None


@contextmanager
def _progress(runs: int, label: str) -> Iterator[Callable[[], object]]:
    """Show a bar on a terminal when it takes long."""
    if runs < _LONG_RUNS or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=runs, label=label, file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _plotting() -> Callable[..., None]:
    try:
        from moorage.cli.plot import plot  # noqa: PLC0415 - matplotlib is an extra
    except ModuleNotFoundError as error:
        raise BadInput(f"--plot needs {error.name}, which is not installed: pip install 'moorage[plot]'") from error
    return plot
