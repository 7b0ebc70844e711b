"""Plain requests to the API server, thousands of them and from any thread: JSON out and in, and no client's checks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from moorage.cluster.credentials import Credentials
from tests.controlplane.waiting import wait_for

Object = dict[str, Any]

MERGE, STRATEGIC, JSON_PATCH = "merge", "strategic", "json"
_PATCHES = {
    MERGE: "application/merge-patch+json",
    STRATEGIC: "application/strategic-merge-patch+json",
    JSON_PATCH: "application/json-patch+json",
}
CONNECTIONS = 32
DISCOVERY_SECONDS = 30.0


@dataclass(frozen=True)
class Answer:
    """What the API server said."""

    code: int
    body: Object
    warnings: tuple[str, ...] = ()
    """What kubectl would print as warnings."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def ok(self) -> bool:
        return self.code < 300

    @property
    def message(self) -> str:
        """Why not, when it is not ok."""
        return str(self.body.get("message", ""))

    def require(self) -> Object:
        """Return the object; fail with the API server's words when there is none."""
        assert self.ok, f"{self.code}: {self.message}"
        return self.body


@dataclass(frozen=True)
class _Served:
    plural: str
    namespaced: bool


class Rest:
    """Sends objects as they are. Objects are named by kind (with `version` for kinds outside of v1) and name."""

    def __init__(self, kubeconfig: Path) -> None:
        access = Credentials.load(kubeconfig).read()
        self._server = access.server
        self._headers = {"Accept": "application/json"}
        if access.token:
            self._headers["Authorization"] = f"Bearer {access.token}"
        self._pool = urllib3.PoolManager(ssl_context=access.as_ssl_context(), maxsize=CONNECTIONS, block=True)
        self._served: dict[tuple[str, str], _Served] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        self._pool.clear()

    def create(self, namespace: str, manifest: Object, **parameters: str) -> Answer:
        path = self.path(namespace, manifest["kind"], manifest.get("apiVersion", "v1"))
        return self.request("POST", path, manifest, parameters=parameters)

    def get(self, namespace: str, kind: str, name: str, version: str = "v1") -> Answer:
        return self.request("GET", f"{self.path(namespace, kind, version)}/{name}")

    def items(self, namespace: str, kind: str, version: str = "v1", *, selector: str = "") -> list[Object]:
        parameters = {"labelSelector": selector} if selector else {}
        path = self.path(namespace, kind, version)
        found: list[Object] = self.request("GET", path, parameters=parameters).require()["items"]
        return found

    def patch(
        self, namespace: str, kind: str, name: str, changes: Any, *,
        version: str = "v1", sub: str = "", how: str = MERGE,
    ) -> Answer:  # fmt: skip
        path = f"{self.path(namespace, kind, version)}/{name}" + (f"/{sub}" if sub else "")
        return self.request("PATCH", path, changes, content_type=_PATCHES[how])

    def delete(self, namespace: str, kind: str, name: str, version: str = "v1", *, grace: int | None = None) -> Answer:
        path = f"{self.path(namespace, kind, version)}/{name}"
        parameters = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        return self.request("DELETE", path, parameters=parameters)

    def delete_all(self, namespace: str, kind: str, version: str = "v1", *, grace: int | None = None) -> Answer:
        parameters = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        return self.request("DELETE", self.path(namespace, kind, version), parameters=parameters)

    def wait_until_cached(self, stored: Object) -> None:
        """Wait until the API server's cache holds an object as it was stored.

        It tries an update on what the cache holds first, and charges quotas for that try too: a second update that
        comes too soon after the first would be charged twice.
        """
        meta = stored["metadata"]
        path = f"{self.path(meta.get('namespace', ''), stored['kind'], stored['apiVersion'])}/{meta['name']}"
        self.request("GET", path, parameters={"resourceVersion": meta["resourceVersion"]}).require()

    def watch(self, namespace: str, kind: str, version: str = "v1", *, seconds: int = 240) -> Iterator[Object]:
        """Yield what happens to the objects of a kind, in order, from all there is now on, for so long."""
        url = f"{self._server}{self.path(namespace, kind, version)}?watch=true&timeoutSeconds={seconds}"
        answer = self._pool.request(
            "GET", url, headers=self._headers, preload_content=False, retries=False, timeout=seconds + 30.0
        )
        return _lines(answer)

    def path(self, namespace: str, kind: str, version: str) -> str:
        """Where the objects of a kind are; `namespace` is left out where the kind has none."""
        root = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        served = self._find(root, version, kind)
        return f"{root}/namespaces/{namespace}/{served.plural}" if served.namespaced else f"{root}/{served.plural}"

    def request(
        self, method: str, path: str, body: Any = None, *,
        parameters: Mapping[str, str] | None = None, content_type: str = "application/json",
    ) -> Answer:  # fmt: skip
        data = None if body is None else json.dumps(body)
        headers = self._headers | ({"Content-Type": content_type} if data is not None else {})
        url = self._server + path
        if parameters:
            url += "?" + "&".join(f"{name}={value}" for name, value in parameters.items())
        began = time.perf_counter()
        answer = self._pool.request(method, url, body=data, headers=headers, retries=False, timeout=60)
        seconds = time.perf_counter() - began
        warnings = tuple(_warning(each) for each in answer.headers.getlist("Warning"))
        return Answer(answer.status, json.loads(answer.data), warnings, seconds)

    def _find(self, root: str, version: str, kind: str) -> _Served:
        with self._lock:
            # A definition that is new is served a moment later.
            wait_for(
                lambda: (version, kind) in self._served or self._discover(root, version),
                timeout=DISCOVERY_SECONDS,
                message=f"{kind} of {version} to be served",
            )
            return self._served[version, kind]

    def _discover(self, root: str, version: str) -> None:
        for each in self.request("GET", root).body.get("resources", ()):
            if "/" not in each["name"]:
                self._served[version, each["kind"]] = _Served(each["name"], each["namespaced"])


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[Object]:
    rest = b""
    with suppress(urllib3.exceptions.HTTPError):  # it may be cut off with its server, or with its client's pool
        for chunk in answer.stream(65536):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)
    answer.close()


def _warning(header: str) -> str:
    """Return the text of a header such as `299 - "text"`."""
    text: str = json.loads(header.split(" ", 2)[2])
    return text


@contextmanager
def rest_client(kubeconfig: Path) -> Iterator[Rest]:
    """A client that is closed in the end."""
    client = Rest(kubeconfig)
    try:
        yield client
    finally:
        client.close()
