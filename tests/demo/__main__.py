"""`make demo`, or `python -m tests.demo [--keep]`: the main job on a real control plane, shown like a session."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time

from tests.controlplane.__main__ import ERRORS
from tests.controlplane.component import tail
from tests.demo.places import Place, PlaceError, choose
from tests.demo.story import Story, SurpriseError
from tests.demo.terminal import CommandError, Terminal

FAILURES = (*ERRORS, PlaceError, SurpriseError, CommandError, subprocess.TimeoutExpired)
LOG_LINES = 30


def main(arguments: list[str] | None = None) -> int:
    """Show the demo; its exit code."""
    options = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with choose(keep=options.keep) as place:
            _play(place)
    except FAILURES as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    return 0


def _play(place: Place) -> None:
    started = time.monotonic()
    terminal = Terminal(place.cluster)
    try:
        Story(place, terminal).play()
    except FAILURES:
        # Before the cluster ends, and its logs with it.
        log = tail(place.operator_log, LOG_LINES)
        print(
            f"\nThe end of the operator's log:\n{log}" if log else "\nThe operator has not logged anything.",
            file=sys.stderr,
        )
        raise
    terminal.say(f"That was the main job, in {time.monotonic() - started:.0f} s.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the cluster and the operator running")
    return parser


if __name__ == "__main__":
    sys.exit(main())
