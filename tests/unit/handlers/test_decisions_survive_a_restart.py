"""What an operator decided about standby units holds after a restart, and until something else is known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.api import parse_capacity_buffer_spec
from moorage.backends.autoscaler import ACTIVE_STRATEGY, GROUP, KIND, PLURAL, STANDBY_STRATEGY
from moorage.cluster.client import Client
from moorage.cluster.owned import Kind, ObjectKey, read_owned
from moorage.density.nodes import Node, State
from moorage.handlers.alarms import Alarms
from moorage.handlers.provisioning import BufferKey, Provisioning
from moorage.objects import PodTemplate
from moorage.quantity import NANO
from moorage.run import Operator as WholeOperator
from moorage.run import Options
from moorage.status.capacitybuffer import buffer_status
from moorage.status.workload import Unresolved, Workload
from tests.unit.backends.templates import template
from tests.unit.small_server import small_server
from tests.unit.test_many_buffers_at_once import KUBECONFIG

KEY, UID = ("team-a", "web"), "uid-1"
SIZING = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
SPEC: dict[str, Any] = {"podTemplateRef": {"name": "unit"}, "sizing": SIZING, "standbyFallback": "Active"}
TEMPLATE = msgspec.json.encode(template())
UNIT = Workload(msgspec.json.decode(TEMPLATE, type=PodTemplate).spec, None, TEMPLATE)

CLUSTER_AUTOSCALER, KARPENTER = "AttributesSetSuccessfully", "Resolved"
SPLIT = {"web-active": 60, "web-standby": 120}
FOLDED = {"web-active": 180, "web-standby": 0}
GKE = "v1.36.1-gke.100"


class Operator:
    """What makes units for one buffer, from its start on; `status` is what it finds stored of the buffer."""

    def __init__(self, client: Client, status: Mapping[str, Any] | None = None, *, at: float = 0, version: str = "v1"):
        self.now = at
        self.wanted: dict[str, int] = {}
        """The sizes of what shall be there, by name."""
        alarms: Alarms[BufferKey] = Alarms(lambda _: None)
        made = self.made = Provisioning(
            client, namespaces=(), changed=lambda _: None, alarms=alarms, now=lambda: self.now
        )
        made.upstream.served, made.upstream.kind = True, Kind(GROUP, "v1beta1", PLURAL, KIND)
        made.surroundings.git_version = version
        made.applier.want = self._want  # type: ignore[method-assign]
        made.observe(KEY, uid=UID, annotations={}, status=status or {})

    def _want(self, _: str, documents: list[dict[str, Any]]) -> None:
        sized = [each for each in documents if "replicas" in each.get("spec", {})]
        self.wanted = {each["metadata"]["name"]: each["spec"]["replicas"] for each in sized}

    def stored(self, tier: str, replicas: int, *, answer: str = "", ready: bool = True, message: str = "") -> None:
        """Have an object of a tier stored, and what a controller has answered on it."""
        status: dict[str, Any] = {}
        strategy = STANDBY_STRATEGY if tier == "standby" else ACTIVE_STRATEGY
        if answer:
            condition = {"type": "ReadyForProvisioning", "status": str(ready), "reason": answer, "message": message}
            status = {"replicas": replicas, "provisioningStrategy": strategy, "conditions": [condition]}
        owner = {"kind": KIND, "name": "web", "uid": UID, "controller": True}
        meta = {"name": f"web-{tier}", "namespace": "team-a", "uid": tier, "ownerReferences": [owner]}
        self.made.objects.put(read_owned({"metadata": meta, "spec": {"replicas": replicas}, "status": status}, KIND))

    def gone(self, tier: str) -> None:
        held = self.made.objects.get(ObjectKey(KIND, "team-a", f"web-{tier}"))
        assert held is not None
        self.made.objects.delete(held)

    def look(self, *, at: float | None = None, **changes: Any) -> dict[str, Any]:
        """Have it make what the buffer needs now, and return the status."""
        self.now = at if at is not None else self.now
        spec = parse_capacity_buffer_spec(SPEC | changes)
        found = self.made.complete(KEY, spec, TEMPLATE, buffer_status(spec, UNIT, generation=1))
        assert found is not None
        status: dict[str, Any] = msgspec.to_builtins(found)
        return status


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with small_server() as (_, client):
        yield client


def standby_of(status: Mapping[str, Any]) -> tuple[str, str]:
    [found] = [each for each in status["conditions"] if each["type"] == "StandbyUnsupported"]
    return found["status"], found["reason"]


def ignored(client: Client) -> tuple[Operator, dict[str, Any]]:
    """An operator whose autoscaler has not taken the strategy in a minute, and the status it wrote."""
    operator = Operator(client)
    operator.stored("active", 60, answer=CLUSTER_AUTOSCALER)
    operator.stored("standby", 0)
    operator.look()
    assert operator.wanted == {"web-active": 60, "web-standby": 0}, "none are made while it is asked"
    status = operator.look(at=60)
    assert (operator.wanted, standby_of(status)) == (FOLDED, ("True", "StrategyIgnored"))
    operator.stored("active", 180, answer=CLUSTER_AUTOSCALER)
    return operator, status


def supported(client: Client) -> tuple[Operator, dict[str, Any]]:
    """An operator whose autoscaler has standby units."""
    operator = Operator(client)
    operator.stored("active", 60, answer=CLUSTER_AUTOSCALER)
    operator.stored("standby", 120, answer=CLUSTER_AUTOSCALER)
    status = operator.look()
    assert (operator.wanted, standby_of(status)) == (SPLIT, ("False", "ResumeFaster"))
    return operator, status


class TestAStrategyThatIsIgnored:
    @pytest.fixture
    def restarted(self, client: Client) -> Operator:
        _, self.status = ignored(client)
        operator = Operator(client, self.status, at=1000)
        operator.stored("active", 180, answer=CLUSTER_AUTOSCALER)
        operator.stored("standby", 0)
        return operator

    def test_is_not_asked_about_anew_after_a_restart(self, restarted: Operator) -> None:
        for at in (1000, 1030, 1060, 2000):
            assert restarted.look(at=at) == self.status
            assert restarted.wanted == FOLDED

    def test_is_taken_at_once_by_a_controller_that_changed_its_mind(self, restarted: Operator) -> None:
        restarted.look()
        restarted.stored("standby", 0, answer=CLUSTER_AUTOSCALER)
        restarted.look(at=1030)
        assert restarted.wanted == SPLIT

    def test_counts_with_the_size_that_is_wanted_now(self, restarted: Operator) -> None:
        restarted.look(sizing=SIZING | {"scaleUpRate": 1})
        assert restarted.wanted == {"web-active": 90, "web-standby": 0}
        restarted.look(standbyFallback="None")
        assert restarted.wanted == {"web-active": 60, "web-standby": 0}

    @pytest.mark.parametrize("gone", [("standby",), ("active",), ("active", "standby")])
    def test_holds_while_the_objects_are_made_anew(self, client: Client, gone: tuple[str, ...]) -> None:
        """Somebody deleted them, or they are read in another version."""
        operator, _ = ignored(client)
        for tier in gone:
            operator.gone(tier)
        for at, tiers in ((1000, ()), (1010, ("active",)), (1020, ("active", "standby")), (1085, ())):
            if "active" in tiers:
                operator.stored("active", 180, answer=CLUSTER_AUTOSCALER)
            if "standby" in tiers:
                operator.stored("standby", 0)
            operator.look(at=at)
            assert operator.wanted == FOLDED

    def test_is_told_however_often_is_looked_at_an_error(self, client: Client) -> None:
        operator = Operator(client)
        operator.stored("active", 60, answer=CLUSTER_AUTOSCALER)
        operator.stored("standby", 0, answer=CLUSTER_AUTOSCALER, ready=False, message="no such strategy")
        statuses = [operator.look(at=at) for at in range(0, 61, 10)]
        assert [standby_of(each)[1] for each in statuses] == ["Asking"] * 6 + ["StrategyIgnored"]
        assert operator.wanted == FOLDED


class TestStandbyUnits:
    @pytest.mark.parametrize("answer", ["", "error"])
    def test_stay_over_a_restart_while_their_object_is_not_ready(self, client: Client, answer: str) -> None:
        running, status = supported(client)
        restarted = Operator(client, status, at=1000)
        restarted.stored("active", 60, answer=CLUSTER_AUTOSCALER)
        for operator in (running, restarted):
            operator.stored("standby", 120, answer=answer, ready=False)
            for at in (1000, 1060, 1299):
                assert operator.look(at=at) == status
                assert operator.wanted == SPLIT
            operator.stored("standby", 120, answer=CLUSTER_AUTOSCALER)
            assert operator.look(at=1301) == status

    def test_stay_over_a_restart_in_which_their_object_was_deleted(self, client: Client) -> None:
        _, status = supported(client)
        restarted = Operator(client, status, at=1000)
        restarted.look()
        assert restarted.wanted == SPLIT

    def test_go_when_no_controller_has_them_any_more(self, client: Client) -> None:
        _, status = supported(client)
        restarted = Operator(client, status, at=1000)
        restarted.stored("active", 60, answer=CLUSTER_AUTOSCALER)
        restarted.stored("standby", 120)
        restarted.look()
        assert standby_of(restarted.look(at=1300)) == ("True", "StrategyIgnored")
        assert restarted.wanted == FOLDED


class TestNodesThatCannotBeSuspended:
    TOO_LARGE = Node(name="n1", state=State.RUNNING, allocatable={"memory": 512 * 10**9 * NANO}, labels={})
    SMALL = Node(name="n1", state=State.RUNNING, allocatable={"memory": 64 * 10**9 * NANO}, labels={})

    @pytest.fixture
    def restarted(self, client: Client) -> Operator:
        """After a restart: of the cluster, nothing but our own objects has been read."""
        operator = Operator(client, version=GKE)
        operator.made.nodes = lambda: {"n1": self.TOO_LARGE}
        operator.stored("active", 180, answer=CLUSTER_AUTOSCALER)
        self.status = operator.look()
        assert standby_of(self.status) == ("True", "NotSuspendable")
        assert operator.wanted == {"web-active": 180}
        restarted = Operator(client, self.status, at=1000, version="")
        restarted.stored("active", 180, answer=CLUSTER_AUTOSCALER)
        restarted.made.nodes_are_read = lambda: bool(restarted.made.nodes())
        return restarted

    def test_are_known_before_they_are_read_again(self, restarted: Operator) -> None:
        def look() -> None:
            # Who answers is told anew: it takes the version to tell GKE from others.
            assert standby_of(restarted.look()) == ("True", "NotSuspendable")
            assert restarted.wanted == {"web-active": 180}

        look()
        restarted.made.surroundings.git_version = GKE
        look()
        restarted.made.surroundings._compute_class_feed.synced = True
        assert restarted.look() == self.status
        restarted.made.nodes = lambda: {"n1": self.TOO_LARGE}
        assert restarted.look() == self.status
        assert restarted.wanted == {"web-active": 180}

    def test_leave_their_units_active_when_they_can_be_until_the_autoscaler_takes_them(
        self, restarted: Operator
    ) -> None:
        restarted.look()
        restarted.made.surroundings.git_version = GKE
        restarted.made.surroundings._compute_class_feed.synced = True
        restarted.made.nodes = lambda: {"n1": self.SMALL}
        assert standby_of(restarted.look()) == ("Unknown", "Asking")
        assert restarted.wanted == FOLDED
        restarted.stored("standby", 0, answer=CLUSTER_AUTOSCALER)
        restarted.look()
        assert restarted.wanted == SPLIT

    async def test_are_waited_for_where_they_are_read_at_all(self, tmp_path: Path) -> None:
        (tmp_path / "kubeconfig").write_text(KUBECONFIG)
        options = Options(kubeconfig=str(tmp_path / "kubeconfig"))
        assert not WholeOperator(options).provisioning.nodes_are_read()
        assert WholeOperator(replace(options, namespaces=("team-a",))).provisioning.nodes_are_read()


class TestAnotherController:
    @pytest.fixture
    def operator(self, client: Client) -> Operator:
        operator = Operator(client)
        operator.stored("active", 180, answer=KARPENTER)
        self.status = operator.look()
        assert standby_of(self.status) == ("True", "Karpenter")
        assert operator.wanted == {"web-active": 180}
        return operator

    def test_is_not_looked_for_while_the_object_is_made_anew(self, client: Client, operator: Operator) -> None:
        operator.gone("active")
        for each in (operator, Operator(client, self.status, at=1000)):
            assert standby_of(each.look()) == ("True", "Karpenter")
            assert each.wanted == {"web-active": 180}

    def test_is_asked_while_units_stay_active(self, client: Client, operator: Operator) -> None:
        operator.stored("active", 180, answer=CLUSTER_AUTOSCALER)
        asking = operator.look()
        assert standby_of(asking) == ("Unknown", "Asking")
        restarted = Operator(client, asking, at=30)
        restarted.stored("active", 180, answer=CLUSTER_AUTOSCALER)
        for each in (operator, restarted):
            assert each.look() == asking
            assert each.wanted == FOLDED
            each.stored("standby", 0)
            assert each.look() == asking
            assert each.wanted == FOLDED
            assert standby_of(each.look(at=100)) == ("True", "StrategyIgnored")

    def test_that_takes_over_from_placeholders_gets_all_that_they_held(self, client: Client) -> None:
        operator = Operator(client)
        operator.made.upstream.served = False
        operator.look()
        assert operator.wanted == {"web-placeholder": 180}
        operator.made.upstream.served = True
        operator.look()
        assert operator.wanted == {"web-placeholder": 180, "web-active": 0}
        operator.stored("active", 0, answer=CLUSTER_AUTOSCALER)
        operator.look()
        assert operator.wanted == FOLDED


class TestAnApiThatIsOfNoUse:
    def test_refused_after_a_restart_leaves_all_as_it_is_for_five_minutes(self, client: Client) -> None:
        _, status = supported(client)
        restarted = Operator(client, status, at=1000)
        restarted.made.upstream.refusal, restarted.made.upstream.refused_since = "forbidden; give get", 1000
        found = restarted.look(at=1299)
        assert found["backend"]["name"] == "Autoscaler"
        assert found["backend"]["reason"].endswith("the operator may not use it: forbidden; give get")
        assert restarted.wanted == SPLIT
        assert restarted.look(at=1300)["backend"]["name"] == "Placeholder"

    def test_refused_at_once_is_not_used(self, client: Client) -> None:
        operator = Operator(client)
        operator.made.upstream.refusal = "forbidden; give get"
        assert operator.look()["backend"]["name"] == "Placeholder"

    def test_not_served_says_why_there_are_no_standby_units(self, client: Client) -> None:
        operator = Operator(client)
        operator.made.upstream.served, operator.made.upstream.kind = False, None
        status = operator.look(backend="Autoscaler")
        assert standby_of(status) == ("Unknown", "Asking"), "a condition needs a reason"
        assert operator.wanted == {}


def test_a_buffer_without_a_size_keeps_what_was_chosen(client: Client) -> None:
    """Else a restart meanwhile would try the autoscaler again for a minute, and have no placeholders in that time."""
    operator = Operator(client)
    operator.stored("active", 0)
    operator.look()
    status = operator.look(at=60)
    assert status["backend"]["name"] == "Placeholder"
    spec = parse_capacity_buffer_spec(SPEC)
    missing = Unresolved("TemplateNotFound", "there is no PodTemplate unit")
    restarted = operator
    for at in (60, 1000):
        unsized = restarted.made.complete(KEY, spec, b"", buffer_status(spec, missing, generation=1))
        assert unsized is not None
        assert msgspec.to_builtins(unsized)["backend"] == status["backend"]
        restarted = Operator(client, msgspec.to_builtins(unsized), at=at)
        restarted.stored("active", 0)
    restarted.look()
    assert restarted.wanted == {"web-placeholder": 180, "web-active": 0}


def test_images_are_preloaded_after_a_restart_as_soon_as_the_version_is_known(client: Client) -> None:
    """Made without them meanwhile, all placeholders would be replaced, and once more a moment later."""
    restarted = Operator(client, version="")
    spec = parse_capacity_buffer_spec(SPEC | {"backend": "Placeholder", "preloadImages": True})
    size = buffer_status(spec, UNIT, generation=1)
    assert restarted.made.complete(KEY, spec, TEMPLATE, size) is None
    assert restarted.wanted == {}
    restarted.made.surroundings.git_version = "v1.36.3"
    assert restarted.made.complete(KEY, spec, TEMPLATE, size) is not None
    assert restarted.wanted == {"web-placeholder": 180}
