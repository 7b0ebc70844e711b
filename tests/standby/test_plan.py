"""The rule of the test autoscaler is GKE's, as far as it can be read: order of use, refill, and no way back."""

from __future__ import annotations

import pytest

from tests.standby.nodes import Room, State
from tests.standby.plan import Buffer, Place, Plan, Steps

SIZE = Room(cpu=4000, memory=16384, pods=110)
POD = Room(cpu=1000, memory=64, pods=1)
RUNNING, CHILLING, SUSPENDED = State.RUNNING, State.CHILLING, State.SUSPENDED


def place(name: str, state: State = RUNNING, *, pods: int = 0, arriving: bool = False) -> Place:
    free = SIZE
    for _ in range(pods):
        free -= POD
    buffer = "" if state is RUNNING else "team/web-standby"
    return Place(name, state, free, buffer=buffer, used=pods > 0, arriving=arriving)


def active(units: int) -> Buffer:
    return Buffer("team/web-active", POD, units, standby=False)


def standby(units: int) -> Buffer:
    return Buffer("team/web-standby", POD, units, standby=True)


def steps(*places: Place, pending: int = 0, buffers: tuple[Buffer, ...] = ()) -> Steps:
    return Plan(places, SIZE).make([POD] * pending, buffers)


ALL = (place("run", pods=2), place("chill", CHILLING), place("sleep", SUSPENDED))


@pytest.mark.parametrize(
    ("pending", "consumed", "resumed", "made"),
    [
        (2, [], [], 0),
        (3, ["chill"], [], 0),
        (6, ["chill"], [], 0),
        (7, ["chill"], ["sleep"], 0),
        (10, ["chill"], ["sleep"], 0),
        (11, ["chill"], ["sleep"], 1),
        (15, ["chill"], ["sleep"], 2),
    ],
)
def test_pods_that_wait_use_running_then_chilling_then_suspended_then_new_nodes(
    pending: int, consumed: list[str], resumed: list[str], made: int
) -> None:
    taken = steps(*(place(each.name, each.state, pods=2 if each.used else 0) for each in ALL), pending=pending)
    assert (taken.consume, taken.resume, taken.make) == (consumed, resumed, made)


def test_active_units_are_refilled_in_the_same_order() -> None:
    taken = steps(place("run", pods=4), place("sleep", SUSPENDED), buffers=(active(4), standby(4)))
    assert (taken.resume, taken.make, taken.make_standby) == (["sleep"], 0, {"team/web-standby": 1})


def test_standby_is_refilled_from_new_nodes_only() -> None:
    taken = steps(place("idle"), place("sleep", SUSPENDED), buffers=(standby(8),))
    assert (taken.resume, taken.make_standby) == ([], {"team/web-standby": 1})
    assert taken.not_needed == ["idle"], "a node that was in use is not suspended again"


def test_what_is_on_its_way_is_not_ordered_twice() -> None:
    taken = steps(place("new", arriving=True), place("more", CHILLING, arriving=True), buffers=(active(4), standby(4)))
    assert (taken.make, taken.make_standby) == (0, {})


def test_a_chilling_node_that_a_pod_found_is_out_of_standby() -> None:
    taken = steps(place("chill", CHILLING, pods=1), buffers=(standby(4),))
    assert (taken.consume, taken.make_standby) == (["chill"], {"team/web-standby": 1})


def test_nodes_of_a_buffer_that_is_gone_or_smaller_are_removed() -> None:
    assert steps(place("sleep", SUSPENDED)).remove == ["sleep"]
    assert steps(place("a", SUSPENDED), place("b", SUSPENDED), buffers=(standby(4),)).remove == ["b"]


def test_a_node_with_active_units_is_needed() -> None:
    assert steps(place("a"), place("b"), buffers=(active(4),)).not_needed == ["b"]


def test_a_node_that_pods_wait_for_while_it_resumes_is_needed() -> None:
    resuming = Place("sleep", RUNNING, SIZE, resuming=True)
    assert steps(resuming, place("b"), pending=1).not_needed == ["b"]


def test_a_unit_that_never_fits_makes_no_nodes() -> None:
    huge = Buffer("team/web-active", Room(cpu=64000), 1, standby=False)
    assert steps(buffers=(huge,)) == Steps()
