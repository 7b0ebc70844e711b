"""The command line: another window on the same rules. Each command reads, calls the core and prints."""

from moorage.cli.app import main

__all__ = ["main"]
