"""The condition Enforced: what it says of each state of enforcement."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.status.enforcement import Enforcement, Means, enforced

TOTALS = Means("totals by ResourceQuota moorage-team", "TotalsNotInForce")
POLICIES = Means("single objects by the policies moorage-pods", "PoliciesNotInForce")
MISSING = Means("single objects by the policies moorage-pods", "PoliciesNotInForce", "policy moorage-pods is away")
LAGGING = Means("totals by ResourceQuota moorage-team", "TotalsNotInForce", "its status lags")


@pytest.mark.parametrize(
    ("found", "status", "reason", "message"),
    [
        pytest.param(
            {"means": (TOTALS, POLICIES)},
            "True",
            "Proved",
            "proved on the API server: totals by ResourceQuota moorage-team, "
            "single objects by the policies moorage-pods",
            id="everything-is-proved",
        ),
        pytest.param({}, "True", "NothingToEnforce", "the spec limits nothing", id="nothing-to-enforce"),
        pytest.param(
            {"means": (TOTALS, MISSING)},
            "False",
            "PoliciesNotInForce",
            "policy moorage-pods is away; in force: totals by ResourceQuota moorage-team",
            id="policies-are-missing",
        ),
        pytest.param(
            {"means": (LAGGING, MISSING)},
            "False",
            "TotalsNotInForce",
            "its status lags; policy moorage-pods is away",
            id="everything-is-missing",
        ),
        pytest.param(
            {"means": (LAGGING,), "is_settling": True}, "Unknown", "Proving", "its status lags", id="just-changed"
        ),
        pytest.param(
            {"means": (TOTALS,), "uncounted": ("nvidia.com/gpu",)},
            "False",
            "UnsupportedResource",
            "nvidia.com/gpu: never counted, so never limited; in force: totals by ResourceQuota moorage-team",
            id="a-name-that-nothing-counts",
        ),
        pytest.param(
            {"means": (TOTALS,), "aggregated": ("gadgets.example.com", "widgets.example.com")},
            "False",
            "AggregatedAPI",
            "gadgets.example.com and widgets.example.com: counted, but served by an aggregated API, which the API "
            "server's quotas do not cover; in force: totals by ResourceQuota moorage-team",
            id="kinds-of-aggregated-apis",
        ),
        pytest.param(
            {"is_audit": True, "uncounted": ("nvidia.com/gpu",)},
            "False",
            "Audit",
            "spec.enforcement is Audit: nothing is refused and nothing is filled in",
            id="audit",
        ),
        pytest.param(
            {"is_exempt": True},
            "False",
            "ExemptNamespace",
            "nothing is refused in this namespace, so that no quota can keep the cluster or Moorage from running",
            id="a-namespace-that-cannot-be-locked",
        ),
        pytest.param(
            {"means": (TOTALS,), "notes": ("at noon it was put back",)},
            "True",
            "Proved",
            "proved on the API server: totals by ResourceQuota moorage-team; at noon it was put back",
            id="an-edit-was-put-back",
        ),
    ],
)
def test_it_says_how_enforcement_stands(found: dict[str, Any], status: str, reason: str, message: str) -> None:
    condition = enforced(Enforcement(**found), 3)
    assert (condition.status, condition.reason, condition.message) == (status, reason, message)
    assert (condition.type, condition.observed_generation) == ("Enforced", 3)
