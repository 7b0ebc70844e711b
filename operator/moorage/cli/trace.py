"""Reading recorded demand from a CSV file: the times of pods, or counts by time."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from moorage.buffer.recorded import NANOSECONDS, nanoseconds
from moorage.cli.errors import BadInput
from moorage.quoting import quoted, shortened

_MOST_PODS = 50_000_000
_LONGEST_COUNT = 18
"""Digits; it is by far more than are read."""
_LATEST_SECONDS = 10**12
"""In the year 33658, counted from 1970."""


def read_trace(filename: str) -> list[int]:
    """Return the times of pods in nanoseconds from the first one, sorted and even.

    The first column is a time: seconds, or a date and time of ISO 8601 (UTC unless it says otherwise). A column
    `count` or `pods` says how many pods came then; without one each row is a pod. A first row without a time names the
    columns. Raises BadInput, which names the row.
    """
    name = "standard input" if filename == "-" else filename
    with _opened(filename) as file:
        times = list(_times(name, csv.reader(file)))
    if not times:
        raise BadInput(f"{name} holds no pods: give a CSV with one time in seconds, or a date and time, per row")
    first = times[0]
    return [time - first for time in times]


def _times(filename: str, rows: Iterable[list[str]]) -> Iterator[int]:
    count_at: int | None = None
    before, pods = None, 0
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        if number == 1 and _is_heading(row):
            names = [cell.strip().lower() for cell in row]
            count_at = next((names.index(name) for name in ("count", "pods") if name in names), None)
            continue
        where = f"{filename}, row {number}"
        time = _time(row[0].strip(), where)
        if before is not None and time < before:
            raise BadInput(
                f"{where}: {shortened(row[0].strip())} is earlier than the row before; sort the rows by time"
            )
        before = time
        count = 1 if count_at is None else _count(row, count_at, where)
        pods += count
        if pods > _MOST_PODS:
            raise BadInput(f"{filename} holds more than {_MOST_PODS} pods; split it")
        yield from (time for _ in range(count))


def _is_heading(row: list[str]) -> bool:
    try:
        _time(row[0].strip(), "")
    except BadInput:
        return any(character.isalpha() for character in row[0]) and row[0].strip().lower() not in ("nan", "inf")
    return False


def _time(text: str, where: str) -> int:
    try:
        seconds = Decimal(text)
    except InvalidOperation:
        return _date(text, where)
    if not seconds.is_finite():
        raise BadInput(f"{where}: {shortened(text)} is not a time; remove the row, or write seconds such as 12.5")
    if seconds > _LATEST_SECONDS:
        raise BadInput(f"{where}: {shortened(text)} is too large for a time in seconds")
    if seconds < 0:
        raise BadInput(
            f"{where}: {shortened(text)} is negative; count seconds from the start of the trace, or write dates"
        )
    return nanoseconds(Fraction(seconds))


def _date(text: str, where: str) -> int:
    whole, _, fraction = text.partition(".")
    digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
    try:
        moment = datetime.fromisoformat(whole + fraction[len(digits) :])
    except ValueError:
        raise BadInput(
            f"{where}: {quoted(text)} is not a time; write seconds such as 12.5, or a date and time such as "
            "2026-01-31 10:15:00.5"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) * NANOSECONDS + nanoseconds(Fraction(f"0.{digits or 0}"))


def _count(row: list[str], column: int, where: str) -> int:
    text = row[column].strip() if column < len(row) else ""
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_COUNT:
        raise BadInput(f"{where}: {quoted(text)} is not a count of pods; write a whole number, 0 or more")
    return int(text)


def _text(line: str) -> str:
    line.encode()  # in the C locale, what is no text is read all the same
    return line


@contextmanager
def _opened(filename: str) -> Iterator[Iterable[str]]:
    try:
        if filename == "-":
            yield map(_text, sys.stdin)
            return
        with open(filename, encoding="utf-8-sig", newline="") as file:
            yield file
    except csv.Error as error:
        raise BadInput(f"{filename} cannot be read: {error}") from error
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise BadInput(f"{filename} cannot be read: {why}") from error
