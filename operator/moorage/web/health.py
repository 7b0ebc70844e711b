"""The small HTTP app beside the operator: /healthz, /readyz and /metrics."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST


def health_app(*, not_ready: Callable[[], str], metrics: CollectorRegistry) -> web.Application:
    """Return the app. `not_ready` says in a sentence why the operator is not ready, or nothing.

    Liveness means that the event loop answers; readiness that what it would answer is true. The two are never mixed: an
    API server that is away makes the operator unready, and a restart would not bring it back.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        reason = not_ready()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    async def exposition(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(metrics), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", exposition)])
    return app


async def serve(app: web.Application, *, host: str, port: int, started: Callable[[int], None]) -> web.AppRunner:
    """Start to serve and return the runner, whose `cleanup` ends it; `started` is told the port (0 picks a free one).

    Raises OSError when the address cannot be had.
    """
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    started(runner.addresses[0][1])
    return runner
