"""Stands in for the API server where faults are wanted that a real one does not produce on demand.

It serves one resource with real lists, versions, continue tokens, streamed lists, watches and bookmarks. `next_watch`
and `next_list` queue scripts: each takes over one request of its kind, and may hand back to the real behaviour with
`live()`. All else about Kubernetes is tested on a real control plane.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

PATH = "/api/v1/pods"

Object = dict[str, Any]
Step = Callable[["ScriptedServer", "Exchange"], Awaitable[None]]


def pod(name: str, *, uid: str = "", namespace: str = "team-a", cpu: str = "100m", **labels: str) -> Object:
    """Build a pod; its uid is its name unless given."""
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid or name, "labels": labels},
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]},
    }


def event_line(kind: str, body: Object) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def bookmark(version: int | str, *, initial_end: bool = False) -> bytes:
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if initial_end else {}
    return event_line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version), **annotations}})


def status(code: int, reason: str = "", message: str = "", **details: Any) -> Object:
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


@dataclass
class Exchange:
    """One request and what goes back."""

    request: web.Request
    response: web.StreamResponse | None = None
    cursor: int = 0
    """Index into the server's history of the next event to send."""
    answer: web.StreamResponse | None = None
    """A whole answer, which ends the script."""

    async def open(self) -> web.StreamResponse:
        """Send the head of the answer, unless it is sent already."""
        if self.response is None:
            self.response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await self.response.prepare(self.request)
        return self.response

    async def write(self, data: bytes) -> None:
        response = await self.open()
        await response.write(data)

    def cut(self) -> None:
        """Drop the connection without the end that HTTP asks for."""
        if self.request.transport is not None:  # else the client was quicker
            self.request.transport.abort()


@dataclass
class Script:
    """What happens on one request, step by step; each method adds a step."""

    steps: list[Step] = field(default_factory=list)

    def _then(self, step: Step) -> Script:
        self.steps.append(step)
        return self

    def refuse(self, code: int, reason: str = "", message: str = "", *, headers: Mapping[str, str] | None = None,
               **details: Any) -> Script:  # fmt: skip
        async def step(_: ScriptedServer, exchange: Exchange) -> None:
            body = status(code, reason, message, **details)
            exchange.answer = web.json_response(body, status=code, headers=headers)

        return self._then(step)

    def answer(self, body: bytes, *, code: int = 200) -> Script:
        async def step(_: ScriptedServer, exchange: Exchange) -> None:
            exchange.answer = web.Response(body=body, status=code)

        return self._then(step)

    def initial(self, count: int | None = None) -> Script:
        """Send the objects there are (or the first so many of them) as a streamed list does, without its end."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            for body in list(server.objects.values())[:count]:
                await exchange.write(event_line("ADDED", body))
            exchange.cursor = len(server.history)

        return self._then(step)

    def initial_end(self) -> Script:
        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await exchange.write(bookmark(server.revision, initial_end=True))

        return self._then(step)

    def send(self, *lines: bytes) -> Script:
        async def step(_: ScriptedServer, exchange: Exchange) -> None:
            for line in lines:
                await exchange.write(line)

        return self._then(step)

    def events(self) -> Script:
        """Send the events that have come since the last step that sent any."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await server.send_events(exchange)

        return self._then(step)

    def short(self) -> Script:
        """Send what has happened since the version that is asked for, as a watch does that ends at once."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await exchange.open()
            server.resume(exchange)
            await server.send_events(exchange)

        return self._then(step)

    def bookmark(self) -> Script:
        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await exchange.write(bookmark(server.revision))

        return self._then(step)

    def error(self, code: int, reason: str = "", message: str = "") -> Script:
        """Send an ERROR event."""
        return self.send(event_line("ERROR", status(code, reason, message)))

    def drop(self) -> Script:
        async def step(_: ScriptedServer, exchange: Exchange) -> None:
            exchange.cut()

        return self._then(step)

    def hang(self) -> Script:
        """Keep the connection open and send nothing more."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await exchange.open()
            await server.cut_off(exchange)

        return self._then(step)

    def do(self, action: Callable[[], object]) -> Script:
        """Change something between two steps."""

        async def step(_: ScriptedServer, __: Exchange) -> None:
            action()

        return self._then(step)

    def live_list(self) -> Script:
        """Answer the list request as the real one does; the steps after this come before the next request."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            exchange.answer = server.list_page(exchange.request.query)

        return self._then(step)

    def live(self) -> Script:
        """Go on as the real one does."""

        async def step(server: ScriptedServer, exchange: Exchange) -> None:
            await server.serve_events(exchange)

        return self._then(step)


@dataclass(frozen=True)
class Seen:
    """A request that came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        if self.method != "GET":
            return self.method.lower()
        return "watch" if "watch" in self.query else "list" if self.path == PATH else "get"

    @property
    def streams(self) -> bool:
        return self.query.get("sendInitialEvents") == "true"


