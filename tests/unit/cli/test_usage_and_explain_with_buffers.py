"""Units of buffers on the command line: counted apart, and no reason to refuse a real pod."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.cli.conftest import Moorage

QUOTA = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "NamespaceQuota",
    "metadata": {"name": "q", "namespace": "a"},
    "spec": {"hard": {"requests.cpu": "3", "pods": 3}},
}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "c", "resources": {"requests": {"cpu": "1"}}}
    meta = {"name": name, "namespace": "a"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


THERE = [pod("real"), *(pod(name, priorityClassName="moorage-placeholder") for name in ("one", "two"))]


def listed(*documents: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})


def test_placeholders_are_told_apart(moorage: Moorage) -> None:
    (found,) = moorage("usage", "-f", "-", "-o", "json", stdin=listed(QUOTA, *THERE)).json["quotas"]
    assert found["used"] == {"requests.cpu": "3", "pods": "3"}
    assert found["buffered"] == {"requests.cpu": "2", "pods": "2"}
    assert found["holders"][0]["top"] == [{"workload": "Pod/real", "used": "1", "pods": 1}]
    assert "pods          3 of 3  100%  2 by buffers" in moorage("usage", "-f", "-", stdin=listed(QUOTA, *THERE)).out


def test_units_that_are_no_pods_are_what_the_status_says(moorage: Moorage) -> None:
    stored = {**QUOTA, "status": {"buffered": {"requests.cpu": "1500m", "pods": "1"}}}
    (found,) = moorage("usage", "-f", "-", "-o", "json", stdin=listed(stored, *THERE)).json["quotas"]
    assert found["used"] == {"requests.cpu": "2500m", "pods": "2"}


def test_a_quota_that_ignores_buffers_has_none(moorage: Moorage) -> None:
    ignoring = {**QUOTA, "spec": {**QUOTA["spec"], "buffers": "Ignore"}}  # type: ignore[dict-item]
    (found,) = moorage("usage", "-f", "-", "-o", "json", stdin=listed(ignoring, *THERE)).json["quotas"]
    assert (found["used"]["pods"], found["buffered"]) == ("1", {})


def test_a_native_quota_counts_placeholders_as_pods(moorage: Moorage) -> None:
    native = {**QUOTA, "apiVersion": "v1", "kind": "ResourceQuota"}
    (found,) = moorage("usage", "-f", "-", "-o", "json", stdin=listed(native, *THERE)).json["quotas"]
    assert (found["used"]["pods"], found["buffered"]) == ("3", {})


@pytest.mark.parametrize(("kind", "code"), [("NamespaceQuota", 0), ("ResourceQuota", 1)])
def test_a_pod_that_fits_only_without_units_is_admitted_but_by_quotas_that_know_none(
    moorage: Moorage, tmp_path: Any, kind: str, code: int
) -> None:
    versions = {"NamespaceQuota": "moorage.dev/v1alpha1", "ResourceQuota": "v1"}
    quota, there = tmp_path / "quota.json", tmp_path / "objects.json"
    quota.write_text(json.dumps({**QUOTA, "apiVersion": versions[kind], "kind": kind}))
    there.write_text(listed(*THERE))
    answer = moorage(
        "explain", "-f", "-", "--quota", str(quota), "--objects", str(there), "-o", "json", stdin=json.dumps(pod("new"))
    )
    assert answer.code == code
    if code == 0:
        assert answer.json["objects"][0]["fits"] == 2


def test_a_status_that_cannot_be_read_is_named(moorage: Moorage) -> None:
    answer = moorage("usage", "-f", "-", stdin=listed({**QUOTA, "status": {"buffered": {"pods": "many"}}}))
    assert answer.code == 2
    assert "status.buffered" in answer.err
