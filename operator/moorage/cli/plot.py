"""Three charts of a simulation: waits, the stock of each tier over time, and what a better service level costs.

Needs matplotlib, which is an extra. The same result makes the same file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from moorage.buffer.cost import HOURS_PER_MONTH, Prices
from moorage.buffer.promise import STANDBY_PRICE, cheapest, price
from moorage.buffer.recorded import NANOSECONDS, Observed, pairs
from moorage.buffer.report import stock
from moorage.buffer.simulate import Path
from moorage.cli.errors import BadInput
from moorage.cli.simulated import moments

_ACTIVE, _STANDBY, _WAIT = "#0b6e99", "#e0a030", "#7a3b69"
_LEVELS = [Fraction(level, 1000) for level in (500, 600, 700, 800, 850, 900, 925, 950, 970, 980, 990, 995, 999)]
_PERCENTS = [step / 5 for step in range(501)]


def plot(
    filename: str,
    runs: Sequence[Path],
    answer: Mapping[str, Any],
    *,
    latencies: tuple[int, int],
    prices: Prices | None,
) -> None:
    """Write the charts; the format is that of the file's name. Raises BadInput when that cannot be."""
    with mpl.rc_context({"svg.hashsalt": "moorage", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        waits, tiers, costs = figure.subplots(1, 3)
        _waits(waits, runs)
        _tiers(tiers, runs[0])
        _costs(costs, runs[0], answer, latencies, prices)
        try:
            metadata = {"Date": None} if filename.endswith(".svg") else None
            figure.savefig(filename, metadata=metadata)
        except OSError as error:
            raise BadInput(f"--plot: {filename} cannot be written: {error.strerror}") from error
        except ValueError as error:
            raise BadInput(f"--plot: {filename}: {error}; name it .svg, .png or .pdf") from error


def _waits(axes: Axes, runs: Sequence[Path]) -> None:
    waits = sorted(wait & ~1 for path in runs for wait in path.waits)
    if waits:
        values = [waits[min(int(percent / 100 * len(waits)), len(waits) - 1)] / NANOSECONDS for percent in _PERCENTS]
        axes.step(_PERCENTS, values, color=_WAIT, where="post")
        axes.fill_between(_PERCENTS, values, step="post", color=_WAIT, alpha=0.2)
    axes.set(title="How long pods wait", xlabel="percentile of pods", ylabel="seconds", xlim=(0, 100))
    axes.set_ylim(0, 1.15 * max(axes.get_ylim()[1], 1e-9))


def _tiers(axes: Axes, path: Path) -> None:
    times = moments(path, 400)
    levels = stock(path, times)
    minutes = [(time - times[0]) / NANOSECONDS / 60 for time in times]
    axes.stackplot(
        minutes,
        [level[0] for level in levels],
        [level[1] for level in levels],
        labels=("active", "standby"),
        colors=(_ACTIVE, _STANDBY),
    )
    axes.set(title="Units that stand ready", xlabel="minutes", ylabel="units")
    axes.legend(loc="upper right", frameon=False)
    axes.set_ylim(0, 1.15 * max(axes.get_ylim()[1], 1e-9))


def _costs(
    axes: Axes, path: Path, answer: Mapping[str, Any], latencies: tuple[int, int], prices: Prices | None
) -> None:
    """Draw what the cheapest size costs for each level of pods without a wait, and where this one is."""
    observed = Observed(pairs(path.times, min(latencies), latencies[1]))
    ratio = prices.ratio if prices is not None else STANDBY_PRICE
    unit = float(prices.active) * HOURS_PER_MONTH if prices is not None else 1.0
    costs = [unit * float(price(cheapest(observed, level, standby_price=ratio), ratio)) for level in _LEVELS]
    axes.plot([100 * float(level) for level in _LEVELS], costs, color=_ACTIVE)
    own = unit * (answer["active"] + float(ratio) * answer["standby"])
    axes.plot(100 * answer["noWaitFraction"], own, "o", color=_WAIT)
    axes.annotate(
        "this size", (100 * answer["noWaitFraction"], own), xytext=(-8, 6), textcoords="offset points", ha="right"
    )
    what = "cost per month" if prices is not None else "cost, in active units"
    axes.set(title="What a better service level costs", xlabel="% of pods without a wait", ylabel=what)
    axes.set_ylim(0, 1.15 * max(axes.get_ylim()[1], 1e-9))
