"""Commands as they are typed, each with what it printed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Mapping

from tests.controlplane import Cluster

COMMAND_SECONDS = 60.0
WIDTH = 110


class CommandError(RuntimeError):
    """A command failed; the message has what it wrote to standard error."""


class Terminal:
    """Runs commands against one cluster and prints them, with a sentence of why in front."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str) -> None:
        """Print why the next command is run."""
        print()
        for line in textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# "):
            print(self._paint("36", line), flush=True)

    def typed(self, command: str) -> None:
        """Print a command line."""
        print(self._paint("1", f"$ {command}"), flush=True)

    def kubectl(self, *arguments: str, stdin: str | None = None, piped: str = "") -> str:
        """Run kubectl, print the command and its output, and return the output; `piped` is what fills `stdin`."""
        self.typed(f"{piped}kubectl {shlex.join(arguments)}")
        return self._show(self._cluster.kubectl(*arguments, stdin=stdin, timeout=COMMAND_SECONDS))

    def moorage(self, *arguments: str, stdin: str | None = None, piped: str = "") -> str:
        """Run our command line in the same way."""
        self.typed(f"{piped}moorage {shlex.join(arguments)}")
        return self._show(
            run_moorage(*arguments, environment={"KUBECONFIG": str(self._cluster.kubeconfig)}, stdin=stdin)
        )

    def _show(self, output: str) -> str:
        print(output, end="" if output.endswith("\n") or not output else "\n", flush=True)
        return output

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colours else text


def run_moorage(*arguments: str, environment: Mapping[str, str] | None = None, stdin: str | None = None) -> str:
    """Run our command line and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "moorage", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if done.returncode:
        raise CommandError(f"moorage {shlex.join(arguments)} ended with exit code {done.returncode}: {done.stderr}")
    return done.stdout
