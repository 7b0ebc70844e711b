"""Fixtures for all tests: a real control plane for those that ask for it, and figures that are printed in the end."""

pytest_plugins = ["tests.figures", "tests.controlplane.fixtures"]
