"""The operator as its users run it: a process of its own, for tests, demo and benchmarks."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.controlplane.component import Component
from tests.controlplane.waiting import wait_for

START_SECONDS = 30.0
_PORT = re.compile(r"/metrics on port (\d+)")


class OperatorProcess(Component):
    """`moorage run` under a guard, so that it ends with its owner; `log` grows over restarts."""

    def __init__(self, kubeconfig: Path, log: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "moorage", "run", "--kubeconfig", str(kubeconfig)]
        super().__init__("moorage", [*command, "--host", "127.0.0.1", "--port", "0", *arguments], log=log)

    def start_and_wait(self, timeout: float = START_SECONDS) -> None:
        """Start it and wait until it says that its numbers can be trusted."""
        written = len(self.output()) if self.log.exists() else 0
        self.start()

        def ready() -> bool:
            if not self.running:
                raise RuntimeError(f"the operator ended with exit code {self.returncode}:\n{self.output()[written:]}")
            return bool(_PORT.search(self.output(), written)) and self.get("/readyz") == "ok\n"

        wait_for(
            ready,
            timeout=timeout,
            ignore=(urllib.error.URLError, OSError),
            message=lambda: f"operator ready; its log:\n{self.output()[written:]}",
        )

    def get(self, path: str) -> str:
        """Return what it serves under a path such as /metrics; raises HTTPError when it is not ready."""
        port = _PORT.findall(self.output())[-1]
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # whatever the environment says
        with direct.open(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def metric(self, name: str) -> float:
        """Return the value of a metric without labels."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
        raise LookupError(f"there is no metric {name}")

    def output(self) -> str:
        """Return all that it has logged."""
        return self.log.read_text(encoding="utf-8", errors="replace")
