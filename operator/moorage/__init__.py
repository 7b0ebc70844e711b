"""Moorage: tenant quotas that explain themselves and warm capacity of the right size, for Kubernetes."""

from importlib.metadata import version

__version__ = version("moorage")
