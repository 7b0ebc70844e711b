"""What is watched follows what quotas count, and how well it is known is told for each resource."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from moorage.cluster.client import JSON, METADATA_ONLY, Client
from moorage.cluster.feed import Pace
from moorage.handlers import watches as module
from moorage.handlers.watches import Watches
from moorage.quota.ledger import Ledger, Terms
from moorage.status.namespacequota import Trouble, View
from tests.builders import object_use
from tests.unit.small_server import SmallServer, small_server, until

SECRETS, PODS = "/api/v1/secrets", "/api/v1/pods"
WIDGETS = "/apis/example.com/v1/widgets"
CLAIMS, CLASSES = "/apis/resource.k8s.io/v1/resourceclaims", "/apis/resource.k8s.io/v1/deviceclasses"


@dataclass
class Running:
    """Watches that run against a server."""

    server: SmallServer
    watches: Watches
    ledger: Ledger

    def held(self, resource: str) -> set[str]:
        return set(self.ledger.objects(resource))

    async def known(self, resource: str) -> None:
        await until(lambda: self.watches.view(resource) == View(finished_too=resource != "pods"), f"{resource} known")

    async def seen(self, resource: str, condition: Callable[[View], bool], what: str) -> View:
        await until(lambda: condition(self.watches.view(resource)), what)
        return self.watches.view(resource)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what is not served more often than every ten seconds."""
    monkeypatch.setattr(module, "LOOK_AGAIN_SECONDS", 0.02)


@asynccontextmanager
async def running(server: SmallServer, client: Client, *namespaces: str) -> AsyncIterator[Running]:
    ledger = Ledger()
    watches = Watches(client, ledger, namespaces=namespaces, changed=lambda: None, pace=Pace(verify=0))
    task = asyncio.create_task(watches.run())
    try:
        yield Running(server, watches, ledger)
        assert not task.done(), "the watches ended by themselves"
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture
async def run() -> AsyncIterator[Running]:
    async with small_server() as (server, client):
        server.serve("", "v1", secrets="v1", pods="v1", configmaps="v1")
        server.put(SECRETS, "one", data={"password": "aHVudGVyMg=="})
        async with running(server, client) as it:
            yield it


