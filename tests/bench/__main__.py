"""`make bench`, or `python -m tests.bench`: all figures, one bench after the other; each is a module of its own too."""

from __future__ import annotations

import subprocess
import sys

BENCHES = (
    "tests.bench.feed_bench",
    "tests.bench.latency",
    "tests.bench.admission_bench",
    "tests.bench.restart_bench",
    "tests.bench.simulation_bench",
)


def main() -> int:
    """Run each bench in a process of its own, so that none measures what another has left; the worst exit code."""
    codes = []
    for bench in BENCHES:
        codes.append(subprocess.run([sys.executable, "-m", bench], check=False).returncode)
        print(flush=True)
    return max(codes)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
