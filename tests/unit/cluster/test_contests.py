"""An object that somebody keeps changing is put back at a bounded pace, and whoever reads our status is told."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.applier import Applier
from moorage.cluster.backoff import Backoff
from moorage.cluster.client import Client
from moorage.cluster.contests import CEILING_SECONDS, QUIET_SECONDS, Contests, contested
from moorage.cluster.labeller import Labeller
from moorage.cluster.owned import Kind, OwnedObjects, read_owned
from moorage.cluster.projector import Plan, Projector
from moorage.quota.coverage import COVERS
from moorage.quota.native import NativeQuota
from moorage.quota.projection import Owner, Part, Projection
from tests.builders import nano
from tests.unit.small_server import QUICK, SmallServer, small_server, until

PLAIN = Backoff(random=lambda: 0.0)
"""Delays without chance: 0.25, 0.5, 1, 2 and then always 2.5 s."""
SHORTEST = QUICK.ceiling_seconds / 2
"""What the client of the small server waits at least before it puts something back for the fifth time."""


class TestThePace:
    def test_what_was_not_put_back_yet_is_put_back_at_once(self) -> None:
        assert Contests[str](PLAIN).pause("quota", 100.0) == 0.0

    def test_each_time_in_a_row_takes_longer_up_to_a_ceiling(self) -> None:
        contests, now, pauses = Contests[str](PLAIN), 0.0, []
        for _ in range(7):
            contests.put_back("quota", now)
            pauses.append(contests.pause("quota", now))
            now += pauses[-1]
        assert pauses == [0.25, 0.5, 1.0, 2.0, 2.5, 2.5, 2.5]

    def test_the_pause_passes(self) -> None:
        contests = Contests[str](PLAIN)
        contests.put_back("quota", 10.0)
        assert contests.pause("quota", 10.1) == pytest.approx(0.15)
        assert contests.pause("quota", 10.25) == 0.0

    def test_what_is_left_alone_for_a_while_is_at_peace(self) -> None:
        contests = Contests[str](PLAIN)
        for now in (0.0, 1.0, 2.0):
            contests.put_back("quota", now)
        assert contests.is_contested("quota", 2.0)
        assert contests.peace_in("quota", 12.0) == QUIET_SECONDS - 10
        assert not contests.is_contested("quota", 2.0 + QUIET_SECONDS)
        assert contests.put_back("quota", 3.0 + QUIET_SECONDS) == 1

    def test_one_edit_is_no_contest(self) -> None:
        contests = Contests[str](PLAIN)
        assert [contests.put_back("quota", now) for now in (0.0, 1.0)] == [1, 2]
        assert not contests.is_contested("quota", 1.0)

    def test_each_object_has_its_own(self) -> None:
        contests = Contests[str](PLAIN)
        contests.put_back("quota", 0.0)
        assert contests.pause("another", 0.0) == 0.0

    @given(st.lists(st.floats(0, 10), min_size=1, max_size=200))
    def test_however_often_it_is_changed_the_rate_is_bounded(self, between: list[float]) -> None:
        contests, now, written = Contests[str](Backoff(random=lambda: 0.5)), 0.0, []
        for seconds in between:
            now += seconds
            if not contests.pause("quota", now):
                contests.put_back("quota", now)
                written.append(now)
        late = written[5:]
        assert all(b - a >= CEILING_SECONDS / 2 for a, b in itertools.pairwise(late))

    def test_it_is_told_in_plain_words(self) -> None:
        assert contested("ResourceQuota moorage-all", "team-a") == (
            "somebody keeps changing ResourceQuota moorage-all, which is put back every 2.5 to 5 s only; "
            "kubectl get resourcequota moorage-all -n team-a -o yaml --show-managed-fields tells who"
        )

    def test_the_command_tells_kinds_of_one_name_apart(self) -> None:
        told = contested("CapacityBuffer web-active", "team-a", group="autoscaling.x-k8s.io")
        assert "kubectl get capacitybuffer.autoscaling.x-k8s.io web-active -n team-a" in told


class Fight:
    """Somebody who undoes at once whatever is written, and counts that."""

    def __init__(self, server: SmallServer) -> None:
        self._server = server
        self._began = asyncio.get_running_loop().time()

    @property
    def written(self) -> int:
        return len(self._server.patches)

    async def until_told(self, told: Any, change: Any) -> None:
        """Change the object whenever there is time, until it is told; then see how often it was put back."""

        def tell() -> bool:
            change()
            return bool(told())

        await until(tell, "a word about it")
        for _ in range(150):
            change()
            await asyncio.sleep(0.002)
        seconds = asyncio.get_running_loop().time() - self._began
        assert self.written <= 5 + seconds / SHORTEST, "no faster than the policy says"


KEY, NAME = ("team-a", "all", Part.OTHERS), "moorage.others-all"
PATH = f"/api/v1/namespaces/team-a/resourcequotas/{NAME}"
OWNER = Owner("team-a", "all", "uid")
PLAN = Plan(OWNER, Part.OTHERS, Projection(nano(services="5"), frozenset(), Part.OTHERS))


class Quotas:
    """The ResourceQuota that is there: ours, as somebody else has it."""

    def __init__(self, client: Client) -> None:
        self.version, self.hard, self.told = 1, nano(services="5"), list[str]()
        self.projector = Projector(
            client,
            plan=lambda _: PLAN,
            held=lambda *_: NativeQuota(
                "q", "team-a", NAME, self.version, frozenset(), {}, self.hard,
                owner="all", owner_uid="uid", is_managed=True,
            ),
            synced=lambda _: True,
            changed=lambda _: None,
            edited=lambda _, what: self.told.append(what),
        )  # fmt: skip

    def change(self) -> None:
        self.version, self.hard = self.version + 1, nano(services="9")
        self.projector.mark(KEY)


def stored(version: int) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "spec": {"hard": {"services": "5"}}}


async def test_a_resource_quota_that_somebody_keeps_changing_is_put_back_at_a_pace() -> None:
    async with small_server() as (server, client):
        server.documents[PATH] = stored(1)
        quotas, fight = Quotas(client), Fight(server)
        running = asyncio.create_task(quotas.projector.run())
        await fight.until_told(lambda: quotas.projector.contests_of(("team-a", "all")), quotas.change)
        (told,) = quotas.projector.contests_of(("team-a", "all"))
        assert told.startswith(f"somebody keeps changing ResourceQuota {NAME}, which is put back every 2.5 to 5 s")
        assert quotas.told[0] == f"ResourceQuota {NAME} was put back: hard.services is 9, not 5"
        quotas.projector.forget(KEY)
        assert quotas.projector.contests_of(("team-a", "all")) == []
        running.cancel()


KIND = Kind("apps", "v1", "deployments", "Deployment")
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web-placeholder",
        "namespace": "team-a",
        "ownerReferences": [{"uid": "owner", "controller": True}],
    },
    "spec": {"replicas": 3},
}


def deployment(version: int) -> dict[str, Any]:
    meta = {**DEPLOYMENT["metadata"], "uid": "d", "resourceVersion": str(version), "generation": version}  # type: ignore[dict-item]
    return {**DEPLOYMENT, "metadata": meta}


async def test_so_is_any_object_that_is_made_for_a_buffer() -> None:
    async with small_server() as (server, client):
        path = KIND.path("team-a", "web-placeholder")
        server.documents[path] = deployment(1)
        objects, version = OwnedObjects(), 1
        applier = Applier(client, objects, settled=lambda _: None)
        applier.know(KIND)
        fight = Fight(server)

        def change() -> None:
            nonlocal version
            if fight.written:
                version += 1
                server.documents[path] = deployment(version)
                objects.put(read_owned(deployment(version), "Deployment"))

        running = asyncio.create_task(applier.run())
        applier.want("owner", [DEPLOYMENT])
        await fight.until_told(lambda: applier.trouble("owner"), change)
        trouble = applier.trouble("owner")
        assert trouble is not None
        assert (trouble.reason, trouble.message) == (
            "ChangedByOthers",
            contested("Deployment web-placeholder", "team-a", group="apps"),
        )
        applier.forget("owner")
        assert applier.trouble("owner") is None
        running.cancel()


async def test_and_so_are_the_labels_of_a_quota(caplog: pytest.LogCaptureFixture) -> None:
    async with small_server() as (server, client):
        server.documents["/apis/moorage.dev/v1alpha1/namespaces/team-a/namespacequotas/all"] = {}
        labeller = Labeller(client, wanted=lambda _: frozenset({"pods"}), uid=lambda _: "uid")
        running = asyncio.create_task(labeller.run())

        def change() -> None:
            labeller.observe(("team-a", "all"), {COVERS + "pods": "false"})

        await Fight(server).until_told(lambda: "somebody keeps changing NamespaceQuota all" in caplog.text, change)
        running.cancel()