class TestWhatIsWatched:
    async def test_a_resource_is_read_once_a_quota_counts_it_and_forgotten_when_none_does(self, run: Running) -> None:
        run.watches.want([], finished_pods=False)
        await run.known("pods")
        assert run.watches.view("secrets") == View(complete=False)
        run.watches.want(["secrets"], finished_pods=False)
        await run.known("secrets")
        assert run.held("secrets") == {"one"}
        run.watches.want([], finished_pods=False)
        assert run.held("secrets") == set()
        assert [feed.path for feed in run.watches.feeds] == [PODS]

    async def test_what_its_feed_took_in_while_it_ended_is_forgotten_too(self, run: Running) -> None:
        run.watches.want(["secrets"], finished_pods=False)
        await run.known("secrets")
        run.watches.want([], finished_pods=False)
        run.ledger.put(object_use("late"))
        await until(lambda: run.held("secrets") == set(), "the late one is forgotten")

    async def test_a_resource_that_is_wanted_again_at_once_is_counted(self, run: Running) -> None:
        run.watches.want(["secrets"], finished_pods=False)
        await run.known("secrets")
        run.watches.want([], finished_pods=False)
        run.watches.want(["secrets"], finished_pods=False)
        await run.known("secrets")
        await asyncio.sleep(0.05)
        assert run.held("secrets") == {"one"}

    async def test_changes_reach_the_ledger(self, run: Running) -> None:
        run.watches.want(["secrets"], finished_pods=False)
        await run.known("secrets")
        run.server.put(SECRETS, "two")
        await until(lambda: run.held("secrets") == {"one", "two"}, "the second secret is counted")
        run.server.delete(SECRETS, "one")
        await until(lambda: run.held("secrets") == {"two"}, "the first is not any more")

    async def test_kinds_whose_metadata_is_enough_are_asked_for_nothing_else(self, run: Running) -> None:
        run.watches.want(["secrets", "configmaps"], finished_pods=False)
        for resource in ("pods", "secrets", "configmaps"):
            await run.known(resource)
        assert run.server.accepted == {PODS: JSON, SECRETS: METADATA_ONLY, "/api/v1/configmaps": METADATA_ONLY}

    async def test_a_kind_that_comes_later_is_found(self, run: Running) -> None:
        run.watches.want(["widgets.example.com"], finished_pods=False)
        view = await run.seen("widgets.example.com", lambda view: view.trouble is not None, "it is not served")
        assert view == View(
            complete=False,
            trouble=Trouble.NOT_SERVED,
            message="the cluster serves no namespaced resource widgets.example.com; it is counted once it does",
        )
        run.server.serve("example.com", "v1", widgets="v1")
        run.server.put(WIDGETS, "w")
        await run.known("widgets.example.com")
        assert run.held("widgets.example.com") == {"w"}

    async def test_one_that_goes_and_comes_back_under_another_version_is_found_again(self, run: Running) -> None:
        run.server.serve("example.com", "v1", widgets="v1")
        run.server.put(WIDGETS, "old")
        run.watches.want(["widgets.example.com"], finished_pods=False)
        await run.known("widgets.example.com")
        run.server.remove(WIDGETS)
        view = await run.seen("widgets.example.com", lambda view: view.trouble is not None, "it is gone")
        assert (view.trouble, view.complete) == (Trouble.NOT_SERVED, True)
        run.server.serve("example.com", "v2", widgets="v2")
        run.server.put("/apis/example.com/v2/widgets", "new")
        await until(lambda: run.held("widgets.example.com") == {"new"}, "it is read under its new version")
        await run.known("widgets.example.com")

    async def test_each_namespace_is_watched_for_itself_when_some_are_named(self) -> None:
        async with small_server() as (server, client):
            server.serve("", "v1", secrets="v1", pods="v1")
            for namespace in ("team-a", "team-b"):
                server.collections[f"/api/v1/namespaces/{namespace}/secrets"] = {}
                server.collections[f"/api/v1/namespaces/{namespace}/pods"] = {}
            server.put("/api/v1/namespaces/team-a/secrets", "one")
            server.refusals["/api/v1/namespaces/team-b/secrets"] = 403
            async with running(server, client, "team-a", "team-b") as run:
                run.watches.want(["secrets"], finished_pods=False)
                await until(lambda: run.watches.view("secrets", "team-a") == View(), "one namespace is known")
                view = await run.seen("secrets", lambda view: view.trouble is not None, "the other is refused")
                assert view.trouble is Trouble.FORBIDDEN
                assert run.watches.view("secrets", "team-b").trouble is Trouble.FORBIDDEN
                assert run.held("secrets") == {"one"}


