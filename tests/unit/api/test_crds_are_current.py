"""The checked-in CustomResourceDefinitions are what the models say; `make crds` writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.api import crd_documents

CRDS = Path(__file__).parents[3] / "crds"


def test_checked_in_definitions_are_those_of_the_models() -> None:
    written = {path.name: path.read_text() for path in CRDS.glob("*.yaml")}
    assert written == crd_documents(), "run `make crds` and commit crds/"


def test_generation_does_not_depend_on_the_process(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-m", "moorage.api", str(tmp_path)], check=True, env=environment)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == crd_documents()


@pytest.mark.parametrize("text", crd_documents().values(), ids=crd_documents().keys())
def test_every_field_of_spec_and_status_is_described(text: str) -> None:
    version = yaml.safe_load(text)["spec"]["versions"][0]
    root = version["schema"]["openAPIV3Schema"]
    assert root["description"]
    undescribed = [
        path
        for part in ("spec", "status")
        for path, schema in _fields(root["properties"][part], part)
        if len(schema.get("description", "")) < 10
    ]
    assert undescribed == []


@pytest.mark.parametrize("text", crd_documents().values(), ids=crd_documents().keys())
def test_tables_in_descriptions_fit_the_width_of_kubectl_explain(text: str) -> None:
    root = yaml.safe_load(text)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    too_wide = [
        (path, line)
        for path, schema in _fields(root, "")
        for line in schema.get("description", "").splitlines()
        if line.startswith(" ") and len(line) > 76
    ]
    assert too_wide == []


def _fields(schema: dict[str, Any], path: str) -> list[tuple[str, dict[str, Any]]]:
    found = [(path, schema)]
    for name, inner in schema.get("properties", {}).items():
        found += _fields(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if "properties" in schema.get(name, {}):
            found += _fields(schema[name], f"{path}[]")
    return found
