"""The label by which all that belongs to buffers is found."""

from __future__ import annotations

import hashlib

BUFFER_LABEL = "moorage.dev/buffer"
"""On every object that is made for a buffer, and on its units."""

LONGEST_LABEL = 63


def fitted(name: str, longest: int) -> str:
    """Return a name, cut and made unique by a hash when it is too long."""
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: longest - len(digest) - 1].rstrip('-.')}-{digest}"


def unit_selector(buffer: str) -> str:
    """Return the label selector of a buffer's units."""
    return f"{BUFFER_LABEL}={fitted(buffer, LONGEST_LABEL)}"
