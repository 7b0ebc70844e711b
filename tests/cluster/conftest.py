"""Fixtures for tests against a real API server."""

from collections.abc import Iterator

import pytest

from tests.cluster.backends import placeholder_class
from tests.cluster.clients import rest
from tests.cluster.crds import api_server, crds
from tests.cluster.operators import operator, start_operator
from tests.cluster.policies import policies, wait_until_judged_again
from tests.controlplane import ControlPlane
from tests.controlplane.commands import APISERVER

__all__ = ["api_server", "crds", "operator", "placeholder_class", "policies", "rest", "start_operator"]


@pytest.fixture(autouse=True)
def _judged_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let no test begin while an API server that another one restarted refuses what it cannot judge yet."""
    plane = request.getfixturevalue("control_plane") if "control_plane" in request.fixturenames else None
    before = plane.components[APISERVER].pid if isinstance(plane, ControlPlane) else None
    yield
    if isinstance(plane, ControlPlane) and plane.components[APISERVER].pid != before:
        wait_until_judged_again(plane)
