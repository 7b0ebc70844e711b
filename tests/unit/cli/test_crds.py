"""`moorage crds` prints what is checked in under crds/."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.unit.cli.conftest import Moorage

CRDS = Path(__file__).parents[3] / "crds"


def test_yaml_is_what_is_checked_in(moorage: Moorage) -> None:
    answer = moorage("crds")
    printed = list(yaml.safe_load_all(answer.out))
    checked_in = [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*moorage.dev.yaml"))]
    assert sorted(printed, key=lambda each: each["metadata"]["name"]) == checked_in


def test_json_is_one_list(moorage: Moorage) -> None:
    answer = moorage("crds", "-o", "json")
    assert [item["kind"] for item in answer.json["items"]] == ["CustomResourceDefinition"] * 2


def test_the_version_is_that_of_the_package(moorage: Moorage) -> None:
    assert moorage("--version").out.startswith("moorage 0.")


def test_an_unknown_command_is_one_clear_line(moorage: Moorage) -> None:
    answer = moorage("frobnicate")
    assert (answer.code, answer.err) == (2, "moorage: No such command 'frobnicate'.\n")
