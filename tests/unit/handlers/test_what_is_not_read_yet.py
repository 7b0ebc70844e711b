"""What has not been read yet is waited for: taken for nothing, it would change what is in force for a moment."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.api.presence import Tier
from moorage.buffer.holdings import Holding
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError
from moorage.handlers.alarms import Alarms
from moorage.handlers.enforcement import Enforcer
from moorage.handlers.operator import QUOTAS, OperatorState, key_of
from moorage.handlers.plans import Plans
from moorage.handlers.provisioning import Provisioning
from moorage.handlers.rooms import Rooms
from moorage.quota.names import DEVICE_CLAIMS, PODS
from moorage.quota.native import NativeQuota
from moorage.status.enforcement import Enforcement, Means, enforced
from moorage.status.findings import RESOLVING
from moorage.status.namespacequota import Trouble, View
from moorage.status.workload import Unresolved, Workload
from tests.builders import nano, pod_spec
from tests.unit.operator_states import Known, NoCredentials, operator_state

TEAM, GPU = "team-a", "requests.nvidia.com/gpu"
BEING_READ = "what placeholders and claims for devices count for is being read"
REFUSED = ApiError(403, "Forbidden", "resourcequotas is forbidden")


@dataclass
class NativeFeed:
    """A feed of all ResourceQuotas, as far as it is asked how it stands."""

    synced: bool
    refusal: ApiError | None = None
    path: str = "/api/v1/resourcequotas"


class Team:
    """A namespace of which everything is known until a test says otherwise."""

    def __init__(self) -> None:
        self.known = Known()
        self.known.all = View()
        self.state: OperatorState = operator_state(lambda _: Workload(pod_spec(cpu="1")), known=self.known)

    def quota(self, name: str = "ours", *, described: bool = False, **spec: Any) -> None:
        self.state.accept(key_of(QUOTAS, TEAM, name), uid=name, generation=1, spec=spec, described=described)

    def enforcer(self, **further: Any) -> Enforcer:
        """One on an API server that has policies which change objects."""
        found = Enforcer(
            Client(NoCredentials()),
            self.state.quotas,
            uid=lambda key: self.state.uid(key_of(QUOTAS, *key)),
            unlisted=lambda _: "",
            changed=lambda _: None,
            **further,
        )
        found._plans.has_mutating_policies = True
        return found

    def rooms(self, feed: NativeFeed | None = None) -> Rooms:
        feeds = cast("Any", [feed] if feed is not None else [])
        return Rooms(self.state.quotas, self.state.ledger, self.known, native=feeds)


@pytest.fixture
async def team() -> Team:
    return Team()


class TestWhatLimitsBuffers:
    def test_quotas_that_were_read_limit_while_the_api_server_refuses_to_tell_more(self, team: Team) -> None:
        """As it does for seconds after its own restart, before it has read its roles."""
        team.state.quotas.native.put(NativeQuota("q", TEAM, "theirs", 1, frozenset(), {}, nano(cpu="5")))
        found = team.rooms(NativeFeed(synced=True, refusal=REFUSED)).of(TEAM)
        assert not isinstance(found, Unresolved)
        assert [each.label for each in found] == ["ResourceQuota theirs"]

    def test_those_that_could_never_be_read_are_told_of(self, team: Team) -> None:
        found = team.rooms(NativeFeed(synced=False, refusal=REFUSED)).of(TEAM)
        assert isinstance(found, Unresolved)
        assert found.reason == "Forbidden"

    @pytest.mark.parametrize("trouble", [None, Trouble.STALE, Trouble.FORBIDDEN])
    def test_pods_are_waited_for_whatever_keeps_them(self, team: Team, trouble: Trouble | None) -> None:
        team.quota(hard={"pods": "5"})
        team.known.each[PODS] = View(complete=False, trouble=trouble, message="pods cannot be read")
        found = team.rooms().of(TEAM)
        assert isinstance(found, Unresolved)
        assert (found.reason, found.pending) == (RESOLVING, True)
        assert ("pods cannot be read" in found.message) == (trouble is not None)

    def test_so_are_claims_for_devices_that_count_like_pods(self, team: Team) -> None:
        team.quota(hard={GPU: "4"})
        team.known.each[DEVICE_CLAIMS] = View(complete=False)
        rooms = team.rooms()
        found, before = rooms.of(TEAM), rooms._state_of(TEAM)
        assert isinstance(found, Unresolved)
        assert found.pending
        team.known.each[DEVICE_CLAIMS] = View()
        assert not isinstance(rooms.of(TEAM), Unresolved)
        assert rooms._state_of(TEAM) != before, "or nobody would share out anew"

    @pytest.mark.parametrize("trouble", [Trouble.FORBIDDEN, Trouble.STALE])
    def test_claims_that_cannot_be_read_are_not_and_that_is_seen(self, team: Team, trouble: Trouble) -> None:
        team.quota(hard={GPU: "4"})
        team.known.each[DEVICE_CLAIMS] = View(complete=False)
        rooms = team.rooms()
        before = rooms._state_of(TEAM)
        team.known.each[DEVICE_CLAIMS] = View(complete=False, trouble=trouble)
        assert not isinstance(rooms.of(TEAM), Unresolved)
        assert rooms._state_of(TEAM) != before, "or nobody would share out anew"

    def test_pods_that_nobody_lets_us_read_are_not_waited_for_longer_than_a_minute(self, team: Team) -> None:
        at = [0.0]
        team.quota(hard={"pods": "5"})
        team.known.each[PODS] = View(complete=False, trouble=Trouble.FORBIDDEN, message="pods cannot be read")
        rooms = Rooms(team.state.quotas, team.state.ledger, team.known, now=lambda: at[0])
        before = rooms._state_of(TEAM)
        at[0] = 59.0
        assert rooms._state_of(TEAM) == before
        at[0] = 60.0
        assert rooms._state_of(TEAM) != before, "or nobody would share out anew"
        assert rooms.of(TEAM) == Unresolved("Forbidden", "pods cannot be read")
        team.known.each[PODS] = View()
        assert not isinstance(rooms.of(TEAM), Unresolved)

    def test_a_quota_tells_at_once_that_pods_cannot_be_read(self, team: Team) -> None:
        key = key_of(QUOTAS, TEAM, "ours")
        team.state.awaits_buffers = lambda _: True
        team.quota(hard={"pods": "5"}, described=True)
        team.state.observe(key, uid="ours", resource_version=1, status={"buffered": {"pods": "3"}})
        assert team.state.desired(key) is None, "what buffers hold follows"
        team.known.each[PODS] = View(complete=False, trouble=Trouble.FORBIDDEN, message="pods cannot be read")
        status = team.state.desired(key)
        assert status is not None
        assert (status["conditions"][0]["reason"], status["conditions"][0]["message"]) == (
            "Forbidden",
            "pods cannot be read",
        )

    def test_and_pods_that_ended_where_these_count(self, team: Team) -> None:
        team.quota(hard={"count/pods": "4"})
        team.known.each[PODS] = View(finished_too=False)
        assert isinstance(team.rooms().of(TEAM), Unresolved)

    def test_kinds_that_no_buffer_counts_for_are_not(self, team: Team) -> None:
        team.quota(hard={"pods": "5", "secrets": "9"})
        team.known.each["secrets"] = View(complete=False)
        assert not isinstance(team.rooms().of(TEAM), Unresolved)


class TestEnforcement:
    @pytest.mark.parametrize(
        ("described", "is_first", "is_written"), [(True, True, False), (True, False, True), (False, True, True)]
    )
    def test_what_was_proved_before_a_restart_stays_told_while_it_is_proved_again(
        self, team: Team, described: bool, is_first: bool, is_written: bool
    ) -> None:
        proving = Enforcement((Means("", "TotalsNotInForce", BEING_READ),), is_settling=True, is_first=is_first)
        team.state.quotas.enforcement = lambda _: proving
        team.quota(hard={"pods": "4"}, described=described)
        assert (team.state.desired(key_of(QUOTAS, TEAM, "ours")) is not None) == is_written
        team.state.quotas.enforcement = lambda _: replace(proving, is_settling=False)
        assert team.state.desired(key_of(QUOTAS, TEAM, "ours")) is not None, "five seconds later"

    async def test_what_is_not_read_yet_is_never_called_missing(self, team: Team) -> None:
        at = [0.0]
        team.quota(hard={"pods": "4"})
        enforcer = team.enforcer(placeholders=lambda _: None, clock=lambda: at[0])
        for at[0] in (0.0, 6.0):
            found = enforced(enforcer.state((TEAM, "ours")), 1)
            assert (found.status, found.reason, found.message) == ("Unknown", "Proving", BEING_READ)

    async def test_nor_before_it_is_known_what_placeholders_hold(self, team: Team) -> None:
        team.quota(hard={"pods": "4"})
        held: list[list[Holding] | None] = [None]
        enforcer = team.enforcer(placeholders=lambda _: held[0])
        assert [each.problem for each in enforcer.state((TEAM, "ours")).means] == [BEING_READ]
        held[0] = []
        assert [each.problem for each in enforcer.state((TEAM, "ours")).means] == [
            "ResourceQuota moorage-ours is being made"
        ]

    async def test_a_quota_is_not_proved_before_it_is_known_what_claims_count_for(self, team: Team) -> None:
        team.quota(hard={GPU: "4"})
        team.known.each[DEVICE_CLAIMS] = View(complete=False)
        enforcer = team.enforcer()
        key = (TEAM, "ours")
        assert [each.problem for each in enforcer.state(key).means] == [BEING_READ]
        assert not enforcer.is_proved(key)
        assert enforcer.not_by_class(TEAM) is None
        team.known.each[DEVICE_CLAIMS] = View(complete=False, trouble=Trouble.NOT_SERVED)
        assert enforcer.not_by_class(TEAM) == frozenset()
        assert [each.problem for each in enforcer.state(key).means] == ["ResourceQuota moorage-ours is being made"]


class TestQuotasThatComeOneAfterTheOther:
    """As they do after a restart; two that fill in defaults are merged."""

    LIMITS = ({"type": "Container", "defaultRequest": {"cpu": "100m"}},)
    MORE = ({"type": "Container", "defaultRequest": {"memory": "64Mi"}},)

    def test_the_status_that_is_there_stays_until_the_last_has_come(self, team: Team) -> None:
        awaited = {TEAM}
        team.state.quotas.awaited = awaited.__contains__
        team.quota("a", described=True, limits=self.LIMITS, enforcement="Enforce")
        assert team.state.desired(key_of(QUOTAS, TEAM, "a")) is None
        team.quota("b", described=True, limits=self.MORE, enforcement="Enforce")
        awaited.clear()
        status = team.state.desired(key_of(QUOTAS, TEAM, "a"))
        assert status is not None
        assert status["defaults"]["defaultRequest"] == {"cpu": "100m", "memory": "64Mi"}

    def test_a_new_one_is_told_of_at_once(self, team: Team) -> None:
        team.state.quotas.awaited = lambda _: True
        team.quota("a", hard={"pods": "5"})
        assert team.state.desired(key_of(QUOTAS, TEAM, "a")) is not None

    def test_no_limit_range_is_made_of_a_part_of_them(self, team: Team) -> None:
        awaited = {TEAM}
        team.state.quotas.awaited = awaited.__contains__
        plans = Plans(team.state.quotas, uid=lambda key: key[1], exempt=())
        plans.has_mutating_policies = False
        team.quota("b", limits=self.MORE, enforcement="Enforce")
        assert plans.limit_range((TEAM, "b")) is None, "leave alone what there is"
        team.quota("a", limits=self.LIMITS, enforcement="Enforce")
        awaited.clear()
        made = {name: plans.limit_range((TEAM, name)) for name in "ab"}
        assert {name: plan.defaults is not None for name, plan in made.items() if plan is not None} == {
            "a": True,
            "b": False,
        }


async def test_placeholders_wait_until_it_is_known_what_they_must_not_hold() -> None:
    """Else all of them would be replaced as soon as it is, and once more after the next start."""
    client, spec = Client(NoCredentials()), CapacityBufferSpec(backend="Placeholder")
    provisioning = Provisioning(client, namespaces=(), changed=lambda _: None, alarms=Alarms(lambda _: None))
    provisioning.observe((TEAM, "web"), uid="1", annotations={}, status={})
    status = CapacityBufferStatus(observed_generation=1, active=Tier(replicas=2), standby=Tier(replicas=0))
    not_held: list[frozenset[str] | None] = [None]
    provisioning.not_held = lambda _: not_held[0]
    template = json.dumps({"spec": {"containers": [{"name": "app", "image": "app"}]}}).encode()
    assert provisioning.complete((TEAM, "web"), spec, template, status) is None
    assert provisioning.sought((TEAM, "web")) is None
    not_held[0] = frozenset({"nvidia.com/gpu"})
    assert provisioning.complete((TEAM, "web"), spec, template, status) is not None
    sought = provisioning.sought((TEAM, "web"))
    assert sought is not None
    assert sought.plan.not_held == {"nvidia.com/gpu"}
