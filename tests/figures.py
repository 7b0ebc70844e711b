"""What tests have to say besides passing: figures and places of logs, shown at the end of the run.

A test may run in a process of its own (pytest-xdist), whose output nobody sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

_TOLD = pytest.StashKey[list[str]]()
_KEY = "told"


def tell(config: pytest.Config, text: str) -> None:
    """Show a text at the end of the run, once."""
    told = config.stash[_TOLD]
    if text not in told:
        told.append(text)


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """What a test measured and does not judge, because a busy machine alone makes it worse: `figure("after 3 s")`."""
    return lambda text: tell(request.config, f"{request.node.name}: {text}")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing, and take what other processes tell."""
    config.stash[_TOLD] = []
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_OtherProcesses(config))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what was told to the process that reports."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_KEY] = session.config.stash[_TOLD]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show it."""
    if told := config.stash[_TOLD]:
        terminalreporter.section("what tests found")
        for text in told:
            terminalreporter.write_line(text)


class _OtherProcesses:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        for text in getattr(node, "workeroutput", {}).get(_KEY, ()):
            tell(self._config, text)
