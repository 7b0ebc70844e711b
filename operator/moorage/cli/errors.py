"""What ends a command."""

from __future__ import annotations

import click


class BadInput(click.ClickException):
    """Input that cannot be used: one line that says what is wrong, where, and what is allowed."""

    exit_code = 2
