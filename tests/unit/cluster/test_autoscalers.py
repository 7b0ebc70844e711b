"""What is read of HorizontalPodAutoscalers, and when it is known that there is none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moorage.buffer.burst import DEFAULT_POLICIES, ScalingPolicy, Unit
from moorage.cluster.autoscalers import Autoscalers, read_autoscalers
from moorage.cluster.client import Client
from tests.unit.small_server import QUICK, SmallServer, small_server, until

WEB = ("Deployment", "web")


def path(namespace: str) -> str:
    return f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"


def read(behavior: dict[str, Any] | None = None) -> Any:
    spec: dict[str, Any] = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 200}
    if behavior is not None:
        spec["behavior"] = {"scaleUp": behavior}
    return read_autoscalers(json.dumps({"items": [{"spec": spec}]}).encode())["Deployment", "web"]


def test_without_a_behavior_the_defaults_hold() -> None:
    found = read()
    assert (found.most, found.policies, found.select_least) == (200, DEFAULT_POLICIES, False)


@pytest.mark.parametrize(
    ("behavior", "policies", "least"),
    [
        ({"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}, (ScalingPolicy(Unit.PODS, 4, 60),), False),
        (
            {"policies": [{"type": "Percent", "value": 10, "periodSeconds": 30}], "selectPolicy": "Min"},
            (ScalingPolicy(Unit.PERCENT, 10, 30),),
            True,
        ),
        ({"selectPolicy": "Disabled"}, (), False),
        ({"stabilizationWindowSeconds": 0}, DEFAULT_POLICIES, False),
    ],
)
def test_policies_are_read(behavior: dict[str, Any], policies: tuple[ScalingPolicy, ...], least: bool) -> None:
    found = read(behavior)
    assert (found.policies, found.select_least) == (policies, least)


def test_no_autoscalers_are_none() -> None:
    assert read_autoscalers(b'{"items": []}') == {}


class Scalers:
    """What is known of autoscalers in team-a and team-b, of which each scales a Deployment web."""

    def __init__(self, server: SmallServer, client: Client) -> None:
        self.server = server
        self.changed: list[str] = []
        self.known = Autoscalers(client, changed=self.changed.append)
        for namespace in ("team-a", "team-b"):
            server.collections[path(namespace)] = {}
            self.put(namespace, most=50)

    def put(self, namespace: str, *, most: int) -> None:
        target = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": most}
        self.server.put(path(namespace), "web", spec=target)

    async def refused(self, namespace: str, *, times: int) -> None:
        """Wait for so many refusals; a look that fails for now is four requests or fewer."""
        before = len(self.server.refused)
        await until(lambda: self.server.refused[before:].count(path(namespace)) >= times, "refusals")

    def most(self, namespace: str) -> int | None:
        found = self.known.of(namespace, WEB, replicas=20)
        return found.most if found is not None else None


@asynccontextmanager
async def scalers() -> AsyncIterator[Scalers]:
    async with small_server() as (server, client):
        found = Scalers(server, client)
        running = asyncio.create_task(found.known.run())
        yield found
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_autoscalers_are_found_by_what_they_scale() -> None:
    async with scalers() as found:
        found.known.want(["team-a"])
        await until(lambda: found.changed == ["team-a"], "the autoscalers read")
        web = found.known.of("team-a", WEB, replicas=20)
        assert web is not None
        assert (web.replicas, web.most) == (20, 50)
        assert found.known.of("team-a", ("Deployment", "other"), replicas=20) is None


async def test_a_namespace_that_comes_is_looked_at_at_once_and_one_that_goes_is_forgotten() -> None:
    async with scalers() as found:
        found.known.want(["team-a"])
        await until(lambda: found.changed == ["team-a"], "the autoscalers read")
        found.known.want(["team-b"])
        await until(lambda: found.changed == ["team-a", "team-b"], "those of the other namespace")
        assert not found.known.is_known("team-a")


async def test_without_an_answer_it_is_not_known_whether_there_is_one() -> None:
    async with scalers() as found:
        found.server.refusals[path("team-a")] = 500
        found.known.want(["team-a"])
        await found.refused("team-a", times=6)
        assert not found.known.is_known("team-a")
        del found.server.refusals[path("team-a")]
        await until(lambda: found.most("team-a") == 50, "the next look")
        assert found.changed == ["team-a"]


async def test_that_there_is_none_is_news_the_first_time() -> None:
    async with scalers() as found:
        found.server.delete(path("team-a"), "web")
        found.known.want(["team-a"])
        await until(lambda: found.changed == ["team-a"], "the autoscalers read")
        assert found.known.is_known("team-a")
        assert found.most("team-a") is None


@pytest.mark.parametrize("code", [401, 403, 404], ids=["unknown to the server", "no right", "not served"])
async def test_where_they_may_not_be_read_none_are_waited_for(code: int) -> None:
    async with scalers() as found:
        found.server.refusals[path("team-a")] = code
        found.known.want(["team-a"])
        await until(lambda: found.changed == ["team-a"], "the refusal")
        assert found.known.is_known("team-a")
        del found.server.refusals[path("team-a")]
        await until(lambda: found.most("team-a") == 50, "the right was given")


async def test_what_was_known_stays_while_they_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.cluster.autoscalers._LOOK_SECONDS", 0.01)
    async with scalers() as found:
        found.known.want(["team-a"])
        await until(lambda: found.most("team-a") == 50, "the autoscalers read")
        for code in (500, 403):
            found.server.refusals[path("team-a")] = code
            await found.refused("team-a", times=6)
            assert found.most("team-a") == 50
        found.put("team-a", most=60)
        found.server.refusals.clear()
        await until(lambda: found.most("team-a") == 60, "the next answer")
        assert found.changed == ["team-a", "team-a"]


@pytest.mark.parametrize(
    ("answer", "known"),
    [(b"<html>", False), (b'{"items": [{"spec": {"maxReplicas": "x"}}]}', True)],
    ids=["a proxy's page", "a list that is read no other way the next time"],
)
async def test_an_answer_that_cannot_be_read(answer: bytes, known: bool) -> None:
    asked: list[str] = []

    async def get_bytes(path: str) -> bytes:
        asked.append(path)
        return answer

    found = Autoscalers(cast("Any", SimpleNamespace(get_bytes=get_bytes, backoff=QUICK)), changed=lambda _: None)
    running = asyncio.create_task(found.run())
    found.want(["team-a"])
    await until(lambda: len(asked) > 1, "a second look")
    assert found.is_known("team-a") == known
    running.cancel()
    await asyncio.wait([running])


async def test_a_namespace_that_does_not_answer_keeps_no_other_waiting() -> None:
    async def get_bytes(asked: str) -> bytes:
        if asked == path("team-a"):
            await asyncio.Event().wait()
        return b'{"items": []}'

    found = Autoscalers(cast("Any", SimpleNamespace(get_bytes=get_bytes, backoff=QUICK)), changed=lambda _: None)
    running = asyncio.create_task(found.run())
    found.want(["team-a", "team-b"])
    await until(lambda: found.is_known("team-b"), "the other one")
    assert not found.is_known("team-a")
    running.cancel()
    await asyncio.wait([running])
