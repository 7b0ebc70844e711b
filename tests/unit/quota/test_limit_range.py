"""The LimitRange that stands for the defaults of a NamespaceQuota."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.quota.limit_range import limit_range, says_the_same
from moorage.quota.projection import Owner
from tests.builders import limits

DEFAULTS = limits(default={"memory": "512Mi"}, default_request={"cpu": "200m"})
AS_STORED = {"type": "Container", "default": {"memory": "0.5Gi"}, "defaultRequest": {"cpu": "0.2", "memory": "512Mi"}}


def test_it_has_the_defaults_and_nothing_else() -> None:
    made = limit_range(Owner("team-a", "team", "uid-1"), DEFAULTS)
    assert (made["kind"], made["metadata"]["name"]) == ("LimitRange", "moorage-team")
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert made["spec"] == {
        "limits": [{"type": "Container", "default": {"memory": "512Mi"}, "defaultRequest": {"cpu": "200m"}}]
    }


def test_what_the_api_server_stores_of_it_is_the_same() -> None:
    assert says_the_same(DEFAULTS, {"spec": {"limits": [AS_STORED]}})


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([], id="emptied"),
        pytest.param([AS_STORED, {"type": "Pod", "max": {"cpu": "1"}}], id="another-entry"),
        pytest.param([{**AS_STORED, "type": "Pod"}], id="another-type"),
        pytest.param([{**AS_STORED, "default": {"memory": "1Gi"}}], id="another-limit"),
        pytest.param([{**AS_STORED, "defaultRequest": {"cpu": "200m"}}], id="a-request-less"),
        pytest.param([{**AS_STORED, "max": {"cpu": "1"}}], id="a-bound"),
        pytest.param([{**AS_STORED, "maxLimitRequestRatio": {"cpu": "2"}}], id="a-ratio"),
        pytest.param([{**AS_STORED, "default": {"memory": "lots"}}], id="nonsense"),
    ],
)
def test_an_edit_is_seen(entries: list[dict[str, Any]]) -> None:
    assert not says_the_same(DEFAULTS, {"spec": {"limits": entries}})
