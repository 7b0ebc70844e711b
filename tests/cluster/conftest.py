"""Fixtures for tests against a real API server."""

from tests.cluster.crds import crds, moorage_api

__all__ = ["crds", "moorage_api"]
