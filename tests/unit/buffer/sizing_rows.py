"""The table of sizes: its rows by id, as values."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

DATA = Path(__file__).parents[2] / "data"
TRACE = DATA / "azure-llm-code-trace.csv"


@dataclass(frozen=True)
class Row:
    """A row; numbers that are empty in the table are None."""

    cells: dict[str, str]

    def number(self, column: str) -> Fraction | None:
        """Return a number as it is written."""
        return Fraction(self.cells[column]) if self.cells[column] else None

    def exact(self, column: str) -> Fraction:
        """Return a number that must be there."""
        number = self.number(column)
        assert number is not None
        return number

    def count(self, column: str) -> int:
        """Return a whole number that must be there."""
        return int(self.cells[column])

    @property
    def hit(self) -> float:
        """Return the part of pods that the closed form has without a wait."""
        return float(self.cells["closed_form_hit"])


with (DATA / "sizing-cases.csv").open(newline="") as _table:
    ROWS = {cells["id"]: Row(cells) for cells in csv.DictReader(_table)}
