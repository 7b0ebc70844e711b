"""The image's recipe, as far as it can be read without building it."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatch

from tests.manifests.documents import MANIFESTS, REPOSITORY, version

DOCKERFILE = (MANIFESTS / "Dockerfile").read_text()
STEPS = [line.split(maxsplit=1) for line in DOCKERFILE.replace("\\\n", " ").splitlines() if re.match(r"[A-Z]+ ", line)]


def arguments_of(instruction: str) -> list[str]:
    return [arguments for name, arguments in STEPS if name == instruction]


def test_it_runs_as_a_number_that_is_not_root() -> None:
    user, group = arguments_of("USER")[-1].split(":")
    assert int(user) > 0
    assert int(group) > 0


def test_it_starts_without_a_shell_so_that_signals_arrive() -> None:
    assert [json.loads(each) for each in arguments_of("ENTRYPOINT") + arguments_of("CMD")] == [["moorage"], ["run"]]


def test_its_bases_name_no_registry() -> None:
    assert arguments_of("FROM")
    assert not any("/" in each for each in arguments_of("FROM"))


def test_it_installs_the_tested_versions() -> None:
    [install] = [step for step in arguments_of("RUN") if " install " in step]
    assert "--constraint constraints.txt" in install


def test_what_it_copies_reaches_the_builder() -> None:
    kept = [line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = {name for step in arguments_of("COPY") if "--from" not in step for name in step.split()[:-1]}
    assert copied == set(kept)
    assert all((REPOSITORY / name).exists() for name in copied)


def test_nothing_that_is_generated_reaches_the_builder() -> None:
    patterns = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("**/")]
    for name in ("operator/moorage/__pycache__", "operator/moorage.egg-info"):
        assert any(fnmatch(name, pattern) for pattern in patterns), name


def test_the_commands_that_it_gives_name_the_version() -> None:
    assert f"-t moorage:{version()} ." in DOCKERFILE
