"""The documentation as tests read it: its pages, their fenced blocks, and the commands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r" <<(\w+)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and where it is."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command line in a console block, what it reads and what it is said to print."""

    block: Block
    line: str
    stdin: str
    output: str

    def __str__(self) -> str:
        return f"{self.block.page}: {self.line}"


def blocks(language: str) -> list[Block]:
    """Return all blocks of a language."""
    return [block for page in PAGES for block in _blocks_of(page) if block.language == language]


def commands() -> list[Command]:
    """Return all commands of console blocks, comments behind them left out."""
    return [command for block in blocks("console") for command in commands_of(block)]


def commands_of(block: Block) -> Iterator[Command]:
    """Split a session into commands and their outputs."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        first, _, rest = part.partition("\n")
        line, stdin = re.sub(r"\s{2,}# .*$", "", first), ""
        if heredoc := _HEREDOC.search(line):
            line = line[: heredoc.start()]
            stdin, _, rest = rest.partition(f"{heredoc[1]}\n")
        yield Command(block, line, stdin, rest)


def matches(actual: str, shown: str) -> bool:
    """Whether an output is what a page shows of it; a line `...` there stands for any number of lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.$\n?", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), actual) is not None


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in _FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 1
        yield Block(str(page.relative_to(ROOT)), line, fence[1], fence[2])
