"""The quotas of a namespace are put together from what the operator holds in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from moorage.cluster.client import Client
from moorage.handlers.admission import AdmissionMemory
from moorage.handlers.quotas import Quotas
from moorage.handlers.scalable import Scalables, read_scalable
from moorage.quota.ledger import Ledger
from moorage.quota.native import NativeQuota
from moorage.status.namespacequota import View
from tests.builders import nano, owned_by, pod_use
from tests.unit.operator_states import NoCredentials

NAMESPACE = "team-a"


@dataclass
class Bench:
    """A memory and what it looks into."""

    fresh: set[str] = field(default_factory=set)
    proved: set[str] = field(default_factory=set)
    views: dict[str, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = Ledger()
        self.quotas = Quotas(self.ledger, lambda resource, _: self.views.get(resource, View()))
        self.memory = AdmissionMemory(
            self.quotas,
            self.ledger,
            Scalables(Client(NoCredentials()), (None,)),
            is_fresh=lambda resource, _: resource in self.fresh,
            policies_proved=lambda key: key[1] in self.proved,
            uid=lambda key: f"uid of {key[1]}",
        )

    def accept(self, name: str, **spec: Any) -> None:
        self.quotas.accept(NAMESPACE, name, generation=1, spec=spec)

    def native(self, name: str, *, owner: str = "", **limits: str) -> None:
        hard = nano(**limits)
        used = dict.fromkeys(hard, 0)
        self.quotas.native.put(NativeQuota(name, NAMESPACE, name, 1, frozenset(), used, hard, hard, bool(owner), owner))


@pytest.fixture
async def bench() -> Bench:
    return Bench()


async def test_a_namespace_without_quotas_is_not_looked_at(bench: Bench) -> None:
    bench.native("legacy", pods="9")
    assert bench.memory.look(NAMESPACE) is None
    bench.accept("bad", hard={"pods": "lots"})
    assert bench.memory.look(NAMESPACE) is None


async def test_quotas_come_with_what_is_used_and_who_holds_it(bench: Bench) -> None:
    bench.accept("team", hard={"requests.cpu": "2"})
    bench.ledger.put(pod_use("a", namespace=NAMESPACE, cpu="500m", owner=owned_by("Job/import")))
    view = bench.memory.look(NAMESPACE)
    assert view is not None
    [team] = view.quotas
    assert (team.name, team.uid, team.state.used) == ("team", "uid of team", nano(**{"requests.cpu": "500m"}))
    assert [(each.workload, each.pods) for each in team.holders("requests.cpu", 3)] == [("Job/import", 1)]
    assert team.without("Job/import").used == {"requests.cpu": 0}


async def test_native_quotas_are_told_apart_by_whom_they_were_made_for(bench: Bench) -> None:
    bench.accept("team", hard={"pods": "9"})
    bench.native("moorage-team", owner="team", pods="9")
    bench.native("moorage-gone", owner="gone", pods="9")
    bench.native("legacy", pods="5")
    view = bench.memory.look(NAMESPACE)
    assert view is not None
    assert [each.name for each in view.of("team").projections] == ["moorage-team"]
    assert sorted(each.name for each in view.others) == ["legacy", "moorage-gone"]
    assert all(each.is_native for each in (*view.others, *view.of("team").projections))


async def test_what_is_proved_is_asked_for_at_that_moment(bench: Bench) -> None:
    bench.accept("team", hard={"pods": "9", "requests.example.com/gpu": "1"})
    view = bench.memory.look(NAMESPACE)
    assert view is not None
    team = view.of("team")
    assert not team.policies_proved()
    assert not team.is_current("pods")
    bench.proved.add("team")
    bench.fresh.add("pods")
    assert team.policies_proved()
    assert team.is_current("pods")
    assert not team.is_current("requests.example.com/gpu"), "claims for devices count under it too"
    bench.fresh.add("resourceclaims.resource.k8s.io")
    assert team.is_current("requests.example.com/gpu")


async def test_what_is_not_known_as_it_is_now_refuses_nothing(bench: Bench) -> None:
    bench.accept("team", hard={"pods": "9", "secrets": "3"})
    bench.views["pods"] = View(complete=False)
    view = bench.memory.look(NAMESPACE)
    assert view is not None
    assert set(view.of("team").state.used) == {"secrets"}


# Workloads


def stored(kind: str, name: str = "web", **meta: Any) -> bytes:
    body = {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid of {name}", "resourceVersion": "7", **meta},
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "app"}]}}},
    }
    return json.dumps(body | {"kind": kind}).encode()


async def test_workloads_are_found_by_name_until_they_go(bench: Bench) -> None:
    scalables = Scalables(Client(NoCredentials()), (None,))
    sink: Any = scalables.feeds[0]._intake._sink  # what the feed of Deployments fills
    record = read_scalable("Deployment", stored("Deployment"))
    sink.replace({record.uid: record})
    found = scalables.get("Deployment", NAMESPACE, "web")
    assert found is not None
    assert found.replicas == 3
    regarding = scalables.regarding("Deployment", NAMESPACE, "web")
    assert regarding is not None
    assert (regarding.kind, regarding.uid) == ("Deployment", "uid of web")
    anew = read_scalable("Deployment", stored("Deployment", uid="another"))
    sink.put(anew)
    sink.delete(record)
    regarding = scalables.regarding("Deployment", NAMESPACE, "web")
    assert regarding is not None
    assert regarding.uid == "another"
    sink.replace({})
    assert scalables.get("Deployment", NAMESPACE, "web") is None


def test_the_replica_sets_of_deployments_are_held_without_their_templates() -> None:
    owner = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    assert read_scalable("ReplicaSet", stored("ReplicaSet", ownerReferences=[owner])).workload is None
    assert read_scalable("ReplicaSet", stored("ReplicaSet")).workload is not None
