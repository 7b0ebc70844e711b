"""The one retry policy of everything that talks to the API server.

Delays grow exponentially to a ceiling and are jittered, so that a hundred feeds that lose the same API server do not
come back at the same instant.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long to wait after the n-th failure in a row; all times in seconds."""

    first_seconds: float = 0.5
    factor: float = 2.0
    ceiling_seconds: float = 30.0
    random: Callable[[], float] = random.random
    """A number in [0, 1), drawn anew for each delay."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def delay_seconds(self, failures: int, *, at_least: float = 0.0) -> float:
        """Return the delay after `failures` (1 or more) failures in a row.

        Half of the exponential step is fixed and half is random. `at_least` is what the server asked for
        (`Retry-After`): it is never undercut, and the jitter comes on top of it.
        """
        step = min(self.ceiling_seconds, self.first_seconds * self.factor ** min(failures - 1, 32))
        jitter = step / 2 * self.random()
        return max(step / 2, at_least) + jitter

    def attempts(self) -> Attempts:
        """Start to count the failures of one activity."""
        return Attempts(self)


class Attempts:
    """The failures in a row of one activity (one request, or one feed)."""

    def __init__(self, policy: Backoff) -> None:
        self.policy = policy
        self.failures = 0

    async def wait(self, *, at_least: float = 0.0) -> None:
        """Count one more failure and sleep for as long as the policy says (seconds)."""
        self.failures += 1
        await self.policy.sleep(self.policy.delay_seconds(self.failures, at_least=at_least))

    def reset(self) -> None:
        """Forget the failures, since something worked."""
        self.failures = 0