class ScriptedServer:
    """The server. `start()` and `stop()` may be called again and again; the port stays."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.history: list[tuple[int, bytes]] = []
        self.snapshots: dict[int, list[Object]] = {0: []}
        self.revision = 100
        self.oldest = 0
        """Versions below this are too old, for watches, exact lists and continue tokens."""
        self.lists_exactly = True
        """False: every version that a list asks for is too old."""
        self.seen: list[Seen] = []
        self.token: str | None = None
        """The only bearer token that is accepted; None: any."""
        self._cut = asyncio.Event()
        self._changed = asyncio.Event()
        self._scripts: dict[str, deque[Script]] = {}
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._remember()

    # Life

    async def start(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        self.cut_watches()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    # What is stored

    def put(self, body: Object) -> int:
        """Create or change an object; return its version."""
        uid = body["metadata"]["uid"]
        kind = "MODIFIED" if uid in self.objects else "ADDED"
        stored = self._stamped(body)
        self.objects[uid] = stored
        self._record(kind, stored)
        return self.revision

    def delete(self, uid: str) -> int:
        """Delete an object; return the version of the deletion."""
        self._record("DELETED", self._stamped(self.objects.pop(uid)))
        return self.revision

    def vanish(self, uid: str) -> None:
        """Delete an object without an event, as if it had been in a gap that no watch saw."""
        del self.objects[uid]
        self.revision += 1
        self._remember()

    def line(self, kind: str, uid: str) -> bytes:
        """Return an event about an object as it is now."""
        return event_line(kind, self.objects[uid])

    def inject(self, *lines: bytes) -> None:
        """Send these lines to all that watch, in this order, whatever they say."""
        self.history.extend((self.revision, line) for line in lines)
        self._wake()

    def expire_history(self) -> None:
        """Make all versions up to now too old, as etcd's compaction does."""
        self.revision += 1
        self._remember()
        self.oldest = self.revision

    def advance(self) -> None:
        """Let other resources change, so that the version rises without an event here."""
        self.revision += 1
        self._remember()

    def _stamped(self, body: Object) -> Object:
        self.revision += 1
        return body | {"metadata": body["metadata"] | {"resourceVersion": str(self.revision)}}

    def _record(self, kind: str, body: Object) -> None:
        self.history.append((self.revision, event_line(kind, body)))
        self._remember()
        self._wake()

    def _remember(self) -> None:
        self.snapshots[self.revision] = list(self.objects.values())

    # Scripts

    def next_watch(self, *scripts: Script) -> None:
        self._scripts.setdefault("watch", deque()).extend(scripts)

    def next_list(self, *scripts: Script) -> None:
        self._scripts.setdefault("list", deque()).extend(scripts)

    def next_request(self, kind: str, *scripts: Script) -> None:
        """Script a `get`, `post` or `patch`."""
        self._scripts.setdefault(kind, deque()).extend(scripts)

    def requests(self, kind: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.kind == kind]

    # Answers

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seen = Seen(request.method, request.path, dict(request.query), dict(request.headers), await request.read())
        self.seen.append(seen)
        if self.token is not None and seen.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response(status(401, "Unauthorized", "Unauthorized"), status=401)
        exchange = Exchange(request)
        scripts = self._scripts.get(seen.kind)
        if scripts:
            for step in scripts.popleft().steps:
                await step(self, exchange)
            return exchange.answer or exchange.response or web.json_response({})
        if seen.kind == "watch":
            return await self._watch(seen, exchange)
        if seen.kind == "list":
            return self.list_page(seen.query)
        return web.json_response({"seen": seen.method})

    def list_page(self, query: Mapping[str, str]) -> web.Response:
        token = json.loads(query["continue"]) if "continue" in query else None
        exact = query.get("resourceVersionMatch") == "Exact"
        version = token["version"] if token else int(query["resourceVersion"]) if exact else self.revision
        if version < self.oldest or version not in self.snapshots or (exact and not self.lists_exactly):
            return web.json_response(status(410, "Expired", "too old resource version"), status=410)
        start = token["start"] if token else 0
        limit = int(query.get("limit", "0")) or 1_000_000
        everything = self.snapshots[version]
        more = start + limit < len(everything)
        meta = {"resourceVersion": str(version)}
        if more:
            meta["continue"] = json.dumps({"version": version, "start": start + limit})
        return web.json_response({"kind": "PodList", "metadata": meta, "items": everything[start : start + limit]})

    async def _watch(self, seen: Seen, exchange: Exchange) -> web.StreamResponse:
        if seen.streams:
            script = Script().initial().initial_end()
            for step in script.steps:
                await step(self, exchange)
        else:
            version = int(seen.query["resourceVersion"])
            if version < self.oldest:
                return web.json_response(status(410, "Expired", "too old resource version"), status=410)
            self.resume(exchange)
        await self.serve_events(exchange)
        assert exchange.response is not None
        return exchange.response

    def resume(self, exchange: Exchange) -> None:
        """Have the next event be the first after the version that is asked for."""
        version = int(exchange.request.query["resourceVersion"])
        exchange.cursor = next(
            (index for index, (revision, _) in enumerate(self.history) if revision > version), len(self.history)
        )

    async def serve_events(self, exchange: Exchange) -> None:
        """Send events as they happen, until the connection is cut."""
        await exchange.open()
        cut = self._cut
        while not cut.is_set():
            await self.send_events(exchange)
            await self._changed.wait()
        exchange.cut()

    async def send_events(self, exchange: Exchange) -> None:
        while exchange.cursor < len(self.history):
            _, line = self.history[exchange.cursor]
            exchange.cursor += 1
            await exchange.write(line)

    async def cut_off(self, exchange: Exchange) -> None:
        """Say nothing until the connection is cut."""
        await self._cut.wait()
        exchange.cut()

    def cut_watches(self) -> None:
        """Drop the connections of all open watches."""
        cut, self._cut = self._cut, asyncio.Event()
        cut.set()
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
