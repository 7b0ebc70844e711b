"""What ends a command."""

from __future__ import annotations

import click


class BadInput(click.UsageError):
    """Input that cannot be used: one line that says what is wrong, where, and what is allowed."""

    def __init__(self, message: str) -> None:
        # With the context, the line begins with the command that was called.
        super().__init__(message, click.get_current_context(silent=True))
