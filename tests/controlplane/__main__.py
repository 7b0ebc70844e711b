"""`python -m tests.controlplane`: build the programs, and start and end a cluster in the background."""

import argparse
import sys
from pathlib import Path

from . import daemon
from .binaries import BinariesError, find_binaries
from .build import BuildError, to_stderr
from .cluster import KubectlError
from .commands import Options
from .component import ComponentError
from .toolchain import ToolchainError

ERRORS = (BinariesError, BuildError, ComponentError, KubectlError, TimeoutError, ToolchainError)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except ERRORS as error:
        to_stderr(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _build(options: argparse.Namespace) -> int:
    find_binaries(karpenter=options.karpenter)
    return 0


def _up(options: argparse.Namespace) -> int:
    if daemon.owner_of(options.directory) is not None:
        to_stderr(f"a cluster is up already with its files in {options.directory}")
    else:
        find_binaries(karpenter=options.karpenter)  # here, where its progress is seen
        daemon.up(options.directory, _serve_arguments(options))
    print(f"export KUBECONFIG={options.directory / 'kubeconfig'}")
    print(f'export PATH="{options.directory / "bin"}:$PATH"')
    return 0


def _serve_arguments(options: argparse.Namespace) -> list[str]:
    flags = [f"--{name}" for name in ("karpenter", "audit") if getattr(options, name)]
    return [*flags, "--nodes", str(options.nodes)]


def _serve(options: argparse.Namespace) -> int:
    daemon.serve(
        options.directory,
        options=Options(karpenter=options.karpenter, audit=options.audit),
        nodes=options.nodes,
    )


def _down(options: argparse.Namespace) -> int:
    to_stderr("the cluster has ended" if daemon.down(options.directory) else "no cluster is up")
    return 0


def _status(options: argparse.Namespace) -> int:
    components = daemon.status(options.directory)
    if not components:
        print("no cluster is up")
        return 1
    for each in components:
        print(f"{each.component:<24} {each.pid:>8}  {'running' if each.running else 'ENDED'}")
    return 0 if all(each.running for each in components) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "build", _build, "build what is missing in the cache", karpenter=True)
    _add(commands, "up", _up, "start a cluster that stays up", karpenter=True, directory=True, cluster=True)
    _add(commands, "serve", _serve, argparse.SUPPRESS, karpenter=True, directory=True, cluster=True)
    _add(commands, "down", _down, "end it", directory=True)
    _add(commands, "status", _status, "say which of its components run", directory=True)
    return parser


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: object,
    text: str,
    *,
    karpenter: bool = False,
    directory: bool = False,
    cluster: bool = False,
) -> None:
    parser = commands.add_parser(name, help=text) if text != argparse.SUPPRESS else commands.add_parser(name)
    parser.set_defaults(run=run)
    if karpenter:
        parser.add_argument("--karpenter", action="store_true", help="with Karpenter (built when asked for)")
    if directory:
        parser.add_argument(
            "--directory", type=_absolute, default=daemon.DIRECTORY, help="its files (default: .cluster)"
        )
    if cluster:
        parser.add_argument("--nodes", type=int, default=0, help="how many simulated nodes to make (default: none)")
        parser.add_argument("--audit", action="store_true", help="write every request to logs/audit.log")


def _absolute(path: str) -> Path:
    return Path(path).absolute()


if __name__ == "__main__":
    sys.exit(main())
