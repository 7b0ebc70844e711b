"""Reading one file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from moorage.cli.errors import BadInput


def read_text(place: str) -> str:
    """Return the text of a file; `-` is standard input.

    Raises BadInput.
    """
    if place == "-":
        return sys.stdin.read()
    try:
        return Path(place).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(f"{place} cannot be read: {reason}") from error
