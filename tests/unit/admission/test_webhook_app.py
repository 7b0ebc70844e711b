"""The app: every review is answered, and nothing else than a review ever hurts it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.admission.counters import AdmissionCounters
from moorage.admission.review import Answer, MalformedReviewError, ReviewRequest, read_review
from moorage.admission.webhook import MAX_BODY_BYTES, PATH, serve_webhook, webhook_app

Object = dict[str, Any]


def review(**request: Any) -> Object:
    """An AdmissionReview as the API server sends it."""
    full = {
        "uid": "7f",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "web",
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "paula", "groups": ["system:authenticated"]},
        "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web"}},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": full | request}


def without(*names: str) -> Object:
    whole = review()
    return whole | {"request": {name: each for name, each in whole["request"].items() if name not in names}}


@dataclass
class Bench:
    """The app behind a port, with a judge that says what it is told to."""

    session: aiohttp.ClientSession
    url: str
    counters: AdmissionCounters
    answer: Answer | Exception = field(default_factory=Answer)
    asked: list[ReviewRequest] = field(default_factory=list)

    def judge(self, request: ReviewRequest) -> Answer:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def send(self, body: bytes, **options: Any) -> tuple[int, str]:
        async with self.session.post(self.url, data=io.BytesIO(body), **options) as answer:
            return answer.status, await answer.text()

    async def ask(self, body: Object) -> Object:
        status, text = await self.send(json.dumps(body).encode())
        assert status == 200, text
        answer: Object = json.loads(text)
        assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        response: Object = answer["response"]
        return response

    async def assert_alive(self) -> None:
        assert (await self.ask(review(uid="still here")))["uid"] == "still here"


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    counters = AdmissionCounters()
    async with aiohttp.ClientSession() as session:
        bench = Bench(session, "", counters)
        runner = await serve_webhook(webhook_app(bench.judge, counters), None, host="127.0.0.1", port=0)
        bench.url = f"http://127.0.0.1:{runner.addresses[0][1]}{PATH}"
        yield bench
        await runner.cleanup()


async def test_what_is_allowed_is_answered_with_the_uid_and_no_patch(bench: Bench) -> None:
    assert await bench.ask(review()) == {"uid": "7f", "allowed": True}


async def test_a_refusal_is_a_403_with_its_reason(bench: Bench) -> None:
    bench.answer = Answer(allowed=False, message="exceeded quota: ...", warnings=("a", "b"))
    assert await bench.ask(review()) == {
        "uid": "7f",
        "allowed": False,
        "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "exceeded quota: ..."},
        "warnings": ["a", "b"],
    }


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        ({}, "pods"),
        ({"subResource": "resize", "operation": "UPDATE"}, "pods/resize"),
        ({"resource": {"group": "apps", "version": "v1", "resource": "deployments"}}, "deployments.apps"),
        (
            {"resource": {"group": "apps", "version": "v1", "resource": "statefulsets"}, "subResource": "scale"},
            "statefulsets.apps/scale",
        ),
    ],
)
async def test_the_judge_is_told_what_is_written(bench: Bench, request_: Object, target: str) -> None:
    await bench.ask(review(**request_))
    assert [each.target for each in bench.asked] == [target]


async def test_a_bug_in_judging_admits_and_is_counted(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.answer = ZeroDivisionError("oh")
    assert (await bench.ask(review()))["allowed"]
    assert bench.counters.faults == 1
    assert "CREATE of pods web in team-a could not be judged" in caplog.text


MALFORMED = {
    "nothing": b"",
    "no JSON": b"apiVersion: v1",
    "no UTF-8": b'"\xff\xfe"',
    "cut short": json.dumps(review()).encode()[:-9],
    "more behind it": json.dumps(review()).encode() + b"{}",
    "a list": b"[]",
    "a number": b"1e400",
    "an object": b"{}",
    "another kind": json.dumps(review() | {"kind": "Pod"}).encode(),
    "another version": json.dumps(review() | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(),
    "a response": b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"7f"}}',
    "no request": json.dumps(review() | {"request": None}).encode(),
    "no uid": json.dumps(without("uid")).encode(),
    "an empty uid": json.dumps(review(uid="")).encode(),
    "a uid without end": json.dumps(review(uid="u" * 300)).encode(),
    "no resource": json.dumps(without("resource")).encode(),
    "no operation": json.dumps(without("operation")).encode(),
    "an unknown operation": json.dumps(review(operation="EAT")).encode(),
    "a name that is none": json.dumps(review(name=7)).encode(),
    "a very deep one": b'{"request":' * 100_000,
    "deep brackets": b"[" * 200_000,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in MALFORMED.items()])
async def test_what_is_no_review_is_a_bad_request_and_the_next_one_is_answered(bench: Bench, body: bytes) -> None:
    status, text = await bench.send(body)
    assert (status, bench.counters.malformed, bench.asked) == (400, 1, [])
    assert text.startswith("the body is no AdmissionReview of admission.k8s.io/v1: ")
    await bench.assert_alive()


async def test_an_object_that_cannot_be_read_is_a_bad_request(bench: Bench) -> None:
    bench.answer = MalformedReviewError("the pod cannot be read: ...")
    assert await bench.send(json.dumps(review()).encode()) == (400, "the pod cannot be read: ...\n")
    assert bench.counters.faults == 0


async def test_bodies_to_eight_mebibytes_are_read_and_no_longer_ones(bench: Bench) -> None:
    empty = len(json.dumps(review(object={"x": ""})))
    largest = json.dumps(review(object={"x": "x" * (MAX_BODY_BYTES - empty)})).encode()
    assert len(largest) == MAX_BODY_BYTES
    assert (await bench.send(largest))[0] == 200
    assert await bench.send(largest + b" ") == (413, "a body may have at most 8388608 bytes\n")
    await bench.assert_alive()


@pytest.mark.parametrize("body", [gzip.compress(json.dumps(review()).encode()), b"not gzip"], ids=["gzip", "not gzip"])
async def test_nothing_is_decompressed(bench: Bench, body: bytes) -> None:
    assert (await bench.send(body, headers={"Content-Encoding": "gzip"}))[0] == 400
    await bench.assert_alive()


async def test_a_caller_who_goes_away_in_the_middle_hurts_nobody(bench: Bench) -> None:
    port = aiohttp.client.URL(bench.url).port
    for part in (b"POST", f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{{".encode(), b"\x16\x03"):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(part)
        await writer.drain()
        writer.transport.abort()
        await bench.assert_alive()


@pytest.mark.parametrize(("method", "path", "status"), [("GET", PATH, 405), ("POST", "/", 404), ("PUT", PATH, 405)])
async def test_nothing_else_is_served(bench: Bench, method: str, path: str, status: int) -> None:
    async with bench.session.request(method, bench.url.replace(PATH, path), data=b"{}") as answer:
        assert answer.status == status


async def test_how_long_reviews_take_is_counted(bench: Bench) -> None:
    for _ in range(3):
        await bench.ask(review())
    await bench.send(b"")
    assert sum(bench.counters.buckets) == 3
    assert 0 < bench.counters.seconds < 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted(review()["request"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(body=st.binary(max_size=200) | st.builds(lambda x: json.dumps(x).encode(), JSON))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    read_or_refused(body)


@settings(max_examples=200, deadline=None)
@given(changes=st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1, max_size=3))
def test_any_fields_are_read_or_refused(changes: Object) -> None:
    read_or_refused(json.dumps(review(**changes)).encode())


def read_or_refused(body: bytes) -> None:
    with suppress(MalformedReviewError):
        assert read_review(body).uid
