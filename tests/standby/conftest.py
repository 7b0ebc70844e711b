"""Fixtures of tests with suspended nodes: the autoscalers' API, a test autoscaler, and the operator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.backends import placeholder_class
from tests.cluster.crds import crds
from tests.cluster.operators import operator
from tests.cluster.upstream import install_upstream, remove_upstream
from tests.controlplane import ControlPlane
from tests.controlplane.cluster import Cluster
from tests.standby.autoscaler import StandbyAutoscaler, standby_autoscaler

__all__ = ["crds", "operator", "placeholder_class"]


@pytest.fixture(scope="module")
def upstream(crds: Cluster) -> Iterator[Cluster]:
    """A cluster of our own that serves the autoscalers' API."""
    if not isinstance(crds, ControlPlane):
        pytest.skip("needs a control plane of our own, to make nodes in")
    install_upstream(crds)
    yield crds
    remove_upstream(crds)


@pytest.fixture
def autoscaler(upstream: Cluster) -> Iterator[StandbyAutoscaler]:
    """An autoscaler of the test's own."""
    with standby_autoscaler(upstream) as found:
        yield found
