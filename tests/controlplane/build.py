"""Builds the programs of a control plane from their sources, once, into the user's cache.

    <cache>/<key>/controlplane/   the multi-call program (etcd, Kubernetes, kubectl)
    <cache>/<key>/kwok/           kwok and its stages
    <cache>/<key>/karpenter/      Karpenter with simulated instances and its CRDs
    <cache>/logs/                 the output of the last build of each stage

The key is a hash of the sources, the Go release and the flags. A stage's folder appears in one step when the stage is
complete, so one that exists is whole, and running needs neither Go nor its module cache.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .component import GUARD, tail
from .stages import Assets, Stage
from .toolchain import Toolchain, install_toolchain, select_toolchain

SOURCES = Path(__file__).parent
FLAGS = ("-trimpath", "-buildvcs=false")
PROGRESS_SECONDS = 5.0
KEY_LENGTH = hashlib.sha256().digest_size * 2
UNUSED_SECONDS = 30 * 24 * 3600.0
LOCK_POLL_SECONDS = 0.2


class BuildError(RuntimeError):
    """A stage could not be built; the message says which, why, and where the whole log is."""


def cache_directory() -> Path:
    """Where built programs are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return root / "moorage" / "controlplane"


def to_stderr(line: str) -> None:
    """Show a line of progress."""
    print(line, file=sys.stderr, flush=True)


class Builder:
    """Builds stages of one Go module into one cache."""

    def __init__(
        self,
        *,
        sources: Path = SOURCES,
        cache: Path | None = None,
        toolchain: Toolchain | None = None,
        report: Callable[[str], None] = to_stderr,
    ) -> None:
        self.sources = sources
        self.cache = cache or cache_directory()
        self.report = report
        self.toolchain = toolchain or select_toolchain(sources / "go.mod")

    def directory(self, stage: Stage) -> Path:
        """Where the stage is once it is built."""
        return self.cache / self.key(stage) / stage.name

    def key(self, stage: Stage) -> str:
        """The hash of everything that decides what the stage's program does."""
        digest = hashlib.sha256()
        files = [self.sources / "go.mod", self.sources / "go.sum", *self.sources.glob("*.go")]
        for path in sorted(path for path in files if path.exists()):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
        for part in (self.toolchain.version, *FLAGS, *_settings(stage)):
            digest.update(part.encode() + b"\n")
        return digest.hexdigest()

    def ensure(self, *stages: Stage) -> list[Path]:
        """Build what is missing of the stages and return their folders."""
        missing = [stage for stage in stages if not self.directory(stage).is_dir()]
        if missing:
            with self._lock():
                for stage in missing:
                    if not self.directory(stage).is_dir():  # someone else may have built it while we waited
                        self._build(stage)
        for stage in stages:
            os.utime(self.directory(stage).parent)  # it is in use: see _remove_unused
        return [self.directory(stage) for stage in stages]

    def _build(self, stage: Stage) -> None:
        go = install_toolchain(self.toolchain, self.cache, self.report)
        target = self.directory(stage)
        temporary = target.with_name(f".{stage.name}.partial")  # one name: what a killed build left goes away here
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        log = self.cache / "logs" / f"{stage.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_bytes(b"")
        self.report(
            f"building {stage.name} from source with Go {self.toolchain.version} into {self.cache}: "
            f"it takes {stage.minutes} min on two cores the first time, then never again"
        )
        try:
            self._compile(go, stage, temporary / stage.name, log)
            for assets in stage.assets:
                self._copy_assets(go, assets, temporary / assets.folder)
            temporary.replace(target)
        except subprocess.CalledProcessError as error:
            raise BuildError(_failure(stage, f"go ended with exit code {error.returncode}", log)) from error
        except OSError as error:
            raise BuildError(_failure(stage, str(error), log)) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._remove_unused()

    def _remove_unused(self) -> None:
        """Remove what older sources were built into, once nobody has used it for a month."""
        for path in self.cache.iterdir():
            if len(path.name) == KEY_LENGTH and time.time() - path.stat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)

    def _compile(self, go: Path, stage: Stage, output: Path, log: Path) -> None:
        started = time.monotonic()
        build = ["build", "-v", *FLAGS, f"-ldflags={stage.linker_flags}", "-o", str(output), stage.package]
        # Under the guard, so that a build whose owner is killed ends too and does not race with the next one.
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD), str(log), "--", str(go), *build],
            cwd=self.sources,
            env=self.toolchain.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            while True:
                try:
                    # Popen.wait, not communicate: an exception here (Ctrl-C) closes the pipe, and the guard ends go.
                    code = process.wait(PROGRESS_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    self.report(f"  {stage.name}: {_progress(stage, log)} after {_duration(started)}")
                except BaseException:
                    assert process.stdin is not None
                    process.stdin.close()
                    raise
        if code:
            raise subprocess.CalledProcessError(code, "go build")
        self.report(f"built {stage.name} in {_duration(started)}")

    def _copy_assets(self, go: Path, assets: Assets, target: Path) -> None:
        done = subprocess.run(
            [str(go), "list", "-m", "-f", "{{.Dir}}", assets.module],
            cwd=self.sources,
            env=self.toolchain.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        module = Path(done.stdout.strip())
        target.mkdir()
        for pattern in assets.patterns:
            files = sorted(module.glob(pattern))
            if not files:
                raise FileNotFoundError(f"no file {pattern} in {assets.module}")
            for file in files:
                shutil.copyfile(file, target / file.name)  # not its mode: the module cache is read-only

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One build at a time for this cache; the lock goes with its process, so it is never left behind."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with (self.cache / "lock").open("a") as file:
            waited = False
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not waited:
                        self.report("another process is building the control plane: waiting for it")
                    waited = True
                    time.sleep(LOCK_POLL_SECONDS)
            yield


def _settings(stage: Stage) -> Sequence[str]:
    assets = [f"{a.module} {' '.join(a.patterns)} {a.folder}" for a in stage.assets]
    return [stage.package, stage.linker_flags, *assets]


def _progress(stage: Stage, log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    compiled = sum(1 for line in lines if line and " " not in line)
    if not compiled:
        return f"{sum(1 for line in lines if line.startswith('go: downloading'))} modules downloaded"
    return f"{compiled} of at most about {stage.packages} packages compiled"


def _duration(started: float) -> str:
    seconds = round(time.monotonic() - started)
    return f"{seconds // 60} min {seconds % 60:02} s" if seconds >= 60 else f"{seconds} s"


def _failure(stage: Stage, reason: str, log: Path) -> str:
    return f"stage {stage.name} could not be built: {reason}. The end of its log {log}:\n{tail(log, 15)}"
