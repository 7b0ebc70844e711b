"""However many look at a collection, it is read once, and each gets what it asked for and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from moorage.cluster.arrivals import Arrival, read_arrival
from moorage.cluster.reference import AnyReference, PodsReference, Reference
from moorage.cluster.references import References
from moorage.cluster.shared_feed import SharedFeeds, Wanted
from moorage.density.selectors import holds, parse_selector
from moorage.status.workload import Workload
from tests.unit.small_server import SmallServer, small_server, until

PODS = "/api/v1/namespaces/team-a/pods"
TEMPLATES = "/api/v1/namespaces/team-a/podtemplates"


class Holder:
    """A sink that holds what it is given."""

    def __init__(self) -> None:
        self.held: dict[str, Arrival] = {}

    def replace(self, records: Mapping[str, Arrival]) -> None:
        self.held = dict(records)

    def put(self, record: Arrival) -> None:
        self.held[record.uid] = record

    def delete(self, record: Arrival) -> None:
        del self.held[record.uid]

    def get(self, uid: str) -> Arrival | None:
        return self.held.get(uid)

    def snapshot(self) -> Mapping[str, Arrival]:
        return self.held


class Team:
    """A namespace with pods, and feeds of these."""

    def __init__(self, server: SmallServer, feeds: SharedFeeds[Arrival]) -> None:
        self.server = server
        self.feeds = feeds

    def pod(self, name: str, app: str) -> None:
        self.server.put(PODS, name, metadata={"labels": {"app": app}})

    def join(self, app: str) -> Holder:
        holder = Holder()
        wanted: Wanted[Arrival] = Wanted(lambda pod: pod.labels.get("app") == app, label_selector=f"app={app}")
        self.feeds.join(PODS, holder, wanted)
        return holder

    @property
    def watches(self) -> int:
        return len(self.server.watched(PODS))


@asynccontextmanager
async def team() -> AsyncIterator[Team]:
    async with small_server() as (server, client):
        server.collections[PODS] = {}
        async with asyncio.TaskGroup() as tasks:
            found = Team(server, SharedFeeds(client, read_arrival, tasks))
            yield found
            for task in [each for each in asyncio.all_tasks() if each.get_name().startswith("shared feed")]:
                task.cancel()


async def test_one_who_looks_asks_for_its_own_objects_alone() -> None:
    async with team() as found:
        found.join("web")
        await until(lambda: found.watches == 1, "a watch")
        assert [each["labelSelector"] for each in found.server.watched(PODS)] == ["app=web"]


async def test_several_share_one_watch_and_each_gets_its_own() -> None:
    async with team() as found:
        found.pod("w1", "web")
        holders = {app: found.join(app) for app in ("web", "api", "db")}
        await until(lambda: set(holders["web"].held) == {"w1"}, "the list")
        found.pod("a1", "api")
        found.pod("other", "other")
        await until(lambda: set(holders["api"].held) == {"a1"}, "an event")
        assert [set(each.held) for each in holders.values()] == [{"w1"}, {"a1"}, set()]
        await until(lambda: found.watches == 1, "one watch for all")
        assert "labelSelector" not in found.server.watched(PODS)[0]


async def test_one_who_comes_later_gets_what_is_known() -> None:
    async with team() as found:
        found.pod("a1", "api")
        for app in ("web", "db"):
            found.join(app)
        await until(lambda: found.watches == 1, "one watch")
        later = found.join("api")
        await until(lambda: set(later.held) == {"a1"}, "what is known")
        assert found.watches == 1


async def test_an_object_that_changes_goes_from_one_to_another_and_then_from_all() -> None:
    async with team() as found:
        found.pod("p", "web")
        web, api = found.join("web"), found.join("api")
        await until(lambda: set(web.held) == {"p"}, "the list")
        found.pod("p", "api")
        await until(lambda: set(api.held) == {"p"}, "its other label")
        assert not web.held
        found.server.delete(PODS, "p")
        await until(lambda: not api.held, "its deletion")


async def test_nobody_looks_and_nothing_is_watched() -> None:
    async with team() as found:
        holders = [found.join("web"), found.join("api")]
        await until(lambda: found.watches == 1, "a watch")
        for each in holders:
            found.feeds.leave(PODS, each)
        assert len(found.feeds) == 0
        found.join("web")
        await until(
            lambda: [each.get("labelSelector") for each in found.server.watched(PODS)][-1:] == ["app=web"], "it"
        )


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        pytest.param("app=web", {"web"}, id="equal"),
        pytest.param("app==web", {"web"}, id="equal, in other words"),
        pytest.param("app!=web", {"api", "bare"}, id="another, or none"),
        pytest.param("app in (web, api)", {"web", "api"}, id="one of"),
        pytest.param("app notin (web)", {"api", "bare"}, id="none of"),
        pytest.param("app", {"web", "api"}, id="there"),
        pytest.param("!app", {"bare"}, id="not there"),
        pytest.param("app in (web,api),!canary", {"api"}, id="several"),
        pytest.param("example.com/size>3", {"api"}, id="more than"),
        pytest.param("app=", set(), id="an empty value"),
        pytest.param("", {"web", "api", "bare"}, id="nothing asked for"),
    ],
)
def test_a_selector_that_stands_in_a_request_chooses_as_the_api_server_does(text: str, chosen: set[str]) -> None:
    pods = {"web": {"app": "web", "canary": "1"}, "api": {"app": "api", "example.com/size": "4"}, "bare": {}}
    selector = parse_selector(text)
    assert {name for name, labels in pods.items() if all(holds(each, labels) for each in selector)} == chosen


@pytest.mark.parametrize("text", ["app=web,", "app in web", "=web", "a b", "app in (a", "a,,b", "(a)"])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a label selector"):
        parse_selector(text)


TEMPLATE = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]}}


async def test_templates_of_many_buffers_are_read_by_one_watch() -> None:
    async with small_server() as (server, client):
        server.serve("", "v1", podtemplates="v1")
        server.documents["/api/v1"]["resources"][0]["kind"] = "PodTemplate"
        server.collections[TEMPLATES] = {}
        changed: list[AnyReference] = []
        references = References(client, changed.append)
        running = asyncio.create_task(references.run())
        wanted = [Reference("team-a", None, "PodTemplate", f"unit-{number}") for number in range(20)]
        for each in wanted:
            server.put(TEMPLATES, each.name, template=TEMPLATE)
        references.want(wanted)
        await until(lambda: {*changed} == {*wanted}, "all of them read")
        assert all(isinstance(references.known(each), Workload) for each in wanted)
        await until(lambda: len(server.watched(TEMPLATES)) == 1, "one watch for all")
        references.want(wanted[:1])
        await until(
            lambda: [each.get("fieldSelector") for each in server.watched(TEMPLATES)] == ["metadata.name=unit-0"],
            "a watch of the one that is left",
        )
        running.cancel()


async def test_pods_of_many_buffers_are_read_by_one_watch() -> None:
    async with small_server() as (server, client):
        server.collections[PODS] = {}
        references = References(client, lambda _: None)
        running = asyncio.create_task(references.run())
        wanted = [PodsReference("team-a", f"app=app-{number}") for number in range(20)]
        for number in range(20):
            for each in range(number):
                server.put(PODS, f"p-{number}-{each}", metadata={"labels": {"app": f"app-{number}"}}, **TEMPLATE)
        references.want(wanted)

        def replicas() -> list[int | None]:
            found = [references.known(each) for each in wanted]
            return [each.replicas if isinstance(each, Workload) else None for each in found]

        await until(lambda: replicas() == [*range(20)], "all pods counted")
        await until(lambda: len(server.watched(PODS)) == 1, "one watch for all")
        references.want([])
        await until(lambda: not server.watched(PODS), "pods followed no more")
        running.cancel()
