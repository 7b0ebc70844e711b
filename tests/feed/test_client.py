"""Requests: what is sent, what is repeated, and how refusals read."""

from __future__ import annotations

import json

import pytest
from tests.feed.harness import QUICK, FixedCredentials
from tests.feed.scripted_server import PATH, Script, ScriptedServer, status

from moorage import __version__
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, CredentialsError, MalformedError, UnreachableError

OBJECT = "/apis/moorage.dev/v1alpha1/namespaces/a/namespacequotas/q"


async def test_apply_is_forced_under_our_field_manager(server: ScriptedServer, client: Client) -> None:
    await client.apply(f"{OBJECT}/status", {"status": {"used": {}}})
    (sent,) = server.requests("patch")
    assert sent.path == f"{OBJECT}/status"
    assert sent.query == {"fieldManager": "moorage", "force": "true"}
    assert sent.headers["Content-Type"] == "application/apply-patch+yaml"
    assert sent.headers["User-Agent"] == f"moorage/{__version__}"
    assert json.loads(sent.body) == {"status": {"used": {}}}


async def test_patch_and_post_name_the_field_manager_and_pass_parameters_on(
    server: ScriptedServer, client: Client
) -> None:
    await client.patch(OBJECT, {"spec": {}}, params={"dryRun": "All"})
    await client.post(PATH, b'{"a":1}')
    patched, posted = server.seen
    assert (patched.headers["Content-Type"], patched.query) == (
        "application/merge-patch+json",
        {"fieldManager": "moorage", "dryRun": "All"},
    )
    assert (posted.headers["Content-Type"], posted.body) == ("application/json", b'{"a":1}')


@pytest.mark.parametrize(
    ("code", "reason", "trait"),
    [
        (403, "Forbidden", "forbidden"),
        (404, "NotFound", "not_found"),
        (409, "Conflict", "conflict"),
        (410, "Expired", "gone"),
        (422, "Invalid", "invalid"),
    ],
)
async def test_a_refusal_is_raised_at_once_with_the_servers_words(
    server: ScriptedServer, client: Client, code: int, reason: str, trait: str
) -> None:
    server.next_request("get", Script().refuse(code, reason, "no, since", name="q"))
    with pytest.raises(ApiError, match=r"^no, since$") as caught:
        await client.get(OBJECT)
    assert (caught.value.status, caught.value.reason, caught.value.details) == (code, reason, {"name": "q"})
    assert getattr(caught.value, trait)
    assert len(server.seen) == 1


@pytest.mark.parametrize("method", ["get", "patch"])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Script().refuse(503, "ServiceUnavailable"), id="503"),
        pytest.param(Script().refuse(500, "InternalError"), id="500"),
        pytest.param(Script().answer(b"<html>bad gateway", code=502), id="a proxy's 502"),
        pytest.param(Script().drop(), id="connection dropped"),
        pytest.param(Script().refuse(429, retryAfterSeconds=0), id="429"),
    ],
)
async def test_a_request_that_may_be_repeated_is(
    server: ScriptedServer, client: Client, method: str, fault: Script
) -> None:
    server.next_request(method, fault, fault)
    await (client.get(OBJECT) if method == "get" else client.patch(OBJECT, {}))
    assert len(server.seen) == 3


async def test_a_create_is_repeated_only_if_it_certainly_was_not_carried_out(
    server: ScriptedServer, client: Client
) -> None:
    server.next_request("post", Script().refuse(429), Script().refuse(503))
    with pytest.raises(ApiError) as refused:
        await client.post(PATH, {})
    assert refused.value.status == 503
    assert len(server.seen) == 2
    server.next_request("post", Script().drop())
    with pytest.raises(UnreachableError):
        await client.post(PATH, {})
    assert len(server.seen) == 3


async def test_repetition_ends(server: ScriptedServer, client: Client) -> None:
    server.next_request("get", *[Script().refuse(503, message="starting")] * 9)
    with pytest.raises(ApiError, match="starting"):
        await client.get(OBJECT)
    assert len(server.seen) == 5


