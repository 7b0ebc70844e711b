"""Run one program and end it as soon as the process that asked for it is gone, however that one ended.

    python guard.py LOG [--remove PATH]... -- PROGRAM ARGUMENT...

It is run as a script of its own, never imported by its owner. The owner holds the other end of standard input and
learns the program's process id from standard output. The guard has one thread, so that Linux' parent-death signal,
which is tied to the parent's *thread*, protects the program even from a SIGKILL of the guard itself. On other systems
the pipe and the parent's process id are all there is: enough for every end of the owner.

SIGTERM is passed on to the program. When the owner has gone, the program's process group is killed and every PATH
(data of a cluster that nobody can reach any more) is removed.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import sys
import time
from typing import NoReturn

PR_SET_PDEATHSIG = 1
OWNER_POLL_SECONDS = 1.0
REMOVAL_ATTEMPTS, REMOVAL_PAUSE_SECONDS = 10, 0.2


def main(arguments: list[str]) -> int:
    """Start the program, then wait for its end or the owner's."""
    split = arguments.index("--")
    log, program = arguments[0], arguments[split + 1 :]
    remove = [path for path in arguments[1:split] if path != "--remove"]

    owner = os.getppid()
    wake = _wake_up_on(signal.SIGCHLD, signal.SIGTERM)
    pid = _spawn(program, log)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    os.write(1, f"{pid}\n".encode())
    os.close(1)

    while True:
        ready, _, _ = select.select([0, wake], [], [], OWNER_POLL_SECONDS)
        if wake in ready:
            os.read(wake, 512)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        # A fork of the owner may keep the pipe open after the owner's end: then only the parent's id tells.
        if (0 in ready and not os.read(0, 1)) or os.getppid() != owner:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            for path in remove:
                _remove(path)
            return 0


def _remove(path: str) -> None:
    """Remove a folder although others, whose owner has gone as well, may still be writing into it."""
    for _ in range(REMOVAL_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            break
        time.sleep(REMOVAL_PAUSE_SECONDS)


def _wake_up_on(*signals: signal.Signals) -> int:
    """A file descriptor that becomes readable when one of the signals arrives."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return reader


def _spawn(program: list[str], log: str) -> int:
    """Start the program; when this returns it has been executed, so that no signal meets what was there before."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None
    guard = os.getpid()
    executed, keep_open = os.pipe()  # both ends close on exec
    pid = os.fork()
    if pid == 0:
        _become(program, log, guard, prctl)
    os.close(keep_open)
    os.read(executed, 1)
    os.close(executed)
    return pid


def _become(program: list[str], log: str, guard: int, prctl: object) -> NoReturn:
    """In the child: leave nothing of the guard behind, then turn into the program."""
    os.setpgid(0, 0)
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if callable(prctl):
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:  # it ended before the signal was asked for
            os._exit(1)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        os.write(2, f"cannot run {program[0]}: {error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
