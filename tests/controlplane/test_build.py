"""Building into the cache: once, whole or not at all, whoever else builds or is killed meanwhile."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.controlplane.build import SOURCES, Builder, BuildError, cache_directory
from tests.controlplane.component import tail
from tests.controlplane.stages import STAGES, Assets, Stage
from tests.controlplane.toolchain import Toolchain, install_toolchain, select_toolchain
from tests.controlplane.waiting import BUSY_FACTOR, wait_for

STAGE = Stage(name="hello", package=".", linker_flags="-s -w", packages=1, minutes="0")
REPOSITORY = SOURCES.parents[1]

COUNTING_GO = """\
#!/bin/sh
# A go whose every build leaves a line, and takes as long as there is a file "hold" beside it.
echo "$@" >> "$(dirname "$0")/builds"
while [ "$1" != -o ]; do shift; done
echo half > "$2"
while [ -e "$(dirname "$0")/hold" ]; do sleep 0.05; done
echo whole >> "$2"
"""
HANGING_GO = """\
#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half > "$2"
exec sleep 600
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "go.mod").write_text("module example.test/hello\n\ngo 1.21\n")
    (folder / "main.go").write_text('package main\n\nfunc main() { println("hello") }\n')
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def fake_go(folder: Path, script: str) -> Toolchain:
    command = folder / "go"
    command.write_text(script)
    command.chmod(0o755)
    return Toolchain(version="1.99.0", command=command)


@pytest.fixture
def real_go() -> Toolchain:
    chosen = select_toolchain(SOURCES / "go.mod")
    return replace(chosen, command=install_toolchain(chosen, cache_directory(), print))


def partial_files(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file() and path.parent.name != "logs" and path.name != "lock"]


def test_a_program_is_built_and_then_found_without_go(sources: Path, cache: Path, real_go: Toolchain) -> None:
    (folder,) = Builder(sources=sources, cache=cache, toolchain=real_go).ensure(STAGE)
    ran = subprocess.run([folder / "hello"], capture_output=True, text=True, check=True)
    assert ran.stderr == "hello\n"

    no_go = replace(real_go, command=Path("/nonexistent/go"))
    assert Builder(sources=sources, cache=cache, toolchain=no_go).ensure(STAGE) == [folder]


def test_a_build_that_fails_says_which_stage_and_why_and_leaves_nothing(
    sources: Path, cache: Path, real_go: Toolchain
) -> None:
    good = (sources / "main.go").read_text()
    (sources / "main.go").write_text(good.replace("println", "printline"))
    builder = Builder(sources=sources, cache=cache, toolchain=real_go)

    with pytest.raises(BuildError, match=r"(?s)stage hello could not be built.*undefined: printline") as failure:
        builder.ensure(STAGE)
    log = cache / "logs" / "hello.log"
    assert str(log) in str(failure.value)
    assert "undefined: printline" in log.read_text()
    assert partial_files(cache) == []

    (sources / "main.go").write_text(good)
    assert builder.ensure(STAGE)[0].is_dir()


def test_assets_that_are_missing_fail_the_build_and_leave_nothing(
    sources: Path, cache: Path, real_go: Toolchain
) -> None:
    stage = replace(STAGE, assets=(Assets("example.test/hello", ("no-such-*.yaml",), "crds"),))
    with pytest.raises(BuildError, match=r"stage hello could not be built: no file no-such-\*\.yaml"):
        Builder(sources=sources, cache=cache, toolchain=real_go).ensure(stage)
    assert partial_files(cache) == []


def test_assets_are_copied_beside_the_program(sources: Path, cache: Path, real_go: Toolchain) -> None:
    (sources / "a.yaml").write_text("a: 1\n")
    stage = replace(STAGE, assets=(Assets("example.test/hello", ("*.yaml",), "crds"),))
    (folder,) = Builder(sources=sources, cache=cache, toolchain=real_go).ensure(stage)
    assert (folder / "crds" / "a.yaml").read_text() == "a: 1\n"


BUILD_IN_A_PROCESS = """
import sys
from pathlib import Path
from tests.controlplane.build import Builder
from tests.controlplane.test_build import STAGE
from tests.controlplane.toolchain import Toolchain
sources, cache, go = map(Path, sys.argv[1:])
print(*Builder(sources=sources, cache=cache, toolchain=Toolchain("1.99.0", go)).ensure(STAGE))
"""


