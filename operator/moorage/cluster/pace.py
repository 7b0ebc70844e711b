"""How fast a feed goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much at a time, and how long to wait (in seconds). How long after failures is the client's `Backoff`."""

    page_size: int = 250
    yield_every: int = 50
    """After so many objects, other tasks get their turn."""
    silence: float = 70.0
    """A watch without a byte for so long is opened anew; the server sends a bookmark about every 60."""
    initial_silence: float = 20.0
    """The same while the server streams the initial list."""
    watch: float = 300.0
    """The server ends each watch after this to twice this, so that no broken one lives on."""
    verify: float = 900.0
    """Between two proofs, give or take a tenth; 0 turns them off."""
