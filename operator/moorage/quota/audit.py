"""What a quota in Audit mode would have refused: numbers by step of admission, which only grow under one spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from moorage.quota.verdict import Step


class AuditLog:
    """The numbers of one quota since its spec was changed last.

    Each replica of the operator counts what it is asked about, and takes over what is more in status: a restart loses
    nothing, and replicas agree on a number that is never too high.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, step: str) -> None:
        """Count one object that would have been refused at this step."""
        self._counts[step] += 1

    def adopt(self, counts: Mapping[str, int]) -> None:
        """Take over what was counted before, or by others."""
        self._counts |= Counter(counts)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of the steps at which anything would have been refused, in the order of the steps."""
        return {str(step): self._counts[step] for step in Step if self._counts[step]}
