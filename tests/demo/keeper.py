"""Runs the operator beside a cluster that outlives the demo, and ends when that cluster does.

    python -m tests.demo.keeper DIRECTORY

It says on standard output when the operator is ready.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.controlplane import ComponentError, daemon
from tests.operator_process import OperatorProcess

READY = "ready"
POLL_SECONDS = 1.0


def operator_log(directory: Path) -> Path:
    """Where the operator of a cluster's directory logs."""
    return directory / "logs" / "moorage.log"


def keep(directory: Path) -> None:
    """Run the operator in the background and return when it is ready."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.demo.keeper", str(directory)],
        cwd=daemon.REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout:
        if keeper.stdout.readline().strip() != READY:
            raise ComponentError("the operator did not start")


def main(directory: Path) -> None:
    """Keep the operator running for as long as the cluster has the owner that it has now."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    owner = daemon.owner_of(directory)
    operator = OperatorProcess(directory / "kubeconfig", operator_log(directory))
    try:
        operator.start_and_wait()
        print(READY, flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        while owner is not None and daemon.owner_of(directory) == owner:
            time.sleep(POLL_SECONDS)
    finally:
        operator.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
