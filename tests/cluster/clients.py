"""Fixtures for tests that compare with native quotas: a quick client, and the objects that quotas refer to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.case_objects import Prerequisites
from tests.cluster.rest import Rest, rest_client
from tests.controlplane.cluster import Cluster


@pytest.fixture(scope="session")
def rest(crds: Cluster) -> Iterator[Rest]:
    """A client of the cluster, which holds the classes and definitions of quota-cases.yaml."""
    with rest_client(crds.kubeconfig) as client:
        prerequisites = Prerequisites(client)
        try:
            prerequisites.make()
            yield client
        finally:
            prerequisites.remove()
