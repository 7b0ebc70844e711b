"""Each schema bound and CEL rule on the real API server, with what it says: the same table as for specs from files."""

from __future__ import annotations

import pytest

from tests.cluster.crds import ApiServer, Refusal
from tests.unit.api.buffer_cases import BUFFERS
from tests.unit.api.case import Case
from tests.unit.api.limits_cases import ENFORCEMENT, LIMITS
from tests.unit.api.quota_cases import QUOTAS
from tests.unit.api.upstream_cases import admission_rows, is_accepted, spec_of

_ECHOES = ("in body should match", "some validation rules were not checked")
"""What the API server says besides, about the same fault."""


def assert_verdict(found: set[Refusal], case: Case) -> None:
    expected = case.problems if case.server is None else case.server
    causes = {cause for cause in found if not _is_echo(cause)}
    unexplained = {cause for cause in causes if not any(_says(cause, *each) for each in expected)}
    missing = {each for each in expected if not any(_says(cause, *each) for cause in causes)}
    assert (unexplained, missing) == (set(), set())


def _says(cause: Refusal, path: str, message: str) -> bool:
    """Whether this is the message; the API server may put the value in front of it."""
    is_whole = cause.message in (message, f"Invalid value: {message}")
    return cause.path == path and (
        is_whole or (cause.message.startswith("Invalid value: ") and cause.message.endswith(f": {message}"))
    )


def _is_echo(cause: Refusal) -> bool:
    return any(echo in cause.message for echo in _ECHOES) or cause.path == ".spec.replicas"


@pytest.mark.parametrize("case", [*QUOTAS, *LIMITS, *ENFORCEMENT], ids=str)
def test_namespace_quota(api_server: ApiServer, case: Case) -> None:
    assert_verdict(api_server.refusals("NamespaceQuota", "default", case.spec), case)


@pytest.mark.parametrize("case", BUFFERS, ids=str)
def test_capacity_buffer(api_server: ApiServer, case: Case) -> None:
    assert_verdict(api_server.refusals("CapacityBuffer", "default", case.spec), case)


@pytest.mark.parametrize("row", admission_rows(), ids=lambda row: row["id"])
def test_objects_of_upstream_get_the_verdict_of_upstream(api_server: ApiServer, row: dict[str, str]) -> None:
    refusals = api_server.refusals("CapacityBuffer", "default", spec_of(row))
    assert (refusals == set()) == is_accepted(row), row["note"]


def test_a_null_is_dropped_by_a_plain_create(api_server: ApiServer) -> None:
    assert api_server.refusals("NamespaceQuota", "default", {"hard": None, "scopes": None}) == set()


@pytest.mark.parametrize(
    ("kind", "case"),
    [*(("ResourceQuota", case) for case in QUOTAS), *(("LimitRange", case) for case in LIMITS)],
    ids=str,
)
def test_the_native_kinds_give_the_same_verdict(api_server: ApiServer, kind: str, case: Case) -> None:
    refusals = api_server.refusals(kind, "default", case.spec)
    if case.native_differs:
        assert bool(refusals) != bool(case.problems), f"no longer: {case.native_differs}"
    else:
        assert bool(refusals) == bool(case.problems), refusals
