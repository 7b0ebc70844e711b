"""Reading manifests: YAML or JSON, one document or many, lists as `kubectl get -o yaml` prints them, folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from moorage.cli.errors import BadInput
from moorage.cli.files import name_of, read_text

_SUFFIXES = (".yaml", ".yml", ".json")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """One object and where it was read from."""

    source: str
    body: dict[str, Any]
    resource: str = ""
    """What the cluster calls what it is, such as `gateways.gateway.networking.k8s.io`, if it comes from one."""

    @property
    def kind(self) -> str:
        """Its kind, such as Pod."""
        return str(self.body["kind"])

    @property
    def group(self) -> str:
        """Its API group; empty for the core group, and for a document without apiVersion."""
        group, slash, _ = str(self.body.get("apiVersion") or "").partition("/")
        return group if slash else ""

    @property
    def metadata(self) -> dict[str, Any]:
        """Its metadata; empty when there is none."""
        return self.body.get("metadata") or {}

    @property
    def spec(self) -> Any:
        """Its spec, whatever it is; an empty one when there is none."""
        spec = self.body.get("spec")
        return {} if spec is None else spec

    @property
    def name(self) -> str:
        """Its name, or what its name is made of; empty when there is none."""
        return str(self.metadata.get("name") or self.metadata.get("generateName") or "")

    def namespace(self, default: str) -> str:
        """Return its namespace, or the default when it names none."""
        return str(self.metadata.get("namespace") or default)

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.source}: {self.kind} {self.name}".rstrip()


def read_documents(places: Iterable[str]) -> list[Document]:
    """Read all objects in files, folders (not deeper) or standard input (`-`).

    Raises BadInput.
    """
    return [document for place in places for document in _read(place)]


def _read(place: str) -> Iterator[Document]:
    """Yield the objects of one place. A list may be empty; a text may not, such as of a command that failed."""
    bodies = [(source, body) for source, text in _texts(place) for body in _parse(source, text) if body is not None]
    if not bodies:
        raise BadInput(f"{place}: there is nothing in it")
    for source, body in bodies:
        yield from _objects(source, body)


def _texts(place: str) -> Iterator[tuple[str, str]]:
    path = Path(place)
    if place == "-" or not path.is_dir():
        yield name_of(place), read_text(place)
        return
    for each in sorted(path.iterdir()):
        if each.suffix in _SUFFIXES:
            yield str(each), read_text(str(each))


def _parse(source: str, text: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, Loader=_LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise BadInput(
            f"{source} is neither YAML nor JSON: {getattr(error, 'problem', None) or error}{place}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source} is neither YAML nor JSON: {error}") from error


def _objects(source: str, body: Any) -> Iterator[Document]:
    if not isinstance(body, dict) or not isinstance(body.get("kind"), str):
        raise BadInput(f"{source} holds something that is no Kubernetes object (it has no kind)")
    if not isinstance(body.get("metadata") or {}, dict):
        raise BadInput(f"{source}: {body['kind']}: metadata is not a mapping")
    if body["kind"].endswith("List") and isinstance(body.get("items"), list):
        kind = body["kind"].removesuffix("List")
        # The items of a typed list (PodList) carry no kind and version of their own.
        own = {"apiVersion": body.get("apiVersion"), "kind": kind} if kind else {}
        for item in body["items"]:
            yield from _objects(source, {**own, **item} if isinstance(item, dict) else item)
        return
    yield Document(source, body)
