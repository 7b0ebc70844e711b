"""Kubeconfig files."""

import base64
import json
from pathlib import Path
from typing import Any

from .certificates import KeyPair

Json = dict[str, Any]


def cluster_entry(server: str, authority: Path) -> Json:
    """The `cluster` of a server whose certificate an authority of ours signed."""
    return {"server": server, "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode()}


def client_certificate(pair: KeyPair) -> Json:
    """The `user` of a client that has a certificate."""
    return {
        "client-certificate-data": base64.b64encode(pair.certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(pair.key.read_bytes()).decode(),
    }


def make_kubeconfig(name: str, cluster: Json, user: Json, *, namespace: str | None = None) -> Json:
    """A kubeconfig with one context."""
    context = {"cluster": name, "user": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def write_kubeconfig(path: Path, content: Json) -> Path:
    """Write a kubeconfig (JSON is YAML) that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path
