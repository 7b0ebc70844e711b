"""Pods of every shape, judged by our rules and by `moorage explain`; tests/cluster asks the API server the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.cli import main
from tests.pod_shapes import HELD, QUOTAS, SHAPES, Object, Shape
from tests.shape_verdicts import numbers, predicted


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) == len({shape.id for shape in SHAPES}) >= 60
    assert {shape.quotas for shape in SHAPES} == set(QUOTAS)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_rules_say_what_the_table_says(shape: Shape) -> None:
    verdict = predicted(shape)
    assert tuple(dict.fromkeys(each.step for each in verdict.failures)) == shape.refused_by
    filled = {
        name: {side: given for side in ("requests", "limits") if (given := dict(each.given(side)))}
        for name, each in verdict.defaulted.items()
    }
    assert numbers(filled) == numbers(shape.filled_in)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_explain_says_the_same(shape: Shape, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quotas = tmp_path / "quotas.yaml"
    quotas.write_text(yaml.safe_dump_all(_quota(name, spec) for name, spec in QUOTAS[shape.quotas].items()))
    objects, manifest = tmp_path / "objects.yaml", tmp_path / "pod.yaml"
    held = [_pod("held", HELD[shape.quotas])] if shape.quotas in HELD else []
    objects.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": held}))
    manifest.write_text(yaml.safe_dump(_pod("candidate", shape.spec)))

    code = main(["explain", "-f", str(manifest), "--quota", str(quotas), "--objects", str(objects), "-o", "json"])
    said: Any = json.loads(capsys.readouterr().out)
    assert (code, said["verdict"]) == ((1, "Refused") if shape.refused_by else (0, "Admitted"))
    [candidate] = said["objects"]
    assert tuple(dict.fromkeys(each["step"] for each in candidate["failures"])) == shape.refused_by
    filled = {
        name: {side: each for side, each in given.items() if each} for name, given in candidate["defaulted"].items()
    }
    assert numbers(filled) == numbers(shape.filled_in)


def _quota(name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": "team-a"}
    return {"apiVersion": "moorage.dev/v1alpha1", "kind": "NamespaceQuota", "metadata": metadata, "spec": spec}


def _pod(name: str, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team-a"}, "spec": spec}