class TestTrouble:
    async def test_a_kind_that_we_may_not_list_names_the_rule_to_add(self, run: Running) -> None:
        run.server.refusals[SECRETS] = 403
        run.watches.want(["secrets"], finished_pods=False)
        view = await run.seen("secrets", lambda view: view.trouble is not None, "it is refused")
        assert (view.trouble, view.complete) == (Trouble.FORBIDDEN, False)
        assert view.message == (
            "secrets cannot be read (refused with 403): give the operator's ClusterRole list, watch on secrets "
            'in API group ""'
        )
        del run.server.refusals[SECRETS]
        await run.known("secrets")

    async def test_one_that_fails_to_be_listed_is_being_listed_and_then_a_trouble_of_its_own(
        self, run: Running, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run.server.refusals[SECRETS] = 500
        run.watches.want(["secrets"], finished_pods=False)
        await until(lambda: any(feed.state.startswith("backing") for feed in run.watches.feeds), "it fails")
        await run.known("pods")
        assert run.watches.view("secrets").trouble is None
        assert module.STALE_SECONDS == 90
        monkeypatch.setattr(module, "STALE_SECONDS", 0.0)
        view = run.watches.view("secrets")
        assert (view.trouble, view.complete) == (Trouble.STALE, False)
        assert view.message.startswith("secrets could not be listed for more than 0 seconds (backing off: ")

    async def test_so_is_one_that_cannot_even_be_looked_up(self, run: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        run.server.documents["/apis/example.com"] = {}
        run.server.refusals["/apis/example.com"] = 503
        run.watches.want(["widgets.example.com"], finished_pods=False)
        monkeypatch.setattr(module, "STALE_SECONDS", 0.2)
        view = await run.seen("widgets.example.com", lambda view: view.trouble is not None, "it takes too long")
        assert (view.trouble, view.complete) == (Trouble.STALE, False)
        await until(lambda: "refused with 503" in run.watches.view("widgets.example.com").message, "the reason is told")

    async def test_kinds_of_aggregated_apis_are_told(self, run: Running) -> None:
        run.server.serve("example.com", "v1", widgets="v1")
        name = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"
        run.server.documents[name] = {"spec": {"service": {"name": "s"}}}
        run.watches.want(["widgets.example.com"], finished_pods=False)
        view = await run.seen("widgets.example.com", lambda view: view.complete, "it is known")
        assert view.aggregated


class TestDevices:
    """Claims are counted by the DeviceClasses there are."""

    @pytest.fixture
    async def run(self) -> AsyncIterator[Running]:
        async with small_server() as (server, client):
            server.serve("", "v1", pods="v1")
            async with running(server, client) as it:
                it.ledger.set_quota("team-a", "q", Terms(frozenset({"requests.example.com/gpu"})))
                yield it

    def serve(self, run: Running) -> None:
        run.server.serve("resource.k8s.io", "v1", resourceclaims="v1")
        run.server.collections[CLASSES] = {}
        request = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 3}
        run.server.put(CLAIMS, "c", spec={"devices": {"requests": [{"exactly": request}]}})

    def gpus(self, run: Running) -> int:
        return run.ledger.usage("team-a", "q").used["requests.example.com/gpu"] // 10**9

    async def test_a_cluster_without_claims_counts_what_pods_ask_for(self, run: Running) -> None:
        run.watches.want(["resourceclaims.resource.k8s.io"], finished_pods=False)
        await run.known("resourceclaims.resource.k8s.io")

    async def test_a_class_that_comes_changes_or_goes_has_claims_counted_anew(self, run: Running) -> None:
        self.serve(run)
        run.watches.want(["resourceclaims.resource.k8s.io"], finished_pods=False)
        await run.known("resourceclaims.resource.k8s.io")
        assert self.gpus(run) == 0
        run.server.put(CLASSES, "gpu.example.com", spec={"extendedResourceName": "example.com/gpu"})
        await until(lambda: self.gpus(run) == 3, "the class came")
        run.server.put(CLASSES, "gpu.example.com", spec={"extendedResourceName": "example.com/other"})
        await until(lambda: self.gpus(run) == 0, "the class changed")
        run.server.put(CLASSES, "gpu.example.com", spec={"extendedResourceName": "example.com/gpu"})
        await until(lambda: self.gpus(run) == 3, "and back")
        run.server.delete(CLASSES, "gpu.example.com")
        await until(lambda: self.gpus(run) == 0, "the class went")

    async def test_classes_that_we_may_not_list_name_the_rule_to_add(self, run: Running) -> None:
        self.serve(run)
        run.server.refusals[CLASSES] = 403
        run.watches.want(["resourceclaims.resource.k8s.io"], finished_pods=False)
        view = await run.seen("resourceclaims.resource.k8s.io", lambda view: view.trouble is not None, "refused")
        assert view.trouble is Trouble.FORBIDDEN
        assert view.message.endswith(
            "give the operator's ClusterRole list, watch on deviceclasses in API group resource.k8s.io"
        )
