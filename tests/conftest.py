"""Fixtures for all tests: a real control plane for those that ask for it."""

pytest_plugins = ["tests.figures", "tests.controlplane.fixtures"]