async def test_a_server_that_is_not_there_is_one_sentence(server: ScriptedServer, client: Client) -> None:
    await server.stop()
    with pytest.raises(
        UnreachableError, match=r"^the API server at http://127\.0\.0\.1:\d+ cannot be reached: connection refused$"
    ):
        await client.get(OBJECT)


async def test_an_answer_that_is_no_json_is_one_sentence(server: ScriptedServer, client: Client) -> None:
    server.next_request("get", Script().answer(b"<html>log in here</html>"))
    with pytest.raises(MalformedError, match="is not what an API server sends"):
        await client.get(OBJECT)


async def test_a_redirect_is_not_followed_with_our_credentials(server: ScriptedServer, client: Client) -> None:
    server.next_request("get", Script().refuse(302, headers={"Location": f"{server.url}/elsewhere"}))
    with pytest.raises(ApiError) as caught:
        await client.get(OBJECT)
    assert caught.value.status == 302
    assert len(server.seen) == 1


async def test_after_a_401_the_credentials_are_read_once_more(
    server: ScriptedServer, client: Client, credentials: FixedCredentials
) -> None:
    server.token = credentials.token = "old"
    await client.get(OBJECT)
    server.token = credentials.token = "new"
    await client.get(OBJECT)
    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer old", "Bearer old", "Bearer new"]
    assert credentials.reads == 2
    server.token = "newer"
    with pytest.raises(ApiError) as caught:
        await client.get(OBJECT)
    assert caught.value.unauthorized
    assert credentials.reads == 3


async def test_credentials_are_read_again_when_they_are_old(
    server: ScriptedServer, credentials: FixedCredentials
) -> None:
    now = 0.0
    async with Client(credentials, clock=lambda: now) as client:
        await client.get(OBJECT)
        now = 29.0
        await client.get(OBJECT)
        assert credentials.reads == 1
        now = 31.0
        await client.get(OBJECT)
        assert credentials.reads == 2


async def test_missing_credentials_are_told_as_they_are(server: ScriptedServer) -> None:
    class Missing:
        async def connection(self) -> None:
            raise CredentialsError("there is no kubeconfig at x")

    async with Client(Missing(), backoff=QUICK) as client:  # type: ignore[arg-type]
        with pytest.raises(CredentialsError, match="no kubeconfig at x"):
            await client.get(OBJECT)


async def test_pages_are_read_to_the_last(server: ScriptedServer, client: Client) -> None:
    pages = [
        page
        async for page in client.list_pages(PATH, {"resourceVersion": "105", "resourceVersionMatch": "Exact"}, limit=2)
    ]
    assert [len(page.items or ()) for page in pages] == [2, 2, 1]
    assert {page.metadata.resource_version for page in pages} == {"105"}
    first, *others = server.seen
    assert first.query["resourceVersion"] == "105"
    assert all("resourceVersion" not in request.query for request in others)


async def test_a_line_longer_than_allowed_is_refused(server: ScriptedServer, client: Client) -> None:
    server.next_watch(Script().send(b"x" * 5000).hang())
    async with await client.watch(PATH, max_line_bytes=4096) as stream:
        with pytest.raises(MalformedError, match="longer than 4096 bytes"):
            await stream.lines()


async def test_lines_come_whole_however_they_are_cut(server: ScriptedServer, client: Client) -> None:
    server.next_watch(Script().send(b"a", b"b\nc", b"\n", b"\n\nd\ne\nf", b"", b"g\n"))
    lines: list[bytes] = []
    async with await client.watch(PATH) as stream:
        while batch := await stream.lines():
            lines += batch
    assert lines == [b"ab", b"c", b"d", b"e", b"fg"]


def test_status_details_are_optional() -> None:
    from moorage.cluster.errors import api_error  # noqa: PLC0415

    assert str(api_error(503, b"")) == "the API server answered 503"
    assert str(api_error(404, b"404 page not found\n")) == "404 page not found"
    assert api_error(0, json.dumps(status(410, "Expired")).encode()).gone
    assert api_error(429, b"", retry_after="86400").retry_after_seconds == 300.0
    assert api_error(429, b"", retry_after="Wed, 21 Oct 2026 07:28:00 GMT").retry_after_seconds == 0.0
