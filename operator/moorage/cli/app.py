"""The command `moorage` and its subcommands.

What scripts may rely on: results on stdout, messages on stderr, `-` reads standard input, exit code 0 for yes, 1 for no
or not ready, 2 for bad input with one clear line.
"""

from __future__ import annotations

import sys

import click

from moorage import __version__
from moorage.cli.crds import crds
from moorage.cli.explain import explain
from moorage.cli.max_pods import max_pods_command
from moorage.cli.nodes import nodes
from moorage.cli.require import require
from moorage.cli.run import run
from moorage.cli.simulate import simulate_command
from moorage.cli.size import size
from moorage.cli.subnet import subnet
from moorage.cli.usage import usage
from moorage.cli.warm_pool import warm_pool


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="moorage", message="%(prog)s %(version)s")
def app() -> None:
    """Tenant quotas that explain themselves, and warm capacity of the right size."""


COMMANDS = (run, usage, explain, size, simulate_command, max_pods_command, warm_pool, subnet, nodes, crds, require)
for command in COMMANDS:
    app.add_command(command)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        result = app.main(args=arguments, prog_name="moorage", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        context = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "moorage"
        print(f"{context}: {' '.join(error.format_message().split())}", file=sys.stderr)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    return result if isinstance(result, int) else 0
