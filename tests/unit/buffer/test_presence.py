"""What of a buffer is there: the order in which units are used, what refills them, and what counts as consumed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.buffer.presence import (
    Found,
    Present,
    Refill,
    TierRecord,
    Units,
    Use,
    begin,
    most_wanted,
    observe,
    refill,
    share,
    use,
)

NOBODY: dict[str, int] = {}


def found(running: Units | None = None, standby: Units | None = None, suspended: Units | None = None) -> Found:
    return Found(running or {}, standby or {}, suspended or {})


# Which units belong to which tier


@pytest.mark.parametrize(
    ("there", "active", "expected"),
    [
        (found({"a": 60}, {}, {"s": 120}), 60, Present({"a": 60}, {"s": 120}, 120)),
        (found({"a": 60}, {"w": 30}, {"s": 90}), 60, Present({"a": 60}, {"w": 30, "s": 90}, 90)),
        (found({"a": 50}, {"w": 30}, {"s": 90}), 60, Present({"a": 50, "w": 10}, {"w": 20, "s": 90}, 90)),
        (found({}, {"w": 30}, {"s": 90}), 60, Present({"w": 30}, {"s": 90}, 90)),
        (found({}, {}, {"s": 120}), 60, Present({}, {"s": 120}, 120)),
        (found(), 60, Present({}, {}, 0)),
    ],
    ids=[
        "both tiers full",
        "standby that is not suspended yet is standby",
        "and stands in for active units that are missing",
        "as far as it goes",
        "suspended nodes never do",
        "nothing there",
    ],
)
def test_active_units_are_on_running_nodes_and_then_on_standby_that_still_runs(
    there: Found, active: int, expected: Present
) -> None:
    assert share(there, active) == expected


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [({}, 180), ({"running": 60}, 120), ({"running": 50, "waiting": 30}, 100), ({"running": 60, "waiting": 120}, 0)],
)
def test_no_more_units_are_looked_for_than_both_tiers_miss(keywords: dict[str, int], expected: int) -> None:
    assert most_wanted(60, 120, **keywords) == expected


# Order of use and of refill

FULL = Present(active={"a": 60}, standby={"w": 20, "s": 100}, suspended=100)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        (0, Use(0, 0, 0, 0)),
        (60, Use(60, 0, 0, 0)),
        (70, Use(60, 10, 0, 0)),
        (90, Use(60, 20, 10, 0)),
        (180, Use(60, 20, 100, 0)),
        (200, Use(60, 20, 100, 20)),
    ],
)
def test_pods_use_active_then_waiting_then_suspended_standby_then_new_nodes(pods: int, expected: Use) -> None:
    assert use(FULL, pods) == expected


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (FULL, Refill(0, 0, 0, 0)),
        (Present({"a": 50}, {"w": 20, "s": 100}, 100), Refill(10, 0, 0, 10)),
        (Present({"a": 30}, {"w": 20, "s": 100}, 100), Refill(20, 10, 0, 30)),
        (Present({}, {"s": 40}, 40), Refill(0, 40, 20, 120)),
        (Present({"a": 60}, {"s": 70}, 70), Refill(0, 0, 0, 50)),
        (Present({}, {}, 0), Refill(0, 0, 60, 120)),
    ],
    ids=[
        "full",
        "from standby that is not suspended yet",
        "then from suspended standby",
        "then from new nodes",
        "standby from new nodes",
        "all from new nodes",
    ],
)
def test_active_is_refilled_from_standby_and_standby_from_new_nodes(present: Present, expected: Refill) -> None:
    assert refill(present, 60, 120) == expected


units = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 50), max_size=4)


@given(running=units, waiting=units, suspended=units, active=st.integers(0, 99), pods=st.integers(0, 300))
def test_no_unit_is_lost_or_doubled(running: Units, waiting: Units, suspended: Units, active: int, pods: int) -> None:
    total = sum(running.values()) + sum(waiting.values()) + sum(suspended.values())
    present = share(Found(running, waiting, suspended), active)
    assert sum(present.active.values()) + sum(present.standby.values()) == total
    assert sum(present.active.values()) <= max(active, sum(running.values()))
    where = use(present, pods)
    assert where.active + where.waiting + where.resumed + where.new == pods
    assert min(where.active, where.waiting, where.resumed, where.new) >= 0
    assert where.waiting == 0 or where.active == sum(present.active.values())
    assert where.new == max(pods - total, 0)


@given(running=units, waiting=units, suspended=units, active=st.integers(0, 99), standby=st.integers(0, 99))
def test_a_refill_makes_both_tiers_full_with_no_node_too_many(
    running: Units, waiting: Units, suspended: Units, active: int, standby: int
) -> None:
    present = share(Found(running, waiting, suspended), active)
    step = refill(present, active, standby)
    ready = sum(present.active.values()) + step.resumed + step.active_from_new
    left = sum(present.standby.values()) - step.resumed + step.standby_from_new
    assert ready == max(active, sum(running.values()))
    assert left >= standby
    assert step.standby_from_new == 0 or left == standby


# Consumed


def tier(wanted: int, units: Units, arrivals: Units = NOBODY, consumed: int = 0) -> TierRecord:
    return TierRecord(wanted, units, {node: arrivals.get(node, 0) for node in units}, consumed)


def test_units_whose_room_pods_took_are_consumed() -> None:
    after = observe(tier(20, {"a": 12, "b": 8}), 20, {"a": 4, "b": 8}, {"a": 8, "b": 0})
    assert (after.ready, after.consumed) == (12, 8)


def test_a_refill_does_not_undo_what_was_consumed_until_the_tier_is_full() -> None:
    record = observe(tier(20, {"a": 20}), 20, {"a": 12}, {"a": 8})
    record = observe(record, 20, {"a": 12, "b": 5}, {"a": 8, "b": 0})
    assert (record.ready, record.consumed) == (17, 8)
    record = observe(record, 20, {"a": 10, "b": 5}, {"a": 10, "b": 0})
    assert (record.ready, record.consumed) == (15, 10)
    record = observe(record, 20, {"a": 10, "b": 5, "c": 5}, {"a": 10, "b": 0, "c": 0})
    assert (record.ready, record.consumed, record.full) == (20, 0, True)


def test_units_that_go_with_their_node_are_missing_but_not_consumed() -> None:
    after = observe(tier(20, {"a": 12, "b": 8}), 20, {"a": 12}, {"a": 0})
    assert (after.ready, after.consumed) == (12, 0)


def test_units_that_give_way_to_another_buffer_are_not_consumed() -> None:
    after = observe(tier(20, {"a": 20}, {"a": 5}), 20, {"a": 12}, {"a": 5})
    assert (after.ready, after.consumed) == (12, 0)


def test_room_beyond_the_buffer_is_used_up_first() -> None:
    full = tier(20, {"a": 20})
    after = observe(full, 20, {"b": 5}, {"a": 20, "b": 5})
    assert (after.ready, after.consumed) == (5, 15)
    assert observe(full, 20, {"b": 20}, {"a": 20, "b": 0}).consumed == 0


def test_a_buffer_that_grows_has_not_been_consumed() -> None:
    after = observe(tier(20, {"a": 20}), 30, {"a": 20}, {"a": 0})
    assert (after.ready, after.consumed, after.full) == (20, 0, False)


def test_a_buffer_that_shrinks_below_what_is_there_is_full() -> None:
    after = observe(tier(20, {"a": 12}, consumed=8), 10, {"a": 10}, {"a": 0})
    assert (after.full, after.consumed) == (True, 0)


def test_after_a_restart_consumed_is_what_was_known_unless_the_tier_is_full() -> None:
    assert begin(20, {"a": 12}, {"a": 8}, consumed=8).consumed == 8
    assert begin(20, {"a": 20}, {"a": 8}, consumed=8).consumed == 0


@given(
    steps=st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(1, 4)), max_size=20),
    wanted=st.integers(1, 12),
)
def test_consumed_counts_every_unit_that_pods_took_since_the_tier_was_last_full(
    steps: list[tuple[str, bool, int]], wanted: int
) -> None:
    """Against a tally of single pods: room comes and goes on three nodes, one step an observation."""
    room, arrivals = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    record, tally = begin(wanted, {}, {}, consumed=0), 0
    for node, comes, count in steps:
        if comes:
            taken = min(count, room[node])
            spare = max(sum(room.values()) - wanted, 0)
            room[node] -= taken
            arrivals[node] += taken
            tally += max(taken - spare, 0)
        else:
            room[node] += count
        units: dict[str, int] = {}
        for name, free in room.items():
            if part := min(free, wanted - sum(units.values())):
                units[name] = part
        record = observe(record, wanted, units, arrivals)
        if sum(units.values()) >= wanted:
            tally = 0
        assert record.consumed == tally


def test_what_was_taken_in_one_step_is_told_even_when_the_tier_is_full_again() -> None:
    record = observe(tier(20, {"a": 20}), 20, {"a": 12}, {"a": 8})
    assert record.taken == 8
    record = observe(record, 20, {"a": 10, "b": 10}, {"a": 10, "b": 0})
    assert (record.taken, record.consumed) == (2, 0)
    assert observe(record, 20, {"a": 10, "b": 10}, {"a": 10, "b": 0}).taken == 0


# Placeholders, which go a moment before the pod comes that pushes them out


def placeholders(before: TierRecord, units: Units, arrivals: Units, wanted: int = 8) -> TierRecord:
    return observe(before, wanted, units, arrivals, placeholders=True)


def test_placeholders_are_consumed_when_the_pod_comes_in_their_place() -> None:
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 2, "b": 4}, {"a": 0, "b": 0})
    assert (record.ready, record.consumed, record.taken) == (6, 0, 0)
    record = placeholders(record, {"a": 2, "b": 4}, {"a": 1, "b": 0})
    assert (record.consumed, record.taken) == (2, 2)
    record = placeholders(record, {"a": 2, "b": 4}, {"a": 2, "b": 0})
    assert (record.consumed, record.taken) == (2, 0), "a further pod takes other room"


def test_placeholders_that_find_another_place_at_once_were_taken_all_the_same() -> None:
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 1, "b": 7}, {"a": 3, "b": 0})
    assert (record.taken, record.consumed, record.full) == (3, 0, True)


def test_placeholders_that_go_with_their_node_or_come_back_are_not_consumed() -> None:
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 4}, {"a": 0})
    assert placeholders(record, {"a": 4}, {"a": 0, "b": 5}).consumed == 0
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 4, "b": 2}, {"a": 0, "b": 0})
    record = placeholders(record, {"a": 4, "b": 4}, {"a": 0, "b": 0})
    assert placeholders(record, {"a": 4, "b": 3}, {"a": 0, "b": 1}).consumed == 1


def test_a_place_that_a_placeholder_got_back_was_not_taken() -> None:
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 3, "b": 3}, {"a": 0, "b": 0})
    record = placeholders(record, {"a": 4, "b": 3}, {"a": 0, "b": 0})
    record = placeholders(record, {"a": 4, "b": 3}, {"a": 1, "b": 1})
    assert record.consumed == 1


def test_placeholders_that_are_no_longer_wanted_are_not_consumed() -> None:
    record = placeholders(tier(8, {"a": 4, "b": 4}), {"a": 4, "b": 1}, {"a": 0, "b": 0}, wanted=5)
    assert placeholders(record, {"a": 4, "b": 1}, {"a": 0, "b": 2}, wanted=5).taken == 0
