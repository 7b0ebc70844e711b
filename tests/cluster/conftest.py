"""Fixtures for tests against a real API server."""

from tests.cluster.backends import placeholder_class
from tests.cluster.clients import rest
from tests.cluster.crds import api_server, crds
from tests.cluster.operators import operator, start_operator
from tests.cluster.policies import policies

__all__ = ["api_server", "crds", "operator", "placeholder_class", "policies", "rest", "start_operator"]
