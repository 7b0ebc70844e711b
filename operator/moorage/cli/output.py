"""How results are printed: a table for people, JSON or YAML for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click
import yaml

FORMATS = ("table", "json", "yaml")

output_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "-o", "--output", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the result."
)


def emit(result: Any, output: str, table: Callable[[], str]) -> None:
    """Print a result in the format that was asked for; `table` is called only for a table."""
    match output:
        case "json":
            click.echo(json.dumps(result, indent=2))
        case "yaml":
            click.echo(yaml.safe_dump(result, sort_keys=False), nl=False)
        case _:
            click.echo(table())


def columns(rows: Iterable[Sequence[str]]) -> str:
    """Align rows of cells, two spaces between columns."""
    cells = [list(row) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))] if cells else []
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
