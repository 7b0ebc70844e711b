"""The certificate names what the API server calls the webhook by."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.admission.certificate_store import host_of
from moorage.cluster.errors import ClusterError


@pytest.mark.parametrize(
    ("called", "host"),
    [
        ({"service": {"name": "moorage", "namespace": "moorage-system", "port": 443}}, "moorage.moorage-system.svc"),
        ({"url": "https://127.0.0.1:8443/explain"}, "127.0.0.1"),
        ({"url": "https://[::0001]:8443/explain"}, "::1"),
        ({"url": "https://Hook.Example.com/x"}, "hook.example.com"),
    ],
)
def test_it_is_the_host_of_the_service_or_url(called: dict[str, Any], host: str) -> None:
    assert host_of(called) == host


@pytest.mark.parametrize("called", [{}, {"url": ""}, {"url": "nonsense"}])
def test_one_that_names_none_is_an_error(called: dict[str, Any]) -> None:
    with pytest.raises(ClusterError, match="whom to call"):
        host_of(called)
