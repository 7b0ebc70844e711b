"""The manifests as they are checked in, without what kustomize makes of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]
MANIFESTS = REPOSITORY / "manifests"
BASE = MANIFESTS / "base"
POLICIES = MANIFESTS / "policies"
EXAMPLES = MANIFESTS / "examples"
NAMESPACES = MANIFESTS / "overlays" / "namespaces"
LIMIT_RANGES = MANIFESTS / "overlays" / "limitranges"
CRDS = REPOSITORY / "crds"
AGGREGATE = "moorage.dev/aggregate-to-operator"

Object = dict[str, Any]


@dataclass(frozen=True)
class Document:
    """One object of a file."""

    path: Path
    content: Object

    def __str__(self) -> str:
        name = self.content.get("metadata", {}).get("name", "")
        return f"{self.path.relative_to(REPOSITORY)}:{self.content['kind']}/{name}"


def read(path: Path) -> list[Document]:
    """Return the objects of a file."""
    return [Document(path, content) for content in yaml.safe_load_all(path.read_text()) if content]


def read_folder(folder: Path) -> list[Document]:
    """Return the objects of all YAML files under a folder."""
    return [document for path in sorted(folder.rglob("*.yaml")) for document in read(path)]


def all_documents() -> list[Document]:
    """Return everything that can be applied or built."""
    return [*read_folder(MANIFESTS), *read_folder(CRDS), *read(CRDS / "Kustomization")]


def version() -> str:
    """Return the version of the project."""
    project: Object = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def of_kind(documents: list[Document], kind: str) -> list[Object]:
    """Return the objects of a kind."""
    return [document.content for document in documents if document.content["kind"] == kind]


def rights(rules: list[Object]) -> Iterator[tuple[str, str, str]]:
    """Take RBAC rules apart: group, resource (with subresource), verb."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, resource, verb


def operator_rules(roles: list[Object]) -> list[Object]:
    """Return the rules of all ClusterRoles that the operator's sums up, and of the Roles, which are all its own."""
    ours = [each for each in roles if each["kind"] == "Role" or AGGREGATE in each["metadata"].get("labels", {})]
    return [rule for role in ours for rule in role["rules"]]
