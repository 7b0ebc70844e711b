"""A small API server for what it takes to find and watch resources: discovery, lists, streamed lists and watches.

Its faults are those that are set: `refusals` answer a path with a status code instead. All else about Kubernetes is
tested on a real control plane.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import kopf
from aiohttp import web

from moorage.cluster.backoff import Backoff
from moorage.cluster.client import Client

Object = dict[str, Any]
QUICK = Backoff(first_seconds=0.01, ceiling_seconds=0.05)


@dataclass
class SmallServer:
    """The server: documents of discovery by path, and collections by path."""

    documents: dict[str, Object] = field(default_factory=dict)
    collections: dict[str, dict[str, Object]] = field(default_factory=dict)
    """Objects by uid."""
    refusals: dict[str, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    """The paths that were refused, in order."""
    accepted: dict[str, str] = field(default_factory=dict)
    """The Accept header that a collection was last asked for with."""
    patches: list[tuple[str, Object]] = field(default_factory=list)
    """What was to be changed, by path, in order."""
    url: str = ""
    version: int = 100
    _watching: dict[str, list[asyncio.Queue[bytes | None]]] = field(default_factory=dict)
    _watches: list[web.Request] = field(default_factory=list)

    def serve(self, group: str, *versions: str, preferred: str = "", **plurals_and_versions: str) -> None:
        """Serve kinds of a group: `widgets="v1 v1beta1"` says in which versions."""
        root = f"/apis/{group}" if group else "/api"
        if group:
            listed = {each: {"version": each, "groupVersion": f"{group}/{each}"} for each in versions}
            self.documents[root] = {
                "preferredVersion": listed[preferred or versions[0]],
                "versions": list(listed.values()),
            }
        for version in versions:
            served = [plural for plural, where in plurals_and_versions.items() if version in where.split()]
            self.documents[f"{root}/{version}"] = {
                "resources": [
                    {"name": plural, "kind": plural[:-1].title(), "namespaced": True, "verbs": ["list", "watch"]}
                    for plural in served
                ]
            }
            for plural in served:
                self.collections.setdefault(f"{root}/{version}/{plural}", {})

    def put(self, path: str, name: str, **more: Any) -> None:
        """Create or change an object of a collection."""
        self.version += 1
        meta = {"name": name, "namespace": "team-a", "uid": name, "resourceVersion": str(self.version)}
        body = {"metadata": meta | more.pop("metadata", {}), **more}
        kind = "MODIFIED" if name in self.collections[path] else "ADDED"
        self.collections[path][name] = body
        self._tell(path, event(kind, body))

    def delete(self, path: str, name: str) -> None:
        """Delete an object of a collection."""
        self.version += 1
        body = self.collections[path].pop(name)
        body["metadata"]["resourceVersion"] = str(self.version)
        self._tell(path, event("DELETED", body))

    def remove(self, path: str) -> None:
        """Stop to serve a collection, and end its watches."""
        del self.collections[path]
        self.cut(path)

    def cut(self, path: str) -> None:
        """End the watches on a collection."""
        self._tell(path, None)
        self._watching.pop(path, None)

    def watched(self, path: str) -> list[dict[str, str]]:
        """Return what the watches on a collection ask for that are open now."""
        return [
            dict(each.query)
            for each in self._watches
            if each.path == path and each.transport is not None and not each.transport.is_closing()
        ]

    def _tell(self, path: str, line: bytes | None) -> None:
        for queue in self._watching.get(path, []):
            queue.put_nowait(line)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if code := self.refusals.get(path):
            self.refused.append(path)
            return web.json_response({"code": code, "message": f"refused with {code}"}, status=code)
        if path in self.documents:
            return web.json_response(self.documents[path])
        if path not in self.collections:
            return web.json_response({"code": 404, "message": f"{path} is not here"}, status=404)
        self.accepted[path] = request.headers["Accept"]
        if "watch" in request.query:
            return await self._watch(request)
        meta = {"resourceVersion": str(self.version)}
        items = list(self.collections[path].values())
        # A list of metadata alone is null when it is empty, as the real one has it.
        empty = None if "PartialObjectMetadata" in self.accepted[path] else []
        return web.json_response({"metadata": meta, "items": items or empty})

    async def take_patch(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if code := self.refusals.get(path):
            self.refused.append(path)
            return web.json_response({"code": code, "message": f"refused with {code}"}, status=code)
        self.patches.append((path, await request.json()))
        return web.json_response(self.documents.get(path, {}))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._watching.setdefault(path, []).append(queue)
        self._watches.append(request)
        if request.query.get("sendInitialEvents") == "true":
            for body in self.collections[path].values():
                queue.put_nowait(event("ADDED", body))
            end = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
            queue.put_nowait(event("BOOKMARK", {"metadata": end}))
        await response.prepare(request)
        while (line := await queue.get()) is not None:
            await response.write(line)
        return response

    async def connection(self) -> kopf.ConnectionInfo:
        """Return credentials for this server."""
        return kopf.ConnectionInfo(server=self.url)


def event(kind: str, body: Object) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


@asynccontextmanager
async def small_server() -> AsyncIterator[tuple[SmallServer, Client]]:
    """Run a server that serves nothing yet, and a client of it with short delays."""
    server = SmallServer()
    app = web.Application()
    app.router.add_get("/{path:.*}", server.handle)
    app.router.add_patch("/{path:.*}", server.take_patch)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with Client(server, backoff=QUICK) as client:
            yield server, client
    finally:
        await runner.cleanup()


async def until(condition: Any, what: str, *, seconds: float = 20.0) -> None:
    """Wait for a condition, at most so long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.005)
