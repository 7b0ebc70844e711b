"""Reading one file, or standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from moorage.cli.errors import BadInput


def read_text(place: str) -> str:
    """Return the text of a file; `-` is standard input.

    Raises BadInput.
    """
    try:
        if place != "-":
            return Path(place).read_text(encoding="utf-8")
        text = sys.stdin.read()
        text.encode()  # in the C locale, what is no text is read all the same
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(f"{name_of(place)} cannot be read: {reason}") from error
    return text


def name_of(place: str) -> str:
    """Return how messages name a file."""
    return "standard input" if place == "-" else place
