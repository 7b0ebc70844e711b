"""How the result of a simulation is printed and written."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

from moorage.buffer.cost import Prices
from moorage.buffer.promise import Counts
from moorage.buffer.rate import span_text
from moorage.buffer.recorded import NANOSECONDS
from moorage.buffer.report import Report, stock
from moorage.buffer.simulate import Path, Setup
from moorage.cli.errors import BadInput
from moorage.cli.output import columns

_BLOCKS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60


def answer_of(found: Report, counts: Counts, options: Mapping[str, Any], *, prices: Prices | None) -> dict[str, Any]:
    """Return the result as it is printed in JSON; waits in seconds, intervals of 95%."""
    per_node = options["units_per_node"]
    rounded = Setup(counts.active, counts.total, per_node).in_nodes()
    answer: dict[str, Any] = {
        "pods": found.pods,
        "seconds": round(found.seconds, 6),
        "active": rounded.active,
        "standby": rounded.standby,
        "noWaitFraction": round(found.no_wait, 6),
        "noWaitInterval": _rounded(found.no_wait_interval),
        "waitSeconds": {name: round(wait, 6) for name, wait in found.waits.items()},
        "waitIntervals": {name: _rounded(interval) for name, interval in found.wait_intervals.items()},
        "tiers": found.tiers,
        "nodeHours": {tier: round(hours / per_node, 4) for tier, hours in found.unit_hours.items()},
        "runs": options["runs"],
        "seed": options["seed"],
    }
    if per_node > 1:
        answer["nodes"] = {"active": rounded.active // per_node, "standby": rounded.standby // per_node}
    if options["addresses"] or options["disk"]:
        answer["held"] = {
            "addresses": rounded.standby * options["addresses"],
            "diskGiB": rounded.standby * options["disk"],
        }
    if prices is not None:
        spent = float(prices.active) * found.unit_hours["active"] + float(prices.standby) * found.unit_hours["standby"]
        full = prices.per_month(Counts(rounded.active, rounded.total))
        answer["cost"] = {"run": round(spent, 4), "perMonth": round(float(full), 2)}
    return answer


def _rounded(interval: tuple[float, float] | None) -> list[float] | None:
    return [round(end, 6) for end in interval] if interval is not None else None


def table_of(answer: Mapping[str, Any], path: Path) -> str:
    """Return the result for people."""
    rows = [
        ("pods", f"{answer['pods']} in {span_text(answer['seconds'])}" + _in_runs(answer["runs"])),
        ("buffer", f"{answer['active']} active and {answer['standby']} standby" + _nodes(answer)),
        ("no wait", f"{_percent(answer['noWaitFraction'])}{_interval(answer['noWaitInterval'], _percent)}"),
    ]
    for name, wait in answer["waitSeconds"].items():
        rows.append((f"wait {name}", f"{_wait(wait)}{_interval(answer['waitIntervals'].get(name), _wait)}"))
    served = answer["tiers"]
    rows.append(
        ("served", f"{served['active']} at once, {served['standby']} by a resume, {served['cold']} by new nodes")
    )
    ready = answer["nodeHours"]
    rows.append(("node hours", f"{ready['active']:.1f} active and {ready['standby']:.1f} standby, ready for nobody"))
    if "held" in answer:
        rows.append(("held", f"{answer['held']['addresses']} addresses, {answer['held']['diskGiB']:g} GiB of disk"))
    if "cost" in answer:
        rows.append(("cost", f"{answer['cost']['run']:.2f} in this time, {answer['cost']['perMonth']:.2f} a month"))
    rows.append(("seed", str(answer["seed"])))
    return f"{columns(rows)}\n\n{_charts(path)}"


def _in_runs(runs: int) -> str:
    return f", {runs} runs" if runs > 1 else ""


def _nodes(answer: Mapping[str, Any]) -> str:
    if "nodes" not in answer:
        return ""
    return f" ({answer['nodes']['active']} and {answer['nodes']['standby']} nodes)"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}%"


def _wait(seconds: float) -> str:
    return f"{seconds:.2f}s" if seconds else "0s"


def _interval(interval: Sequence[float] | None, text: Any) -> str:
    if interval is None or interval[0] == interval[1]:
        return ""
    return f"  ({text(interval[0])} to {text(interval[1])})"


def moments(path: Path, count: int) -> list[int]:
    """Return so many times, from the first pod to the last one's start."""
    if not path.times:
        return []
    begin, end = path.times[0], path.times[-1] + path.waits[-1]
    return [begin + (end - begin) * at // max(count - 1, 1) for at in range(count)]


def _charts(path: Path) -> str:
    """Draw the stock of each tier over time, in blocks."""
    levels = stock(path, moments(path, _WIDTH))
    lines = []
    for at, (name, full) in enumerate((("active", path.setup.active), ("standby", path.setup.standby))):
        bars = [_BLOCKS[-(-level[at] * (len(_BLOCKS) - 1) // full)] if full else " " for level in levels]
        lines.append((name, f"|{''.join(bars)}|", f"0 to {full}"))
    return columns(lines)


def write_csv(filename: str, runs: Sequence[Path]) -> None:
    """Write a row for each pod: its run, when it came, how long it waited, and what served it."""
    try:
        with open(filename, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("run", "second", "wait", "servedBy"))
            for number, path in enumerate(runs, 1):
                for time, wait in zip(path.times, path.waits, strict=True):
                    tier = "active" if wait <= 1 else "cold" if wait & 1 else "standby"
                    writer.writerow((number, f"{time / NANOSECONDS:.6f}", f"{(wait & ~1) / NANOSECONDS:.6f}", tier))
    except OSError as error:
        raise BadInput(f"{filename} cannot be written: {error.strerror}") from error
