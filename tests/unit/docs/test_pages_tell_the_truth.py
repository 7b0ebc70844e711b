"""README and docs say what is: commands print what is shown, examples parse, names and places exist."""

from __future__ import annotations

import dataclasses
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml

from moorage.admission.counters import AdmissionCounters
from moorage.api import parse_capacity_buffer_spec, parse_namespace_quota_spec
from moorage.cli import main
from moorage.cli.app import app
from moorage.handlers.operator import settings
from moorage.metrics import OperatorCollector
from tests.unit.docs.pages import PAGES, ROOT, Block, Command, blocks, commands, matches
from tests.unit.operator_states import operator_state
from tests.unit.test_metrics import Watched

PARSERS = {"NamespaceQuota": parse_namespace_quota_spec, "CapacityBuffer": parse_capacity_buffer_spec}
README = ROOT / "README.md"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def without_cluster(command: Command) -> bool:
    """Whether a command of ours needs nothing but files."""
    words = shlex.split(command.line)
    files = {"usage": {"-f"}, "nodes": {"-f"}, "explain": {"--quota", "--objects"}}.get(words[1] if words[1:] else "")
    live = words[1:2] == ["run"] or (files is not None and files.isdisjoint(words))
    return words[0] == "moorage" and "|" not in words and not live


OFFLINE = [command for command in commands() if without_cluster(command)]


def test_there_are_examples_of_the_command_line() -> None:
    assert len(OFFLINE) >= 10


@pytest.mark.parametrize("command", OFFLINE, ids=str)
def test_a_command_prints_what_is_shown(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.stdin.read", lambda: command.stdin)
    main(shlex.split(command.line)[1:])
    captured = capsys.readouterr()
    assert matches(captured.out + captured.err, command.output), captured.out + captured.err


def test_exit_codes_are_those_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    shown = commands()
    asked = [(before, after) for before, after in itertools.pairwise(shown) if after.line == "echo $?"]
    assert asked
    for before, after in asked:
        assert main(shlex.split(before.line)[1:]) == int(after.output), before


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_what_the_definitions_accept(block: Block) -> None:
    for document in yaml.safe_load_all(block.text):
        if "kind" in document:
            PARSERS[document["kind"]](document["spec"])
        else:
            assert list(document) == ["status"], "an example that no model checks"


@pytest.mark.parametrize("command", [each for each in commands() if each.stdin], ids=str)
def test_what_commands_read_is_what_the_definitions_accept(command: Command) -> None:
    document = yaml.safe_load(command.stdin)
    PARSERS[document["kind"]](document["spec"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_has_the_targets_that_are_named(page: Path) -> None:
    makefiles = text_of(ROOT / "Makefile") + text_of(ROOT / "tests/controlplane/cluster.mk")
    targets = set(re.findall(r"^([a-z-]+):", makefiles, flags=re.MULTILINE))
    named = set(re.findall(r"[`$(] ?make (?:-s )?([a-z][a-z-]*)", text_of(page)))
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text_of(page)):
        place = page.parent / target if target else page
        assert place.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", text_of(place), flags=re.MULTILINE)
            assert heading in {each.lower().replace(" ", "-") for each in headings}


def test_the_layout_is_that_of_the_source() -> None:
    table = text_of(README).split("## Where to find what")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert len(rows) > 10
    for row in rows:
        folder = ROOT
        for name in re.findall(r"`([^`]+)`", row):
            place = ROOT / name if (ROOT / name).exists() else folder / name
            assert place.exists(), name
            folder = place.parent


_LAST_PART = (
    r"_(hard|replicas|relists_total|verifications_total|decode_errors_total|writes_total|admitted_total|unsure_total)$"
)


async def test_the_table_of_metrics_is_complete() -> None:
    section = text_of(README).split("## Running the operator")[1].split("\n## ")[0]
    named: set[str] = set()
    for row in re.findall(r"^\| (`moorage_.*?) \|", section, flags=re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", row)
        # `_used` beside `moorage_namespacequota_hard` is short for the name with another last part.
        prefix = re.sub(_LAST_PART, "", first)
        named |= {first, *(prefix + each for each in others)}
    exposed = set()
    for metric in OperatorCollector(operator_state(), Watched(), admission=AdmissionCounters()).collect():
        exposed.add(f"{metric.name}_total" if metric.type == "counter" else metric.name)
    assert named == exposed


def test_every_setting_of_kopf_that_is_not_its_default_is_explained() -> None:
    page = text_of(ROOT / "docs/operator.md")
    default, ours = kopf.OperatorSettings(), settings()
    for group in dataclasses.fields(default):
        before, after = getattr(default, group.name), getattr(ours, group.name)
        for setting in dataclasses.fields(before):
            value: Any = getattr(after, setting.name)
            if not setting.name.startswith("_") and _is_plain(value) and value != getattr(before, setting.name):
                assert f"`{group.name}.{setting.name}`" in page


def test_every_flag_of_run_is_explained() -> None:
    page = text_of(ROOT / "docs/operator.md")
    flags = {flag for option in app.commands["run"].params for flag in option.opts if flag.startswith("--")}
    assert {flag for flag in flags if f"`{flag}`" not in page} == set()


@pytest.mark.parametrize("page", ["quotas.md", "buffers.md", "backends.md"])
def test_reasons_of_conditions_are_those_of_the_source(page: str) -> None:
    source = "".join(text_of(file) for file in (ROOT / "operator/moorage").rglob("*.py"))
    rows = re.findall(
        r"^\|[^|]*\| (?:True|False|Unknown) +\| ([\w, ]+?) +\|", text_of(ROOT / "docs" / page), re.MULTILINE
    )
    reasons = {reason for row in rows for reason in row.split(", ")}
    assert len(reasons) > 9
    assert {reason for reason in reasons if f'"{reason}"' not in source} == set()


def test_no_page_is_longer_than_it_is_read() -> None:
    assert len(text_of(README).splitlines()) <= 300


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | int | float | str | list | tuple | None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_is_left_to_be_filled_in(page: Path) -> None:
    assert re.findall(r"\b(?:FIGURE|TODO|TBD|FIXME|XXX)\b.*", text_of(page)) == []
