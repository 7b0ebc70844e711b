"""Deletions that fall into a gap of kopf's watch are found by a list, which itself is old by the time it is used."""

from __future__ import annotations

import pytest

from moorage.handlers.operator import QUOTAS, OperatorState, key_of
from tests.unit.operator_states import operator_state

OLD, NEW = key_of(QUOTAS, "team-a", "old"), key_of(QUOTAS, "team-a", "new")


@pytest.fixture
async def state() -> OperatorState:
    state = operator_state()
    accept(state, "old", uid="1")
    return state


def accept(state: OperatorState, name: str, *, uid: str) -> None:
    key = key_of(QUOTAS, "team-a", name)
    state.accept(key, uid=uid, generation=1, spec={"hard": {"pods": 1}}, described=False)


def test_what_is_not_in_the_list_any_more_is_forgotten(state: OperatorState) -> None:
    state.remove_gone(state.known(), alive={})
    assert state.known() == {}
    assert len(state.quotas) == 0


def test_what_is_in_the_list_stays(state: OperatorState) -> None:
    state.remove_gone(state.known(), alive={OLD: "1"})
    assert state.known() == {OLD: "1"}


def test_what_came_while_the_list_was_read_stays(state: OperatorState) -> None:
    known = state.known()
    accept(state, "new", uid="2")
    state.remove_gone(known, alive={OLD: "1"})
    assert state.known() == {OLD: "1", NEW: "2"}


def test_what_was_made_anew_under_its_name_while_the_list_was_read_stays(state: OperatorState) -> None:
    known = state.known()
    accept(state, "old", uid="3")
    state.remove_gone(known, alive={})
    assert state.known() == {OLD: "3"}


def test_an_old_object_whose_name_another_has_now_is_forgotten(state: OperatorState) -> None:
    state.remove_gone(state.known(), alive={OLD: "3"})
    assert state.known() == {}
