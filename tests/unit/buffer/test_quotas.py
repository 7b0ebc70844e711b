"""The room that quotas leave is shared out among the buffers of a namespace, and nobody starves without being told."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.buffer.quotas import NAMED, Asking, Quota, Share, Shortage, share_out, without_placeholders
from moorage.quantity import NANO
from moorage.quota.scopes import Requirement, ScopeFacts
from tests.builders import nano, pod_use

UNIT = nano(**{"requests.cpu": "1", "limits.cpu": "2", "pods": "1", "count/pods": "1"})


def quota(label: str = "ResourceQuota q", used: Mapping[str, str] | None = None, **hard: str) -> Quota:
    return Quota(label, nano(**hard), nano(**(used or {})))


def buffer(
    name: str = "a", units: int = 10, *, priority: int = 0, created: str = "", facts: ScopeFacts | None = None
) -> Asking:
    return Asking(name, units, UNIT, facts or ScopeFacts(), priority, created)


def units(shares: Mapping[str, Share]) -> dict[str, int]:
    return {name: share.units for name, share in shares.items()}


class TestTheRoom:
    @pytest.mark.parametrize(
        ("limit", "expected"),
        [
            pytest.param(quota(cpu="4"), 4, id="cpu is requests.cpu"),
            pytest.param(quota(**{"requests.cpu": "4"}), 4, id="requests.cpu"),
            pytest.param(quota(**{"limits.cpu": "5"}), 2, id="limits, rounded down"),
            pytest.param(quota(used={"pods": "1"}, pods="4"), 3, id="pods"),
            pytest.param(quota(used={"count/pods": "1"}, **{"count/pods": "4"}), 3, id="count/pods"),
            pytest.param(quota(used={"cpu": "9"}, cpu="4"), 0, id="a quota that is exceeded leaves nothing"),
            pytest.param(quota(memory="0"), 10, id="a resource that no unit asks for"),
            pytest.param(quota(**{"services": "0", "requests.storage": "0"}), 10, id="other objects"),
            pytest.param(quota(**{"count/jobs.batch": "0", "nonsense": "0"}), 10, id="other kinds, and what is none"),
            pytest.param(quota(cpu="10", pods="10"), 10, id="just enough"),
        ],
    )
    def test_is_the_least_that_a_limit_leaves(self, limit: Quota, expected: int) -> None:
        assert units(share_out([limit], [buffer()])) == {"a": expected}

    def test_is_not_limited_without_quotas(self) -> None:
        assert share_out([], [buffer()]) == {"a": Share(asked=10, units=10)}

    def test_is_not_limited_by_a_quota_of_other_pods(self) -> None:
        scoped = Quota("q", nano(pods="0"), {}, frozenset({Requirement("Terminating")}))
        assert units(share_out([scoped], [buffer()])) == {"a": 10}
        assert units(share_out([scoped], [buffer(facts=ScopeFacts(terminating=True))])) == {"a": 0}

    def test_a_cut_names_every_limit_that_is_short_with_the_tightest_first(self) -> None:
        quotas = [quota("wide", pods="7"), quota("tight", used={"cpu": "1"}, cpu="3"), quota("ample", pods="99")]
        assert share_out(quotas, [buffer()])["a"].shortages == (
            Shortage("tight", "cpu", 3 * NANO, 1 * NANO, taken=(), units=2),
            Shortage("wide", "pods", 7 * NANO, 0, taken=(), units=7),
        )


class TestPlaceholders:
    def test_what_they_use_is_not_in_use(self) -> None:
        pods = [pod_use("a", cpu="1", priority_class="low"), pod_use("b", cpu="500m", priority_class="low")]
        full = quota(used={"cpu": "4", "pods": "7", "services": "2"}, cpu="4", pods="9", services="2")
        assert without_placeholders(full, pods).used == nano(cpu="2500m", pods="5", services="2")

    def test_a_quota_of_other_pods_has_not_counted_them(self) -> None:
        high = frozenset({Requirement("PriorityClass", "In", frozenset({"high"}))})
        scoped = Quota("q", nano(pods="9"), nano(pods="7"), high)
        assert without_placeholders(scoped, [pod_use(priority_class="low")]).used == nano(pods="7")

    def test_a_count_that_is_behind_is_never_below_zero(self) -> None:
        assert without_placeholders(quota(used={"pods": "0"}, pods="9"), [pod_use()]).used == nano(pods="0")


class TestTheOrder:
    @pytest.mark.parametrize(
        ("buffers", "expected"),
        [
            pytest.param(
                [buffer("young", created="2026-01-02T00:00:00Z"), buffer("old", created="2026-01-01T00:00:00Z")],
                {"old": 10, "young": 2},
                id="the oldest first",
            ),
            pytest.param(
                [buffer("old", created="2026-01-01T00:00:00Z"), buffer("urgent", priority=1, created="2026-01-02")],
                {"urgent": 10, "old": 2},
                id="a higher priority before age",
            ),
            pytest.param(
                [buffer("last", priority=-1, created="2026-01-01T00:00:00Z"), buffer("plain", created="2026-01-02")],
                {"plain": 10, "last": 2},
                id="a priority below the others'",
            ),
            pytest.param([buffer("b"), buffer("a")], {"a": 10, "b": 2}, id="by name among twins"),
        ],
    )
    def test_is_priority_then_age_then_name(self, buffers: list[Asking], expected: dict[str, int]) -> None:
        assert units(share_out([quota(pods="12")], buffers)) == expected

    def test_one_that_gets_nothing_learns_who_has_it(self) -> None:
        shares = share_out([quota(pods="8")], [buffer("first", 5), buffer("second", 3), buffer("third", 1)])
        assert units(shares) == {"first": 5, "second": 3, "third": 0}
        (shortage,) = shares["third"].shortages
        assert shortage.taken == (("first", 5 * NANO), ("second", 3 * NANO))

    def test_of_many_that_go_before_a_few_are_named_and_the_others_counted(self) -> None:
        """Each of hundreds naming all before it made statuses that grew with the square of their number."""
        buffers = [buffer(f"b{number:02}", 2) for number in range(NAMED + 3)]
        shares = share_out([quota(pods=str(2 * NAMED + 5))], buffers)
        (shortage,) = shares[f"b{NAMED + 2:02}"].shortages
        assert [name for name, _ in shortage.taken] == [f"b{number:02}" for number in range(NAMED)]
        assert (shortage.others, shortage.taken_by_others) == (2, 4 * NANO)

    def test_a_buffer_takes_nothing_of_a_quota_that_does_not_select_it(self) -> None:
        high = frozenset({Requirement("PriorityClass", "In", frozenset({"high"}))})
        limit = Quota("q", nano(pods="4"), {}, high)
        other = buffer("other", created="1")
        urgent = buffer("urgent", created="2", facts=ScopeFacts(priority_class="high"))
        assert units(share_out([limit], [other, urgent])) == {"other": 10, "urgent": 4}

    def test_small_buffers_fit_beside_a_large_one_that_is_cut_by_another_quota(self) -> None:
        large = Asking("large", 10, nano(**{"requests.cpu": "4"}), ScopeFacts())
        small = Asking("small", 10, nano(**{"requests.cpu": "1"}), ScopeFacts(), created="1")
        assert units(share_out([quota(cpu="10")], [large, small])) == {"large": 2, "small": 2}


amounts = st.dictionaries(st.sampled_from(["requests.cpu", "limits.cpu", "pods"]), st.integers(0, 50), max_size=3)


@given(
    hards=st.lists(st.tuples(amounts, amounts), max_size=3),
    asked=st.lists(st.tuples(st.integers(0, 20), amounts, st.integers(-1, 1)), min_size=1, max_size=4),
)
def test_no_quota_is_ever_overdrawn_and_no_room_is_wasted(
    hards: list[tuple[dict[str, int], dict[str, int]]], asked: list[tuple[int, dict[str, int], int]]
) -> None:
    quotas = [Quota("q", hard, used) for hard, used in hards]
    buffers = [
        Asking(f"b{at}", count, unit, ScopeFacts(), priority) for at, (count, unit, priority) in enumerate(asked)
    ]
    shares = share_out(quotas, buffers)
    held = {each.name: shares[each.name].units for each in buffers}
    for limit in quotas:
        for name, hard in limit.hard.items():
            taken = sum(held[each.name] * each.unit.get(name, 0) for each in buffers)
            assert taken <= max(hard - limit.used.get(name, 0), 0)
    for each in buffers:
        share = shares[each.name]
        assert 0 <= share.units <= share.asked == each.units
        assert bool(share.shortages) == (share.units < share.asked)
        if share.shortages:
            # One unit more would not have fitted beside the buffers that were served before.
            tightest = share.shortages[0]
            before = sum(amount for _, amount in tightest.taken)
            more = (share.units + 1) * each.unit[tightest.resource]
            assert tightest.used + before + more > tightest.hard
