"""What a buffer refers to is pending until it has been read: what was not read yet is no workload without a shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError
from moorage.cluster.reference import Reference
from moorage.cluster.referenced_object import FollowedObject
from moorage.cluster.references import References
from moorage.resources import pod_resources
from moorage.status.workload import Unresolved, Workload
from tests.unit.backends.templates import app, template
from tests.unit.small_server import SmallServer, small_server, until

PODS = "/api/v1/namespaces/team-a/pods"
TEMPLATES = "/api/v1/namespaces/team-a/podtemplates"
WIDGETS = "/apis/example.com/v1/namespaces/team-a/widgets"
SCALE = f"{WIDGETS}/web/scale"


class Followed:
    """One object that a buffer refers to, and all that was known of it, one after the other."""

    def __init__(self, server: SmallServer, client: Client) -> None:
        self.server = server
        self.client = client
        self.trials = asyncio.Event()
        """Set while the API server answers them."""
        self.seen: list[Workload | Unresolved] = []
        self.references = References(client, lambda each: self.seen.append(self.references.known(each)))
        server.serve("", "v1", podtemplates="v1")
        server.documents["/api/v1"]["resources"][0]["kind"] = "PodTemplate"
        server.serve("example.com", "v1", widgets="v1")
        server.documents["/apis/example.com/v1"]["resources"].append(
            {"name": "widgets/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]}
        )
        server.collections |= {PODS: {}, TEMPLATES: {}, WIDGETS: {}}
        self.scale("app=web")
        for name, cpu in (("web", "1"), ("api", "2")):
            server.put(
                PODS, name, metadata={"labels": {"app": name}}, spec=template(app(requests={"cpu": cpu}))["spec"]
            )

    def follow(self, kind: str) -> None:
        group = None if kind == "PodTemplate" else "example.com"
        self.references.want([Reference("team-a", group, kind, "web")])

    def scale(self, selector: str) -> None:
        """Have the widget's scale say by which labels its pods are found."""
        self.server.documents[SCALE] = {"spec": {"replicas": 3}, "status": {"selector": selector}}
        self.server.put(WIDGETS, "web")

    def refuse_pods(self, code: int) -> None:
        self.server.refusals[PODS] = code
        self.server.cut(PODS)

    @property
    def is_pending(self) -> bool:
        return bool(self.seen) and isinstance(self.seen[-1], Unresolved) and self.seen[-1].pending

    @property
    def cpu(self) -> list[float | None]:
        """What a unit requests, as it was known one after the other; None for no shape."""
        shapes = [each.template for each in self.seen if isinstance(each, Workload)]
        return [pod_resources(each).requests["cpu"] / 10**9 if each is not None else None for each in shapes]


@pytest.fixture
async def followed() -> AsyncIterator[Followed]:
    async with small_server() as (server, client):
        found = Followed(server, client)
        running = asyncio.create_task(found.references.run())
        yield found
        running.cancel()
        await asyncio.wait([running])


class TestAKindWithoutATemplate:
    async def test_has_no_shape_only_once_its_pods_have_been_read(self, followed: Followed) -> None:
        followed.refuse_pods(500)
        followed.follow("Widget")
        await until(lambda: bool(followed.seen), "the widget read")
        assert followed.is_pending
        assert "the pods of Widget web are being read" in str(followed.seen)
        del followed.server.refusals[PODS]
        await until(lambda: not followed.is_pending, "its pods read")
        assert followed.cpu == [1]

    async def test_nor_when_other_pods_are_selected(self, followed: Followed) -> None:
        followed.follow("Widget")
        await until(lambda: followed.cpu == [1], "its pods read")
        followed.refuse_pods(500)
        followed.scale("app=api")
        await until(lambda: followed.is_pending, "the other pods to be read")
        del followed.server.refusals[PODS]
        await until(lambda: not followed.is_pending, "the other pods read")
        assert followed.cpu == [1, 2]

    async def test_has_none_while_pods_may_not_be_read(self, followed: Followed) -> None:
        followed.refuse_pods(403)
        followed.follow("Widget")
        await until(lambda: followed.cpu == [None], "the refusal")
        del followed.server.refusals[PODS]
        await until(lambda: followed.cpu == [None, 1], "the right was given")

    @pytest.mark.parametrize("selector", ["", "app in web"], ids=["none", "one that cannot be read"])
    async def test_has_none_without_a_selector(self, followed: Followed, selector: str) -> None:
        followed.scale(selector)
        followed.follow("Widget")
        await until(lambda: bool(followed.seen), "the widget read")
        assert followed.cpu == [None]


