"""Values of users as messages repeat them: long ones are cut, since a message is to be read and a condition has an end.

The one place that decides how much of a value is shown.
"""

from __future__ import annotations

MOST_CHARACTERS = 60
"""Enough to find a value again where it was written."""
MOST_OF_A_NAME = 253 + 1 + 63
"""No name of a resource or a label is longer, so those that can be right are shown whole."""


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text, or its beginning and three dots."""
    return text if len(text) <= most else f"{text[:most]}..."


def quoted(value: object) -> str:
    """Return a value in quotes if it is a text, else as it is; cut if it is long."""
    return repr(shortened(value)) if isinstance(value, str) else shortened(repr(value))
