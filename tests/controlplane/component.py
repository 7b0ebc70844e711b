"""One process of a control plane: started under a guard, its output in a log file, its faults on request."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

GUARD = Path(__file__).with_name("guard.py")


class ComponentError(RuntimeError):
    """A component did not start, or ended when it should not have."""


class Component:
    """A program that can be started, ended and frozen, any number of times."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        remove_when_orphaned: Sequence[Path] = (),
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = log
        self.environment = dict(environment or {})
        self.remove_when_orphaned = list(remove_when_orphaned)
        self.pid: int | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.running:
            self.stop()

    @property
    def running(self) -> bool:
        """Whether the process is there (a paused one is)."""
        if self._guard is None:
            return False
        if self._guard.poll() is not None:
            self._close_pipe()
            return False
        return True

    @property
    def returncode(self) -> int | None:
        """The exit code of the last run, negative for a signal; None while it runs or before the first start."""
        if self._guard is None or self.running:
            return None
        code = self._guard.returncode
        return code if code < 128 else code - 256

    def start(self) -> None:
        """Start the process; its output is appended to the log."""
        if self.running:
            raise ComponentError(f"{self.name} runs already (process {self.pid})")
        self._close_pipe()
        options = [argument for path in self.remove_when_orphaned for argument in ("--remove", str(path))]
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(self.log), *options, "--", *self.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **self.environment},
            start_new_session=True,  # Ctrl-C in a terminal is for the owner, who then ends things in order
        )
        assert self._guard.stdout is not None
        with self._guard.stdout as output:
            answer = output.readline()
        if not answer:
            raise ComponentError(f"the guard of {self.name} did not start")
        self.pid = int(answer)

    def stop(self, timeout: float = 10.0) -> None:
        """End the process with SIGTERM, and with SIGKILL when it has not ended after the timeout."""
        self.ask_to_stop()
        self.wait(timeout)

    def ask_to_stop(self) -> None:
        """Send SIGTERM and return at once."""
        self.resume()
        self._signal(signal.SIGTERM)

    def wait(self, timeout: float) -> None:
        """Wait for the end of the process; kill it after the timeout."""
        if self._guard is not None:
            try:
                self._guard.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
        self._close_pipe()

    def kill(self) -> None:
        """End the process with SIGKILL, as a crash would."""
        self._signal(signal.SIGKILL)
        if self._guard is not None:
            self._guard.wait()

    def pause(self) -> None:
        """Freeze the process: its connections stay open and nothing answers on them."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        self._signal(signal.SIGCONT)

    def tail(self, lines: int = 20) -> str:
        """The last lines of the log."""
        return tail(self.log, lines)

    def require_running(self) -> None:
        """Raise with the end of the log when the process has ended."""
        if not self.running:
            raise ComponentError(
                f"{self.name} ended with exit code {self.returncode}; the end of its log {self.log}:\n{self.tail()}"
            )

    def _signal(self, number: signal.Signals) -> None:
        if self.running and self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _close_pipe(self) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()


def tail(path: Path, lines: int, *, since: int = 0) -> str:
    """The last lines of a file, of what was written after the first `since` bytes."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(since, size - 200 * lines, 0))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def stop_all(components: Sequence[Component], timeout: float = 10.0) -> None:
    """End all at once; together they take no longer than the slowest."""
    for component in components:
        component.ask_to_stop()
    deadline = time.monotonic() + timeout
    for component in components:
        component.wait(max(deadline - time.monotonic(), 0.1))
