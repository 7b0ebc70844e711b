"""Checks a raw value against a schema of ours, with the verdicts of the API server and paths to each fault."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from moorage.api.rules import Rule
from moorage.api.schema import INT_OR_STRING, VALIDATIONS, Schema
from moorage.quantity import MAX_INT64
from moorage.quoting import MOST_OF_A_NAME, shortened


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    path: str
    message: str
    hides_rules: bool = False
    """The value is not of the shape that rules expect, so they are not asked."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def cleaned(value: Any, schema: Schema, path: str) -> tuple[Any, list[Problem]]:
    """Return the value as the API server stores it, and the fields that are unknown: nulls go, 3.0 becomes 3.

    A null in a map stays and is a misfit, as for server-side apply: `cpu:` without a value must not mean "no limit".
    """
    unknown: list[Problem] = []
    return _cleaned(value, schema, path, unknown), unknown


def _cleaned(value: Any, schema: Schema, path: str, unknown: list[Problem]) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple) and "items" in schema:
        return [_cleaned(each, schema["items"], f"{path}[{at}]", unknown) for at, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, each in value.items():
        inner = _schema_of_key(schema, key)
        if each is None and "additionalProperties" not in schema:
            continue
        if inner is not None:
            kept[str(key)] = _cleaned(each, inner, _path_to(path, schema, key), unknown)
        elif schema.get("type") == "object":
            unknown.append(Problem(_path_to(path, schema, key), _unknown_field(str(key), list(schema["properties"]))))
    return kept


def _unknown_field(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return "unknown field; " + (f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}")


def misfits(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    """Yield what does not fit the schema, rules aside."""
    wrong_type = _wrong_type(value, schema)
    if wrong_type:
        yield Problem(path, wrong_type, hides_rules=True)
        return
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(path, f"must be one of {', '.join(schema['enum'])}, not {_shown(value)}", hides_rules=True)
    yield from _out_of_bounds(value, schema, path)
    for name in schema.get("required", ()):
        if name not in value:
            yield Problem(f"{path}.{name}", "is required", hides_rules=True)
    yield from _repeated(value, schema, path)
    for inner_value, inner_schema, inner_path in _parts(value, schema, path):
        yield from misfits(inner_value, inner_schema, inner_path)


def complaints(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    """Yield what the rules have to say about a value that fits the schema."""
    rules: list[Rule] = schema.get(VALIDATIONS, [])
    for rule in rules:
        complaint = rule.complaint(value)
        if complaint is not None:
            yield Problem(f"{path}.{rule.field}" if rule.field else path, complaint)
    for inner_value, inner_schema, inner_path in _parts(value, schema, path):
        yield from complaints(inner_value, inner_schema, inner_path)


def _wrong_type(value: Any, schema: Schema) -> str | None:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and abs(value) > MAX_INT64:
        return f"{shortened(str(value))} is too large: a bare integer is at most {MAX_INT64}"
    if INT_OR_STRING in schema:
        if is_integer or isinstance(value, str):
            return None
        hint = f'; quote it: "{value}"' if isinstance(value, float) else ""
        return f"must be an integer or a string, not {_shown(value)}{hint}"
    fits = {
        "string": isinstance(value, str),
        "integer": is_integer,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
        "boolean": isinstance(value, bool),
    }[schema["type"]]
    return None if fits else f"must be of type {schema['type']}, not {_shown(value)}"


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, default=str))


def _out_of_bounds(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)):
            yield Problem(path, f"may not be longer than {schema['maxLength']} characters", hides_rules=True)
        if len(value) < schema.get("minLength", 0):
            yield Problem(path, "must not be empty")
        if "pattern" in schema and VALIDATIONS not in schema and re.fullmatch(schema["pattern"], value) is None:
            yield Problem(path, f"must match {schema['pattern']}")
    elif isinstance(value, int):
        if value < schema.get("minimum", value):
            yield Problem(path, f"must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            yield Problem(path, f"must be at most {schema['maximum']}")
    elif (most := schema.get("maxItems", schema.get("maxProperties"))) is not None and len(value) > most:
        yield Problem(path, f"must have at most {most} entries", hides_rules=True)


def _repeated(value: Any, schema: Schema, path: str) -> Iterator[Problem]:
    """Yield the entries of a list whose keys another entry has already."""
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen = set()
    for at, entry in enumerate(value if keys else ()):
        own = tuple(_comparable(entry.get(key)) for key in keys) if isinstance(entry, dict) else None
        if own is not None and own in seen:
            named = ", ".join(f"{key} {_shown(entry.get(key))}" for key in keys)
            yield Problem(f"{path}[{at}]", f"there is an entry with {named} already: put both into one")
        seen.add(own)


def _comparable(part: Any) -> Any:
    """Return a value that can be looked up, also of a key that is of a wrong type."""
    return part if isinstance(part, str) else repr(part)


def _parts(value: Any, schema: Schema, path: str) -> Iterator[tuple[Any, Schema, str]]:
    """Yield the values inside, each with its schema and path."""
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield each, schema["items"], f"{path}[{at}]"
    elif isinstance(value, dict):
        for key, each in value.items():
            inner = _schema_of_key(schema, key)
            if inner is not None:
                yield each, inner, _path_to(path, schema, key)


def _schema_of_key(schema: Schema, key: Any) -> Schema | None:
    inner: Schema | None = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return inner


def _path_to(path: str, schema: Schema, key: Any) -> str:
    """Return the path in the API server's spelling: keys of a map in brackets."""
    name = shortened(str(key), MOST_OF_A_NAME)
    return f"{path}[{name}]" if "additionalProperties" in schema else f"{path}.{name}"
