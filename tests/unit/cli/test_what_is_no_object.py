"""What holds nothing, no text, or objects of odd shapes is bad input: one line, and exit code 2."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Moorage

from moorage.cli import main

QUOTA = "manifests/examples/namespacequota.yaml"
COMMANDS = [
    ("usage", "--quota", QUOTA, "-f"),
    ("explain", "--quota", QUOTA, "-f"),
    ("nodes", "-f"),
    ("size", "-f"),
]
BINARY = b"\xf8\x01\xff\x00pod"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a"},
    "status": {"capacity": {"memory": "8Gi", "pods": "29"}, "allocatable": {"memory": "7Gi", "pods": "29"}},
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each[0])
def test_nothing_at_all_is_not_taken_for_no_objects(moorage: Moorage, command: tuple[str, ...]) -> None:
    answer = moorage(*command, "-", stdin="# as of a command that failed\n---\n")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"moorage {command[0]}: -: there is nothing in it\n"


def test_an_empty_list_is_no_objects(moorage: Moorage) -> None:
    answer = moorage("usage", "--quota", QUOTA, "-f", "-", stdin='{"apiVersion": "v1", "kind": "List", "items": []}')
    assert answer.code == 0
    assert "pods                     0 of 100   0%" in answer.out


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
@pytest.mark.parametrize("command", [*COMMANDS, ("subnet",)], ids=lambda each: each[0])
def test_bytes_that_are_no_text_are_told_so(
    command: tuple[str, ...], errors: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BINARY), encoding="utf-8", errors=errors))
    assert main([*command, "-"]) == 2
    assert capsys.readouterr().err == f"moorage {command[0]}: standard input cannot be read: it is not UTF-8 text\n"


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_trace_that_is_no_text_is_told_so(
    errors: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BINARY), encoding="utf-8", errors=errors))
    assert main(["simulate", "--trace", "-", "--active", "1", "--resume", "30s", "--cold", "90s"]) == 2
    assert capsys.readouterr().err == "moorage simulate: - cannot be read: it is not text in UTF-8\n"


@pytest.mark.parametrize(
    ("part", "value", "told"),
    [
        ("spec", [1], "spec: Expected `object | null`, got `array`"),
        ("status", "Running", "status: Expected `object | null`, got `str`"),
        ("spec", {"nodeName": 1}, "spec.nodeName: Expected `str | null`, got `int`"),
    ],
)
def test_pods_of_odd_shapes_are_named(moorage: Moorage, part: str, value: Any, told: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, part: value}
    answer = moorage("nodes", "-f", "-", stdin=json.dumps({"kind": "List", "items": [NODE, pod]}))
    assert (answer.code, answer.err) == (2, f"moorage nodes: standard input: Pod p: {told}\n")


@pytest.mark.parametrize("amount", ["1e400", "", "x", None, float("nan")])
def test_a_unit_whose_amounts_do_not_parse_has_no_size(moorage: Moorage, tmp_path: Path, amount: Any) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": amount}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    path = tmp_path / "pod.yaml"
    path.write_text(json.dumps(pod).replace("NaN", ".nan"))
    answer = moorage("size", "-f", "tests/demo/objects/team-a.yaml", "--template", str(path))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"moorage size: {path}: Pod p: ")
    assert answer.err.count("\n") == 1


def test_a_setting_with_thousands_of_digits_is_as_if_it_was_not_set(moorage: Moorage) -> None:
    env = [{"name": "WARM_IP_TARGET", "value": "1" * 5000}]
    spec = {"template": {"spec": {"containers": [{"name": "aws-node", "image": "x:v1.9.0", "env": env}]}}}
    cni = {"kind": "DaemonSet", "metadata": {"name": "aws-node", "namespace": "kube-system"}, "spec": spec}
    answer = moorage("nodes", "-f", "-", "-o", "json", stdin=json.dumps({"kind": "List", "items": [NODE, cni]}))
    assert answer.json["cni"]["warmIpTarget"] == 0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1" * 200_000, "cannot be read: field larger than field limit (131072)"),
        ("time,count\n1," + "1" * 5000, "is not a count of pods"),
        ("0\n1e999999999", "1e999999999 is too large for a time in seconds"),
    ],
)
def test_numbers_without_end_in_a_trace_are_told(moorage: Moorage, rows: str, told: str) -> None:
    arguments = ("--active", "1", "--resume", "30s", "--cold", "90s")
    answer = moorage("simulate", "--trace", "-", *arguments, stdin=f"time\n{rows}" if "," not in rows else rows)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert told in answer.err