def put(found: Followed, generation: int, *, cpu: str, **spec: Any) -> None:
    """Change the PodTemplate."""
    body = template(app(requests={"cpu": cpu}), **spec)
    found.server.put(TEMPLATES, "web", metadata={"generation": generation}, template=body)


def units(found: Followed) -> list[tuple[int | None, float | None]]:
    """What was known of the PodTemplate, one after the other: its generation, and what a unit requests."""
    generations = [each.generation for each in found.seen if isinstance(each, Workload)]
    return list(zip(generations, found.cpu, strict=True))


class TestAPodTemplate:
    """A trial of it is under way for as long as a test says."""

    @pytest.fixture
    async def tried(self, followed: Followed, monkeypatch: pytest.MonkeyPatch) -> Followed:
        async def post(_path: str, pod: dict[str, Any], _params: Any) -> dict[str, Any]:
            await followed.trials.wait()
            return {**pod, "spec": {**pod["spec"], "priority": 7}}

        monkeypatch.setattr(followed.client, "post", post)
        followed.trials.set()
        put(followed, 1, cpu="1")
        followed.follow("PodTemplate")
        await until(lambda: units(followed) == [(1, 1)], "the template tried")
        return followed

    async def test_has_the_generation_of_the_unit_that_was_tried(self, tried: Followed) -> None:
        tried.trials.clear()
        put(tried, 2, cpu="2")
        await asyncio.sleep(0.3)
        assert units(tried) == [(1, 1)], "a unit is still that of before"
        tried.trials.set()
        await until(lambda: len(units(tried)) > 1, "the new template tried")
        assert units(tried) == [(1, 1), (2, 2)]

    async def test_has_a_new_generation_at_once_where_the_unit_stays(self, tried: Followed) -> None:
        tried.trials.clear()
        put(tried, 2, cpu="1")
        await until(lambda: units(tried) == [(1, 1), (2, 1)], "the generation")

    async def test_has_it_after_a_trial_that_came_to_the_same_unit(self, tried: Followed) -> None:
        put(tried, 2, cpu="1", priority=7)
        await until(lambda: units(tried)[-1] == (2, 1), "the generation")


class Feeds:
    """Feeds of which a test says what they bring."""

    def __init__(self) -> None:
        self.is_refused = True
        self.looks = 0
        """How often it was looked at whether they are refused."""
        self.sink: Any = None

    @property
    def refusal(self) -> ApiError | None:
        self.looks += 1
        return ApiError(403, "Forbidden", "no right") if self.is_refused else None

    def join(self, _path: str, sink: Any, _wanted: Any) -> Feeds:
        self.sink = sink
        return self

    def leave(self, *_: Any) -> None:
        pass


async def test_a_right_that_was_just_given_does_not_tell_that_there_is_no_such_object(followed: Followed) -> None:
    """Nor does an API server that first refuses, as while it starts, and then does not answer."""
    feeds, reference = Feeds(), Reference("team-a", "example.com", "Widget", "web")
    turns = asyncio.Semaphore(1)
    found = FollowedObject(
        reference, followed.client, cast("Any", feeds), cast("Any", feeds), turns=turns, on_change=lambda: None
    )
    running = asyncio.create_task(found.run())

    def reason() -> str:
        return found.known.reason if isinstance(found.known, Unresolved) else ""

    await until(lambda: reason() == "Forbidden", "the refusal")
    feeds.is_refused, looks = False, feeds.looks
    await until(lambda: feeds.looks > looks + 6, "two further looks")
    assert reason() == "Forbidden", "as long as nothing was read"
    feeds.sink.replace({})
    await until(lambda: reason() == "WorkloadNotFound", "an empty list")
    running.cancel()
    await asyncio.wait([running])
