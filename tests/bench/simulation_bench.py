"""`python -m tests.bench.simulation_bench`: how long a simulation takes, and the search for a size."""

from __future__ import annotations

import time
from fractions import Fraction

from moorage.buffer.arrivals import Arrivals
from moorage.buffer.generate import latencies, poisson
from moorage.buffer.optimize import Target, optimize
from moorage.buffer.promise import Counts, cheapest
from moorage.buffer.recorded import NANOSECONDS
from moorage.buffer.report import report
from moorage.buffer.simulate import Path, Setup, simulate
from moorage.buffer.windows import windows

RESUME, COLD = 30 * NANOSECONDS, 90 * NANOSECONDS


def main() -> None:
    """Print seconds of one core."""
    print("simulation: arrivals at 2/s, 80 active and 139 standby, 30s and 90s; seconds of CPU")
    print(f"{'arrivals':>12}{'generate':>10}{'simulate':>10}{'report':>10}{'in all':>10}")
    for count in (100_000, 1_000_000, 4_000_000):
        began = time.process_time()
        times = poisson(2.0, count / 2, 1)
        generated = time.process_time()
        path = simulate(times, Setup(80, 219), RESUME, COLD)
        simulated = time.process_time()
        report(path)
        ended = time.process_time()
        steps = (generated - began, simulated - generated, ended - simulated, ended - began)
        print(f"{len(times):>12,}" + "".join(f"{step:>10.2f}" for step in steps))
    _latencies()
    _search()
    _closed_form()


def _latencies() -> None:
    times = poisson(2.0, 500_000, 1)
    began = time.process_time()
    resume, cold = (latencies(mean, 0.5, times, 1, stream=stream, common=0.3) for stream, mean in enumerate((30, 90)))
    simulate(times, Setup(80, 219), resume, cold)
    print(f"with random latencies, partly common: {time.process_time() - began:.2f} for {len(times):,} arrivals")


def _search() -> None:
    times, runs = poisson(2.0, 50_000, 1), 0

    def run(counts: Counts) -> Path:
        nonlocal runs
        runs += 1
        return simulate(times, Setup(counts.active, counts.total), RESUME, COLD)

    began = time.process_time()
    found = optimize(times, [Target(Fraction(99, 100), Fraction(1))], run, latencies=(RESUME, COLD))
    took = time.process_time() - began
    print(f"--optimize p99=1s over {len(times):,} arrivals: {took:.2f}, {runs} runs, {found.active}/{found.standby}")


def _closed_form() -> None:
    for rate in (2, 100, 1000):
        began = time.process_time()
        found = cheapest(windows(Arrivals(Fraction(rate)), Fraction(30), Fraction(90)), Fraction(99, 100))
        took = (time.process_time() - began) * 1000
        print(f"size for 99% at {rate}/s: {took:.1f} ms, {found.active}/{found.standby}")


if __name__ == "__main__":
    main()
