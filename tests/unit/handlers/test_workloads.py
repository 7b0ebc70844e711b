"""Which workloads are looked at, and what becomes of those that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from moorage.handlers import workloads as module
from moorage.handlers.workloads import WorkloadWatch
from moorage.quota.admission import QuotaState
from moorage.quota.workloads import Findings
from tests.builders import quota_state
from tests.unit.small_server import SmallServer, small_server, until

APPS, BATCH, CORE = (f"{root}/namespaces/team-a" for root in ("/apis/apps/v1", "/apis/batch/v1", "/api/v1"))
SILENT = {"spec": {"containers": [{"name": "app"}]}}
TOTAL = quota_state("total", hard={"requests.cpu": "9"})


@dataclass
class Running:
    """A watch that runs against a server."""

    server: SmallServer
    watch: WorkloadWatch = field(init=False)
    quotas: list[QuotaState] = field(default_factory=lambda: [TOTAL])
    told: list[str] = field(default_factory=list)

    async def look(self) -> Findings:
        """Have it look, and return what it found."""
        before = self.watch.findings("team-a")
        self.watch.look("team-a")
        await until(lambda: self.watch.findings("team-a") not in (None, before), "findings")
        found = self.watch.findings("team-a")
        assert found is not None
        return found

    def serve(self, path: str, name: str, **body: Any) -> None:
        self.server.collections.setdefault(path, {})
        self.server.put(path, name, **body)


@pytest.fixture
async def run(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Running]:
    monkeypatch.setattr(module, "LOOK_AGAIN_SECONDS", 0.02)
    async with small_server() as (server, client):
        it = Running(server)
        it.watch = WorkloadWatch(client, lambda _: it.quotas, it.told.append)
        task = asyncio.create_task(it.watch.run())
        yield it
        assert not task.done(), "the watch ended by itself"
        task.cancel()
        await asyncio.wait([task])


def names(found: Findings) -> list[str]:
    return [each.workload for each in found.refused]


async def test_everything_that_makes_pods_is_looked_at(run: Running) -> None:
    for kind in ("deployments", "statefulsets", "daemonsets", "replicasets"):
        run.serve(f"{APPS}/{kind}", "web", spec={"template": SILENT})
    run.serve(f"{BATCH}/jobs", "sum", spec={"template": SILENT})
    run.serve(f"{BATCH}/cronjobs", "nightly", spec={"jobTemplate": {"spec": {"template": SILENT}}})
    run.serve(f"{CORE}/replicationcontrollers", "old", spec={"template": SILENT})
    assert names(await run.look()) == [
        "Deployment/web",
        "StatefulSet/web",
        "DaemonSet/web",
        "ReplicaSet/web",
        "Job/sum",
        "CronJob/nightly",
        "ReplicationController/old",
    ]
    assert run.told == ["team-a"]


async def test_what_another_workload_makes_and_what_has_ended_is_not(run: Running) -> None:
    owner = {"ownerReferences": [{"kind": "Deployment", "name": "web", "uid": "1", "controller": True}]}
    run.serve(f"{APPS}/replicasets", "web-1", metadata=owner, spec={"template": SILENT})
    for condition in ("Complete", "Failed"):
        ended = {"conditions": [{"type": condition, "status": "True"}]}
        run.serve(f"{BATCH}/jobs", condition.lower(), spec={"template": SILENT}, status=ended)
    run.serve(f"{BATCH}/jobs", "suspended", spec={"template": SILENT}, status={"conditions": [{"type": "Suspended"}]})
    assert names(await run.look()) == ["Job/suspended"]


async def test_what_cannot_be_decoded_hides_no_other(run: Running) -> None:
    run.serve(f"{APPS}/deployments", "odd", spec={"template": {"spec": {"containers": "none"}}})
    amounts = {"requests": {"cpu": "lots"}}
    run.serve(f"{APPS}/deployments", "odder", spec={"template": {"spec": {"containers": [{"resources": amounts}]}}})
    run.serve(f"{APPS}/deployments", "web", spec={"template": SILENT})
    assert names(await run.look()) == ["Deployment/web"]


async def test_a_kind_that_may_not_be_read_is_told_and_the_others_are_read(run: Running) -> None:
    run.serve(f"{BATCH}/jobs", "sum", spec={"template": SILENT})
    run.server.refusals[f"{APPS}/deployments"] = 403
    found = await run.look()
    assert names(found) == ["Job/sum"]
    assert found.problems == (
        "deployments.apps cannot be read: refused with 403; give the operator's ClusterRole list on deployments in API "
        "group apps",
    )


async def test_a_failing_server_is_asked_again_and_holds_up_no_status(run: Running) -> None:
    run.serve(f"{APPS}/deployments", "web", spec={"template": SILENT})
    run.server.refusals[f"{APPS}/deployments"] = 500
    assert (await run.look()).problems == ("workloads cannot be read: refused with 500",)
    run.server.refusals.clear()
    await until(lambda: names(run.watch.findings("team-a") or Findings({})) == ["Deployment/web"], "another look")


async def test_a_workload_that_is_corrected_is_seen_to_be(run: Running) -> None:
    run.serve(f"{APPS}/deployments", "web", spec={"template": SILENT})
    assert names(await run.look()) == ["Deployment/web"]
    given = {"name": "app", "resources": {"requests": {"cpu": "1"}}}
    run.serve(f"{APPS}/deployments", "web", spec={"template": {"spec": {"containers": [given]}}})
    await until(lambda: names(run.watch.findings("team-a") or Findings({})) == [], "the correction")
    assert run.told == ["team-a", "team-a"]


async def test_without_a_quota_that_demands_anything_nobody_looks(run: Running) -> None:
    run.serve(f"{APPS}/deployments", "web", spec={"template": SILENT})
    await run.look()
    run.quotas = [quota_state("pods", hard={"pods": "1"})]
    run.server.accepted.clear()
    run.watch.look("team-a")
    await until(lambda: run.watch.findings("team-a") is None, "the findings to be forgotten")
    assert run.server.accepted == {}


async def test_a_quota_that_changes_while_somebody_looks_is_looked_at_anew(run: Running) -> None:
    run.serve(f"{APPS}/deployments", "web", spec={"template": SILENT})
    run.watch.look("team-a")
    await asyncio.sleep(0)
    run.quotas = [quota_state("total", hard={"requests.cpu": "8"})]
    run.watch.look("team-a")

    def told() -> bool:
        found = run.watch.findings("team-a")
        return found is not None and found.tell_of(run.quotas[0])

    await until(told, "findings about the new spec")
