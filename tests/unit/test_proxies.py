"""The way to the API server leads through a proxy in the same cases as kubectl's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moorage.cli.live import connected
from moorage.cluster.kubeconfig import read_kubeconfig

PROXY = "http://proxy.example:3128"


def kubeconfig(folder: Path, server: str, **cluster: str) -> str:
    content = {
        "clusters": [{"name": "it", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "it", "user": {"token": "secret"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", "internal.example,10.0.0.7")


@pytest.mark.parametrize(
    ("server", "proxy"),
    [
        pytest.param("https://api.example:6443", PROXY, id="a server elsewhere"),
        pytest.param("http://api.example:8080", None, id="a scheme without a proxy"),
        pytest.param("https://api.internal.example:6443", None, id="a domain in NO_PROXY"),
        pytest.param("https://10.0.0.7:6443", None, id="an address in NO_PROXY"),
        pytest.param("https://127.0.0.1:6443", None, id="this machine by its address"),
        pytest.param("https://[::1]:6443", None, id="this machine by its IPv6 address"),
        pytest.param("https://localhost:6443", None, id="this machine by its name"),
    ],
)
def test_the_environment_names_a_proxy(tmp_path: Path, server: str, proxy: str | None) -> None:
    path = kubeconfig(tmp_path, server)
    assert read_kubeconfig(path, None).proxy_url == proxy
    with connected(path, None) as api:
        assert not api.session.trust_env
        assert api.session.proxies.get("https") == proxy


def test_the_kubeconfig_has_the_last_word(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, "https://127.0.0.1:6443", **{"proxy-url": "http://other.example:3128"})
    assert read_kubeconfig(path, None).proxy_url == "http://other.example:3128"
