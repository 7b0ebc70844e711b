"""Pods that a selector selects: how many there are, and which of them gives the shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.cluster.selected_pods import PodReader, SelectedPods
from moorage.resources import pod_resources

_read = PodReader()


class Selected:
    """The pods of a selector as events bring them, and how often something changed."""

    def __init__(self) -> None:
        self.changes = 0
        self.pods = SelectedPods(on_change=self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def put(self, uid: str, *, day: int = 1, cpu: str = "1", phase: str = "Running", deleted: bool = False) -> None:
        metadata: dict[str, Any] = {"uid": uid, "creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}
        if deleted:
            metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
        spec = {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]}
        body = {"metadata": metadata, "spec": spec, "status": {"phase": phase}}
        self.pods.put(_read(json.dumps(body).encode()))

    def delete(self, uid: str) -> None:
        record = self.pods.get(uid)
        assert record is not None
        self.pods.delete(record)

    @property
    def cpu(self) -> float:
        assert self.pods.shape.spec is not None
        return pod_resources(self.pods.shape.spec).requests["cpu"] / 10**9


@pytest.fixture
async def selected() -> Selected:
    return Selected()


def test_the_newest_gives_the_shape_and_all_that_run_the_number(selected: Selected) -> None:
    selected.put("a", day=2, cpu="2")
    selected.put("b", day=1, cpu="1")
    assert (selected.pods.replicas, selected.cpu) == (2, 2)


@pytest.mark.parametrize("uids", [("a", "b"), ("b", "a")])
def test_of_two_made_in_the_same_second_the_later_one_counts(selected: Selected, uids: tuple[str, str]) -> None:
    for uid, cpu in zip(uids, ("1", "2"), strict=True):
        selected.put(uid, cpu=cpu)
    assert selected.cpu == 2
    selected.put(uids[0], cpu="1", phase="Pending")
    assert selected.cpu == 2


@pytest.mark.parametrize(
    "state", [{"phase": "Succeeded"}, {"phase": "Failed"}, {"deleted": True}], ids=["ended", "failed", "being deleted"]
)
def test_one_that_runs_goes_before_a_newer_one_that_does_not(selected: Selected, state: dict[str, Any]) -> None:
    selected.put("new", day=2, cpu="2", **state)
    assert (selected.pods.replicas, selected.cpu) == (0, 2), "as long as it is all there is"
    selected.put("old", day=1, cpu="1")
    assert (selected.pods.replicas, selected.cpu) == (1, 1)


def test_one_that_waits_for_a_node_counts(selected: Selected) -> None:
    selected.put("a", phase="Pending")
    assert selected.pods.replicas == 1


def test_the_last_shape_stays_when_none_is_left(selected: Selected) -> None:
    selected.put("a", cpu="3")
    selected.delete("a")
    assert (selected.pods.replicas, selected.cpu) == (0, 3)
    selected.pods.replace({})
    assert selected.cpu == 3


def test_pods_that_are_alike_share_their_template_in_memory(selected: Selected) -> None:
    selected.put("a")
    selected.put("b")
    first, second = selected.pods.snapshot().values()
    assert first.template is second.template


def test_it_is_listed_only_after_a_whole_list(selected: Selected) -> None:
    assert not selected.pods.listed
    selected.pods.replace({})
    assert selected.pods.listed
    assert selected.changes == 1, "an empty list is news the first time"
