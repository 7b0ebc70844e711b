"""The demand of a workload is read from a Prometheus that knows when its pods were made."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from fractions import Fraction

import pytest
from aiohttp import web

from moorage.buffer.demand import Demand
from moorage.cluster.history import History, HistoryError, query
from moorage.cluster.reference import Reference

WEB = Reference("team-a", "apps", "Deployment", "web")
NOW = 1_770_000_000


def answer(*times: int) -> dict[str, object]:
    series = [{"metric": {"pod": f"web-{at}"}, "value": [NOW, str(time)]} for at, time in enumerate(times)]
    return {"status": "success", "data": {"resultType": "vector", "result": series}}


@pytest.fixture
async def prometheus() -> AsyncIterator[tuple[str, list[str], list[web.Response]]]:
    """A server that says what it is told to; its URL, what it was asked, and what it answers."""
    asked: list[str] = []
    answers: list[web.Response] = []

    async def reply(request: web.Request) -> web.Response:
        asked.append(str((await request.post())["query"]))
        return answers.pop(0)

    app = web.Application()
    app.router.add_post("/prom/api/v1/query", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    yield f"http://127.0.0.1:{port}/prom/", asked, answers
    await runner.cleanup()


async def test_times_are_read_and_sorted(prometheus: tuple[str, list[str], list[web.Response]]) -> None:
    url, asked, answers = prometheus
    answers.append(web.json_response(answer(NOW - 5, NOW - 900, NOW - 10)))
    assert await History(url).created(WEB) == [NOW - 900, NOW - 10, NOW - 5]
    assert asked == [query(WEB)]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (json.dumps({"status": "error", "error": "query timed out"}), "query timed out"),
        ("<html>", "malformed"),
        ('{"status":"success","data":{"result":[{"value":[1,"soon"]}]}}', "could not convert"),
    ],
)
async def test_what_is_no_answer_is_told(
    prometheus: tuple[str, list[str], list[web.Response]], body: str, why: str
) -> None:
    url, _, answers = prometheus
    answers.append(web.Response(text=body))
    with pytest.raises(HistoryError, match=why):
        await History(url).created(WEB)


async def test_nobody_there_is_told() -> None:
    with pytest.raises(HistoryError, match=r"127\.0\.0\.1:9/api/v1/query"):
        await History("http://127.0.0.1:9").created(WEB)


@pytest.mark.parametrize(
    ("kind", "theirs", "others"),
    [
        ("Deployment", "web-5d4f8c7b9-x2x4z", "web-api-5d4f8c7b9-x2x4z"),
        ("StatefulSet", "web-12", "web-a"),
        ("Job", "web-x2x4z", "web-x2x4z-1"),
        ("Rollout", "web-5d4f8c7b9-x2x4z", "webs-1"),
    ],
)
def test_pods_are_told_by_their_names(kind: str, theirs: str, others: str) -> None:
    match = re.search(r'pod=~"([^"]*)"', query(Reference("team-a", "apps", kind, "web")))
    assert match is not None
    assert re.fullmatch(match[1], theirs)
    assert not re.fullmatch(match[1], others)


def test_a_dot_in_a_name_is_a_dot() -> None:
    assert '"web\\\\.v1-' in query(Reference("a", None, "StatefulSet", "web.v1"))


def test_history_is_counted_as_if_it_had_been_watched() -> None:
    times = [NOW - 4 * 86_400 + at // 2 for at in range(2000)]
    demand = Demand.of_history(Fraction(30), Fraction(90), times, now=NOW)
    seen = demand.rate()
    assert seen is not None
    assert float(seen.per_second) == pytest.approx(2, rel=0.02)
    record = demand.recorded(NOW)
    assert record is not None
    assert record.days == pytest.approx(4, abs=0.01)
    demand.add("known", NOW - 60)
    demand.add("new", NOW + 1)
    demand.advance(NOW + 60)
    assert demand.pods == 2001
