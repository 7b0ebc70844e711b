"""A control plane that outlives the command that starts it: its owner is a process of its own in the background."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .build import to_stderr
from .commands import Options
from .component import ComponentError, tail
from .control_plane import EPHEMERAL, LOCK, ControlPlane, remove_all
from .waiting import wait_for

REPOSITORY = Path(__file__).parents[2]
DIRECTORY = REPOSITORY / ".cluster"
LOG, STATE = "owner.log", "state.json"
READY = "ready"
STOP_SECONDS = 15.0


def up(directory: Path, arguments: list[str]) -> None:
    """Start the owner in the background and return when its cluster is ready; `arguments` are for `serve`."""
    directory.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with (directory / LOG).open("w") as log:
        owner = subprocess.Popen(
            [sys.executable, "-m", __package__, "serve", "--directory", str(directory), *arguments],
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert owner.stdout is not None
    try:
        with owner.stdout:
            answer = owner.stdout.readline()
    except BaseException:  # Ctrl-C: nobody would know of the cluster
        owner.terminate()
        raise
    if answer.strip() != READY:
        raise ComponentError(f"the cluster did not start:\n{tail(directory / LOG, 30)}")
    to_stderr(f"the cluster is ready after {time.monotonic() - started:.1f} s; its files are in {directory}")


def serve(directory: Path, *, options: Options, nodes: int) -> NoReturn:
    """Own a cluster until SIGTERM: say on standard output when it is ready."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ControlPlane(directory, options=options) as plane:
        if nodes:
            plane.add_nodes(nodes)
        pids = {name: component.pid for name, component in plane.components.items()}
        (directory / STATE).write_text(json.dumps({"components": pids}))
        print(READY, flush=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        while True:
            signal.pause()


def down(directory: Path) -> bool:
    """End the cluster of a folder; False when there was none."""
    pid = owner_of(directory)
    if pid is not None:
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            with contextlib.suppress(TimeoutError):
                wait_for(lambda: owner_of(directory) is None, timeout=seconds, message=f"end of process {pid}")
                break
    remove_all(directory, *EPHEMERAL, STATE)  # what an owner that was killed has left
    return pid is not None


@dataclass(frozen=True)
class Status:
    """A component of the cluster in the background."""

    component: str
    pid: int
    running: bool


def status(directory: Path) -> list[Status]:
    """The components of a folder's cluster; none when it is not up."""
    if owner_of(directory) is None or not (directory / STATE).exists():
        return []
    state: dict[str, Any] = json.loads((directory / STATE).read_text())
    return [Status(name, pid, _exists(pid)) for name, pid in state["components"].items()]


def owner_of(directory: Path) -> int | None:
    """The process that holds the folder's lock."""
    try:
        with (directory / LOCK).open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read())
    except (FileNotFoundError, ValueError):
        pass
    return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