def start_build(sources: Path, cache: Path, toolchain: Toolchain, report: Path) -> subprocess.Popen[str]:
    with report.open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-c", BUILD_IN_A_PROCESS, str(sources), str(cache), str(toolchain.command)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )


def test_builds_at_the_same_time_do_the_work_once(sources: Path, cache: Path, tmp_path: Path) -> None:
    go = fake_go(tmp_path, COUNTING_GO)
    reports = [tmp_path / f"report-{number}" for number in range(3)]
    hold = tmp_path / "hold"
    hold.touch()

    def waiting() -> int:
        return sum("waiting for it" in report.read_text() for report in reports)

    builds = [start_build(sources, cache, go, report) for report in reports]
    try:
        wait_for(lambda: waiting() == 2, timeout=60, message=lambda: f"two to wait, not {waiting()}")
    finally:
        hold.unlink()
        outputs = [build.communicate(timeout=60 * BUSY_FACTOR)[0] for build in builds]

    assert [build.returncode for build in builds] == [0, 0, 0], [report.read_text() for report in reports]
    (folder,) = {output.strip() for output in outputs}
    assert (Path(folder) / "hello").read_text() == "half\nwhole\n"
    assert len((tmp_path / "builds").read_text().splitlines()) == 1
    assert waiting() == 2


def test_a_build_that_is_killed_ends_go_and_leaves_the_way_free(sources: Path, cache: Path, tmp_path: Path) -> None:
    build = start_build(sources, cache, fake_go(tmp_path, HANGING_GO), tmp_path / "report")
    with build:
        wait_for(lambda: partial_files(cache), timeout=30, message="half a program")
        build.send_signal(signal.SIGKILL)

    go = fake_go(tmp_path, COUNTING_GO)
    (folder,) = Builder(sources=sources, cache=cache, toolchain=go).ensure(STAGE)
    assert (folder / "hello").read_text() == "half\nwhole\n"
    assert partial_files(cache) == [folder / "hello"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda s: (s / "main.go").write_text("package main\n\nfunc main() {}\n"), id="a source"),
        pytest.param(lambda s: (s / "go.sum").write_text("x\n"), id="go.sum"),
        pytest.param(lambda s: (s / "more.go").write_text("package main\n"), id="another source"),
    ],
)
def test_other_sources_are_built_into_another_folder(
    sources: Path, cache: Path, tmp_path: Path, change: object
) -> None:
    builder = Builder(sources=sources, cache=cache, toolchain=fake_go(tmp_path, COUNTING_GO))
    before = builder.key(STAGE)
    assert callable(change)
    change(sources)
    assert builder.key(STAGE) != before


def test_another_go_or_other_flags_are_built_into_another_folder(sources: Path, cache: Path, tmp_path: Path) -> None:
    go = fake_go(tmp_path, COUNTING_GO)
    builder = Builder(sources=sources, cache=cache, toolchain=go)
    other = Builder(sources=sources, cache=cache, toolchain=replace(go, version="1.100.0"))
    keys = {builder.key(STAGE), other.key(STAGE), builder.key(replace(STAGE, linker_flags=""))}
    assert len(keys) == 3


def test_what_was_not_used_for_a_month_is_removed_by_the_next_build(sources: Path, cache: Path, tmp_path: Path) -> None:
    builder = Builder(sources=sources, cache=cache, toolchain=fake_go(tmp_path, COUNTING_GO))
    (old,) = builder.ensure(STAGE)
    os.utime(old.parent, (0, 0))
    (sources / "more.go").write_text("package main\n")
    (new,) = builder.ensure(STAGE)
    assert (old.is_dir(), new.is_dir()) == (False, True)


def test_the_stages_are_the_three_programs() -> None:
    assert list(STAGES) == ["controlplane", "kwok", "karpenter"]


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    assert tail(log, 2) == "line 98\nline 99"
    assert tail(log, 5, since=log.stat().st_size - len("line 99\n")) == "line 99"
    assert tail(tmp_path / "none", 2) == ""
