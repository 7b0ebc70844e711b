"""Which Go is used."""

from pathlib import Path

import pytest

from tests.controlplane.build import SOURCES
from tests.controlplane.toolchain import (
    Toolchain,
    ToolchainError,
    needed_version,
    parse_version,
    pinned_version,
    select_toolchain,
)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.26.8", "1.26.9"),
        ("1.26.9", "1.26.10"),
        ("1.26.10", "1.27"),
        ("1.27rc1", "1.27"),
        ("1.27", "1.27.1"),
        ("go1.26.9", "go1.27.3"),
        ("go1.27.3", "go2.0"),
    ],
)
def test_versions_compare_as_go_counts_them(older: str, newer: str) -> None:
    assert parse_version(older) < parse_version(newer)


def test_the_pinned_go_is_new_enough_for_the_module() -> None:
    assert parse_version(pinned_version()) >= needed_version(SOURCES / "go.mod")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param("go1.22.0", "1.22.0", id="new enough"),
        pytest.param("go1.21.0 X:nocoverageredesign", "1.21.0", id="just new enough, with experiments"),
        pytest.param("go1.20.14", None, id="too old"),
        pytest.param("", None, id="something else that is called go"),
    ],
)
def test_the_go_on_path_is_used_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: str | None
) -> None:
    go = tmp_path / "go"
    go.write_text(f"#!/bin/sh\necho '{answer}'\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module = tmp_path / "go.mod"
    module.write_text("module example.test\n\ngo 1.21\n")

    chosen = select_toolchain(module)
    pinned = Toolchain(pinned_version(), command=None)
    assert chosen == (Toolchain(expected, command=go) if expected else pinned)


def test_without_a_go_on_path_the_pinned_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert select_toolchain(SOURCES / "go.mod") == Toolchain(pinned_version(), command=None)


def test_a_module_that_does_not_say_which_go_it_needs_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.test\n")
    with pytest.raises(ToolchainError, match="does not say which Go it needs"):
        needed_version(tmp_path / "go.mod")
