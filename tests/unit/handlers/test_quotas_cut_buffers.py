"""Which quotas cut which buffers, and whose status follows when one of them changes."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.reference import AnyReference, Reference
from moorage.handlers.operator import BUFFERS, QUOTAS, OperatorState, key_of
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import PLACEHOLDER_CLASS, Requirement
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import View
from moorage.status.workload import Unresolved, Workload
from tests.builders import nano, pod_spec, pod_use
from tests.unit.operator_states import Known, operator_state

TEAM = "team-a"
PENDING = Unresolved(RESOLVING, "the referenced object is being read", pending=True)


class Team:
    """A namespace with buffers of one-CPU units; `found` is what their template is found to be."""

    def __init__(self) -> None:
        self.found: dict[str, Workload | Unresolved] = {}
        self.known = Known()
        self.known.all = View()
        self.state: OperatorState = operator_state(self.resolve, known=self.known)

    def resolve(self, reference: AnyReference) -> Workload | Unresolved:
        return self.found.get(getattr(reference, "name", ""), Workload(pod_spec(cpu="1")))

    def buffer(self, name: str, replicas: int, *, day: int = 1, described: bool = False, **spec: Any) -> None:
        whole = {"podTemplateRef": {"name": name}, "replicas": replicas, **spec}
        created = f"2026-01-{day:02}T00:00:00Z"
        self.state.accept(
            key_of(BUFFERS, TEAM, name), uid=name, generation=1, spec=whole, described=described, created=created
        )

    def quota(self, name: str = "ours", *, buffers: str = "Count", enforcement: str = "Enforce", **hard: str) -> None:
        spec = {"hard": hard, "buffers": buffers, "enforcement": enforcement}
        self.state.accept(key_of(QUOTAS, TEAM, name), uid=name, generation=1, spec=spec, described=False)

    def native(self, name: str = "theirs", *, used: str = "0", owner: str = "", cpu: str = "5") -> None:
        quota = NativeQuota(name, TEAM, name, 1, frozenset(), nano(cpu=used), nano(cpu=cpu), owner=owner)
        self.state.quotas.native.put(quota)
        self.state.share_out(TEAM)

    def replicas(self, name: str) -> int | None:
        status = self.state.buffers.status(TEAM, name)
        assert status is not None
        return status.replicas

    def unit(self, name: str) -> dict[str, str]:
        status = self.state.buffers.status(TEAM, name)
        assert status is not None
        assert status.sizing is not None
        return dict(status.sizing.unit)

    def limited(self, name: str) -> tuple[str, str]:
        status = self.state.buffers.status(TEAM, name)
        assert status is not None
        return next((each.status, each.message) for each in status.conditions if each.type == "LimitedByQuotas")


@pytest.fixture
async def team() -> Team:
    return Team()


class TestWhichQuotas:
    def test_a_native_quota_of_somebody_else_cuts(self, team: Team) -> None:
        team.buffer("web", 9)
        team.native(cpu="5", used="2")
        assert team.replicas("web") == 3
        assert team.limited("web") == (
            "True",
            "9 units wanted, 3 left by quotas: ResourceQuota theirs has room for 3 (of cpu 5, 2 in use)",
        )

    def test_a_namespace_quota_leaves_what_its_pods_leave(self, team: Team) -> None:
        team.quota(**{"requests.cpu": "5", "pods": "20"})
        team.state.ledger.put(pod_use(cpu="500m"))
        team.buffer("web", 9)
        assert team.replicas("web") == 4
        assert "NamespaceQuota ours has room for 4 (of requests.cpu 5, 500m in use)" in team.limited("web")[1]

    def test_the_native_quota_made_for_it_is_not_counted_beside_it(self, team: Team) -> None:
        team.quota(**{"requests.cpu": "5"})
        team.native(owner="ours", cpu="5", used="4")
        team.buffer("web", 9)
        assert team.replicas("web") == 5

    def test_but_is_as_long_as_its_namespace_quota_has_not_been_read(self, team: Team) -> None:
        team.native(owner="ours", cpu="5", used="4")
        team.buffer("web", 9)
        assert team.replicas("web") == 1

    def test_one_that_ignores_buffers_does_not_cut(self, team: Team) -> None:
        team.quota(pods="1", buffers="Ignore")
        team.native(owner="ours", cpu="5")
        team.buffer("web", 9)
        assert team.replicas("web") == 9

    def test_one_that_only_audits_does_not_cut(self, team: Team) -> None:
        team.quota(pods="1", enforcement="Audit")
        team.buffer("web", 9)
        assert team.replicas("web") == 9

    def test_placeholder_pods_hold_the_room_of_units_and_take_none_beside_it(self, team: Team) -> None:
        """Else a buffer whose placeholders fill a quota would be cut for them, give them up, and grow again."""
        for number in range(3):
            team.state.ledger.put(pod_use(f"held-{number}", cpu="1", priority_class=PLACEHOLDER_CLASS))
        team.state.ledger.put(pod_use("real", cpu="1"))
        team.native(cpu="5", used="4")
        team.quota(pods="6")
        team.buffer("web", 9)
        assert team.replicas("web") == 4
        assert "ResourceQuota theirs has room for 4 (of cpu 5, 1 in use)" in team.limited("web")[1]
        assert "NamespaceQuota ours has room for 5 (of pods 6, 1 in use)" in team.limited("web")[1]

    def test_one_of_other_pods_does_not_cut(self, team: Team) -> None:
        scoped = frozenset({Requirement("Terminating")})
        team.state.quotas.native.put(NativeQuota("q", TEAM, "q", 1, scoped, {}, nano(cpu="0")))
        team.buffer("web", 9)
        assert team.limited("web") == ("False", "quotas leave room for all 9 units")

    def test_one_of_another_namespace_does_not_cut(self, team: Team) -> None:
        team.state.quotas.native.put(NativeQuota("q", "team-b", "q", 1, frozenset(), {}, nano(cpu="0")))
        team.buffer("web", 9)
        assert team.replicas("web") == 9

    def test_one_that_does_not_parse_does_not_cut_until_it_does(self, team: Team) -> None:
        team.quota(pods="many")
        team.buffer("web", 9)
        assert team.replicas("web") == 9
        team.quota(pods="4")
        assert team.replicas("web") == 4


class TestBetweenTwoRounds:
    """What quotas leave is shared out anew soon after a change, not at once; status may be looked at in between."""

    @pytest.fixture
    def later(self, team: Team) -> Team:
        team.native(cpu="5")
        team.buffer("web", 9)
        team.state.share_soon = lambda _: None
        return team

    def test_a_unit_that_grew_is_not_counted_as_often_as_the_smaller_one(self, later: Team) -> None:
        assert later.replicas("web") == 5
        later.found["web"] = Workload(pod_spec(cpu="2"))
        assert later.replicas("web") == 5, "five units of the old shape, which have room"
        assert later.unit("web") == {"cpu": "1"}
        later.state.share_out(TEAM)
        assert (later.replicas("web"), later.unit("web")) == (2, {"cpu": "2"})

    def test_of_a_workload_that_was_just_found_it_is_not_said_that_it_has_no_template(self, team: Team) -> None:
        team.state.share_soon = lambda _: None
        team.found["web"] = PENDING
        team.buffer("web", 9)
        team.state.share_out(TEAM)
        team.found["web"] = Workload(pod_spec(cpu="1"))
        status = team.state.buffers.status(TEAM, "web")
        assert status is not None
        assert [(each.type, each.reason) for each in status.conditions] == [("Ready", RESOLVING)]
        team.state.share_out(TEAM)
        assert team.limited("web") == ("False", "quotas leave room for all 9 units")


class TestTheOrder:
    def test_the_older_buffer_goes_first_and_the_other_names_it(self, team: Team) -> None:
        team.native(cpu="5")
        team.buffer("young", 4, day=2)
        team.buffer("old", 4, day=1)
        assert (team.replicas("old"), team.replicas("young")) == (4, 1)
        assert "and 4 for buffer old, which goes before" in team.limited("young")[1]

    def test_a_priority_changes_that(self, team: Team) -> None:
        team.native(cpu="5")
        team.buffer("old", 4, day=1)
        team.buffer("young", 4, day=2, priority=10)
        assert (team.replicas("old"), team.replicas("young")) == (1, 4)

    def test_room_that_becomes_free_passes_on(self, team: Team) -> None:
        team.native(cpu="5")
        team.buffer("b1", 2, day=1)
        team.buffer("b2", 4, day=2)
        assert (team.replicas("b1"), team.replicas("b2")) == (2, 3)
        team.buffer("b1", 4, day=1)
        assert (team.replicas("b1"), team.replicas("b2")) == (4, 1)
        team.native(cpu="10")
        assert (team.replicas("b1"), team.replicas("b2")) == (4, 4)
        team.native(cpu="3")
        team.state.remove(key_of(BUFFERS, TEAM, "b1"), uid="b1")
        assert team.replicas("b2") == 3

    def test_of_many_that_go_first_a_few_are_named(self, team: Team) -> None:
        team.native(cpu="25")
        for number in range(10):
            team.buffer(f"b{number}", 2, day=number + 1)
        team.buffer("last", 9, day=20)
        said = team.limited("last")[1]
        assert said.count("which goes before") == 8
        assert said.endswith("2 for buffer b7, which goes before and 4 for 2 further buffers that go before)")

    def test_a_buffer_that_has_no_size_takes_no_room_and_says_nothing_of_quotas(self, team: Team) -> None:
        team.native(cpu="5")
        team.found["lost"] = Unresolved("TemplateNotFound", "there is no PodTemplate lost")
        team.buffer("lost", 5, day=1)
        team.buffer("odd", 5, day=1, limits={"memory": "1Gi"})
        team.buffer("web", 5, day=2)
        assert team.replicas("web") == 5
        status = team.state.buffers.status(TEAM, "lost")
        assert status is not None
        assert [each.type for each in status.conditions] == ["Ready"]


class TestWhoIsToldOfAChange:
    def test_those_whose_share_changes(self, team: Team) -> None:
        team.native(cpu="6")
        team.buffer("first", 4, day=1)
        team.buffer("second", 4, day=2)
        team.state.quotas.native.put(NativeQuota("theirs", TEAM, "theirs", 2, frozenset(), {}, nano(cpu="7")))
        assert team.state.buffers.share_out(TEAM) == [(TEAM, "second")]
        assert team.state.buffers.share_out(TEAM) == []

    def test_a_change_in_the_template_of_one_concerns_the_other(self, team: Team) -> None:
        team.native(cpu="6")
        team.buffer("first", 2, day=1)
        team.buffer("second", 4, day=2)
        team.found["first"] = Workload(pod_spec(cpu="2"))
        team.state.reference_changed(Reference(TEAM, None, "PodTemplate", "first"))
        assert (team.replicas("first"), team.replicas("second")) == (2, 2)

    def test_a_namespace_without_buffers_has_nobody_to_tell(self, team: Team) -> None:
        assert team.state.buffers.share_out("team-b") == []


class TestWhatIsNotKnownYet:
    def test_none_is_served_before_all_templates_are_read(self, team: Team) -> None:
        team.native(cpu="5")
        team.found["first"] = PENDING
        team.buffer("first", 4, day=1, described=True)
        team.buffer("second", 4, day=2, described=True)
        for name in ("first", "second"):
            assert team.state.desired(key_of(BUFFERS, TEAM, name)) is None
        del team.found["first"]
        team.state.reference_changed(Reference(TEAM, None, "PodTemplate", "first"))
        assert (team.replicas("first"), team.replicas("second")) == (4, 1)

    def test_one_that_is_being_read_disturbs_no_buffer_that_was_written(self, team: Team) -> None:
        team.native(cpu="5")
        team.buffer("second", 4)
        key = key_of(BUFFERS, TEAM, "second")
        team.state.observe(key, uid="second", resource_version=2, status={"replicas": 4})
        team.found["first"] = PENDING
        team.buffer("first", 4)
        assert team.state.desired(key) is None

    def test_without_quotas_nobody_waits_for_another(self, team: Team) -> None:
        team.found["first"] = PENDING
        team.buffer("first", 4)
        team.buffer("second", 4)
        assert team.replicas("second") == 4

    def test_pods_that_are_being_listed_are_waited_for(self, team: Team) -> None:
        team.known.all = View(complete=False)
        team.quota(pods="5")
        team.buffer("web", 9, described=True)
        assert team.state.desired(key_of(BUFFERS, TEAM, "web")) is None
        team.known.all = View()
        team.state.share_out(TEAM)
        assert team.replicas("web") == 5

    def test_a_unit_without_a_known_shape_is_not_cut_and_says_so(self, team: Team) -> None:
        team.found["fleet"] = Workload(None, 3)
        team.buffer("fleet", 9)
        assert team.limited("fleet")[0] == "False"
        team.native(cpu="5")
        assert team.replicas("fleet") == 9
        assert team.limited("fleet")[0] == "Unknown"
