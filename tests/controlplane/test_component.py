"""A component under its guard: it ends when it is told to, and when nobody is left to tell it."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.build import SOURCES
from tests.controlplane.component import Component, ComponentError
from tests.controlplane.waiting import wait_for

STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.1; done"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def sleeper(log: Path) -> Iterator[Component]:
    component = Component("sleeper", ["sleep", "600"], log=log)
    component.start()
    yield component
    component.stop()


def state(pid: int | None) -> str:
    """The process state as ps tells it; empty when it is gone or only waits to be collected."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    text = found.stdout.strip()
    return "" if text.startswith("Z") else text


def processes() -> str:
    """The command lines of all processes; `ww`: whole, where ps would cut them off at 80 columns."""
    return subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout


def test_what_it_prints_is_in_its_log_and_its_exit_code_is_known(log: Path) -> None:
    component = Component("printer", ["sh", "-c", "echo out; echo err >&2; exit 3"], log=log)
    component.start()
    wait_for(lambda: not component.running, timeout=10, message="end of the program")
    assert component.tail() == "out\nerr"
    assert component.returncode == 3
    with pytest.raises(ComponentError, match=r"printer ended with exit code 3.*\nout\nerr"):
        component.require_running()


def test_a_program_that_is_not_there_says_so(log: Path) -> None:
    component = Component("ghost", ["/nonexistent/ghost"], log=log)
    component.start()
    wait_for(lambda: not component.running, timeout=10, message="end of the program")
    with pytest.raises(ComponentError, match="cannot run /nonexistent/ghost: No such file or directory"):
        component.require_running()


def test_it_can_be_started_again_and_not_twice(sleeper: Component) -> None:
    with pytest.raises(ComponentError, match="sleeper runs already"):
        sleeper.start()
    first = sleeper.pid
    sleeper.kill()
    assert (sleeper.running, sleeper.returncode) == (False, -signal.SIGKILL)
    sleeper.start()
    assert sleeper.running
    assert sleeper.pid != first


def test_a_program_that_ignores_sigterm_is_killed_after_the_timeout(log: Path) -> None:
    component = Component("stubborn", ["sh", "-c", STUBBORN], log=log)
    component.start()
    wait_for(lambda: component.tail() == "started", timeout=10, message="start of the program")
    component.stop(timeout=0.3)
    assert component.returncode == -signal.SIGKILL


def test_a_paused_program_is_frozen_until_it_is_resumed_and_can_be_stopped(sleeper: Component) -> None:
    sleeper.pause()
    wait_for(lambda: state(sleeper.pid).startswith("T"), timeout=10, message="pause")
    assert sleeper.running
    sleeper.resume()
    wait_for(lambda: state(sleeper.pid).startswith("S"), timeout=10, message="resume")
    sleeper.pause()
    started = time.monotonic()
    sleeper.stop(timeout=30)
    assert sleeper.returncode == -signal.SIGTERM
    assert time.monotonic() - started < 10


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of its parent's death")
def test_a_program_ends_when_its_guard_is_killed(sleeper: Component) -> None:
    assert sleeper._guard is not None
    sleeper._guard.kill()
    wait_for(lambda: not state(sleeper.pid), timeout=10, message="end of the program")


OWNER = """
import os, sys, threading
from pathlib import Path
from tests.controlplane.component import Component
folder = Path(sys.argv[1])
command = ["sh", "-c", "sleep 600 & wait"]
component = Component("sleeper", command, log=folder / "log", remove_when_orphaned=[folder / "data"])
starter = threading.Thread(target=component.start)  # the end of the thread that started it means nothing
starter.start()
starter.join()
if len(sys.argv) > 2 and os.fork() == 0:  # a child that keeps the owner's pipe open
    os.write(1, b"%d\\n" % os.getpid())
    sys.stdin.read()
    os._exit(0)
os.write(1, b"%d\\n" % component.pid)
sys.stdin.read()
"""


@pytest.mark.parametrize("arguments", [[], ["fork"]], ids=["alone", "with a child that has its pipes"])
def test_a_program_and_its_data_are_gone_when_the_owner_is_killed(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "data").mkdir()
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), *arguments],
        cwd=SOURCES.parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        pids = [int(owner.stdout.readline()) for _ in range(1 + len(arguments))]
        assert all(state(pid) for pid in pids)
        owner.kill()
        wait_for(lambda: not (tmp_path / "data").exists(), timeout=10, message="removal of the data")
        assert sum(bool(state(pid)) for pid in pids) == len(arguments)  # the owner's own child is not ours to end
        # The guard removes the data first, and ends a moment later.
        wait_for(lambda: str(tmp_path / "log") not in processes(), timeout=10, message="the end of the guard")
