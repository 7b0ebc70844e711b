"""Runs the tests on the control plane in two processes at once, each with a control plane of its own.

They wait more than they work, so two take little longer than one. What the second prints is shown when both have ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.controlplane.choice import USER_KUBECONFIG

CLUSTER = Path("tests/cluster")
HALVES = (
    ["tests/controlplane", *map(str, sorted(CLUSTER.glob("test_[a-n]*.py")))],
    [*map(str, sorted(CLUSTER.glob("test_[!a-n]*.py"))), "tests/standby", "tests/e2e"],
)
"""They take about as long as each other."""


def main() -> int:
    """Run both and return 0 if all tests passed."""
    pytest = [sys.executable, "-m", "pytest"]
    if os.environ.get(USER_KUBECONFIG):  # which both would use
        return subprocess.call([*pytest, *HALVES[0], *HALVES[1]])
    first, second = ([*pytest, *half] for half in HALVES)
    with tempfile.TemporaryFile() as printed:
        processes = [
            subprocess.Popen(second, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT),
            subprocess.Popen(first, stdin=subprocess.DEVNULL),
        ]
        try:
            codes = [process.wait() for process in processes]
        except KeyboardInterrupt:  # which both of them got as well
            codes = [process.wait() or 1 for process in processes]
        sys.stdout.flush()
        printed.seek(0)
        shutil.copyfileobj(printed, sys.stdout.buffer)
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main())
