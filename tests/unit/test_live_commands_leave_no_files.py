"""Commands on a live cluster hand credentials to their client as files, which must not outlive them."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

import pytest

from moorage.cli.live import connected

PEM = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    def data(kind: str) -> str:
        return base64.b64encode(PEM.format(kind).encode()).decode()

    user = {"client-certificate-data": data("CERTIFICATE"), "client-key-data": data("PRIVATE KEY")}
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": data("CERTIFICATE")}
    content = {
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_certificates_and_key_are_there_as_long_as_they_are_needed(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with connected(str(kubeconfig), None) as api:
        key = Path(api.config.user["client-key"].filename())
        assert key.read_text(encoding="utf-8") == PEM.format("PRIVATE KEY")
        assert key.parent.stat().st_mode & 0o077 == 0, "for nobody else to read"
        assert api.config.user["client-certificate"].bytes() == PEM.format("CERTIFICATE").encode()
        assert api.config.cluster["certificate-authority"].bytes() == PEM.format("CERTIFICATE").encode()
    # The library that reads kubeconfigs has files too, and removes them when the process ends.
    assert [left for left in place.iterdir() if left.name.startswith(("moorage-", "pykube"))] == []
