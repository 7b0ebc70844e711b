"""The HTTP side of the webhook: a small app of our own that answers from memory and never keeps anybody waiting.

Nothing depends on it: what it cannot answer, the API server admits or refuses without it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable

from aiohttp import web

from moorage.admission.counters import AdmissionCounters
from moorage.admission.review import Answer, MalformedReviewError, ReviewRequest, encoded_answer, read_review

logger = logging.getLogger(__name__)

PATH = "/explain"
MAX_BODY_BYTES = 8 * 1024 * 1024
"""An update carries two objects of at most 1.5 MB each, which JSON may make some times longer."""

_BODY_SECONDS = 10.0
"""How long a body may take to come; the API server waits for less."""

_KEEPALIVE_SECONDS = 120.0
"""Longer than the API server keeps a connection that it does not use (90), so that we never close one under it."""

Judge = Callable[[ReviewRequest], Answer]
"""Answers a request at once; raises MalformedReviewError for an object that cannot be read."""


def webhook_app(judge: Judge, counters: AdmissionCounters) -> web.Application:
    """Return the app. What is no review is answered with a code of 4xx, and a bug in `judge` admits."""

    async def explain(request: web.Request) -> web.Response:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                review = read_review(await request.read())
            answer = _answer(judge, review, counters)
        except (MalformedReviewError, web.RequestPayloadError) as error:
            counters.malformed += 1
            return web.Response(text=f"{error}\n", status=400)
        except TimeoutError:
            counters.malformed += 1
            return web.Response(text=f"the body did not come within {_BODY_SECONDS:g} s\n", status=408)
        except web.HTTPRequestEntityTooLarge:
            counters.malformed += 1
            return web.Response(text=f"a body may have at most {MAX_BODY_BYTES} bytes\n", status=413)
        counters.took(time.perf_counter() - began)
        return web.Response(body=encoded_answer(review.uid, answer), content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.add_routes([web.post(PATH, explain)])
    return app


def _answer(judge: Judge, review: ReviewRequest, counters: AdmissionCounters) -> Answer:
    try:
        return judge(review)
    except MalformedReviewError:
        raise
    except Exception:
        counters.faults += 1
        logger.exception("%s of %s in %s could not be judged, and is admitted", *_named(review))
        return Answer()


def _named(review: ReviewRequest) -> tuple[str, str, str]:
    return review.operation, f"{review.target} {review.name}".strip(), review.namespace


async def serve_webhook(app: web.Application, context: ssl.SSLContext | None, *, host: str, port: int) -> web.AppRunner:
    """Start to serve and return the runner, whose `cleanup` ends it and whose `addresses` tell the port.

    The API server never compresses, so nothing is decompressed. Raises OSError when the address cannot be had.
    """
    runner = web.AppRunner(
        app, access_log=None, keepalive_timeout=_KEEPALIVE_SECONDS, auto_decompress=False, shutdown_timeout=1.0
    )
    await runner.setup()
    await web.TCPSite(runner, host, port, ssl_context=context).start()
    return runner
