"""Any object may be referred to: what is kept of it, and what a custom kind's own fields are taken for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.cluster.referenced_object import decode_referenced

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app"}]}}


def encoded(**fields: Any) -> bytes:
    return msgspec.json.encode({"metadata": {"uid": "u1", "resourceVersion": "7", "generation": 3}, **fields})


@pytest.mark.parametrize(
    ("fields", "template", "parallelism"),
    [
        pytest.param({"template": TEMPLATE}, TEMPLATE, None, id="PodTemplate"),
        pytest.param({"spec": {"replicas": 3, "template": TEMPLATE}}, TEMPLATE, None, id="Deployment"),
        pytest.param({"spec": {"parallelism": 6, "template": TEMPLATE}}, TEMPLATE, 6, id="Job"),
        pytest.param({"spec": {"size": 3}}, None, None, id="a kind without a template"),
        pytest.param({"spec": {"template": {"size": 3}}}, None, None, id="a template of something else"),
        pytest.param({"spec": {"template": "small"}}, None, None, id="a template that is a text"),
        pytest.param({"spec": {"parallelism": "much", "template": TEMPLATE}}, None, None, id="a spec of other types"),
        pytest.param({"spec": []}, None, None, id="a spec that is a list"),
        pytest.param({}, None, None, id="nothing"),
    ],
)
def test_the_template_and_the_parallelism_are_kept(
    fields: dict[str, Any], template: Any, parallelism: int | None
) -> None:
    record = decode_referenced(encoded(**fields))
    assert (record.uid, record.resource_version, record.generation) == ("u1", 7, 3)
    assert (msgspec.json.decode(record.template) if record.template else None) == template
    assert record.parallelism == parallelism


def test_what_has_no_readable_metadata_is_an_error() -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_referenced(b'{"metadata": []}')
