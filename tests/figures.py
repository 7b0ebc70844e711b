"""What tests measured and do not judge, because a busy machine alone makes it worse: printed when all have run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

_PROPERTY = "figure"


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Note a figure: `figure("a restart: true again after 3 s")`; workers of a parallel run hand it on."""
    return lambda text: record_property(_PROPERTY, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print all figures, each under its test."""
    noted = [
        (report.nodeid, text)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, text in report.user_properties
        if name == _PROPERTY
    ]
    if noted:
        terminalreporter.section("measured")
    for test, text in noted:
        terminalreporter.write_line(f"{test}: {text}")
