"""Talking to the API server: the only package that knows HTTP, resource versions and credentials."""
