"""Running the command line in the tests' own process."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from moorage.cli import main


@dataclass(frozen=True)
class Answer:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The result, printed with `-o json`."""
        return json.loads(self.out)


Moorage = Callable[..., Answer]


@pytest.fixture
def moorage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Moorage:
    """Run `moorage` with arguments, and with `stdin` as its standard input."""

    def run(*arguments: str, stdin: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(list(arguments))
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run
