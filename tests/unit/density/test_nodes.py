"""What state a node is in, as a pod meets it."""

from __future__ import annotations

import pytest

from moorage.density.nodes import State
from tests.builders import nano
from tests.nodes import node

STANDBY = {"buffer.gke.io/standby-capacity-node": "true"}
CHILLING_TAINT = "buffer.gke.io/standby-capacity-node=true:PreferNoSchedule"
SUSPENDED_TAINT = "buffer.gke.io/standby-capacity-node-suspended=true:NoSchedule"


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, State.RUNNING),
        ({"ready": "False"}, State.UNUSABLE),
        ({"ready": "Unknown"}, State.UNUSABLE),
        ({"cordoned": True}, State.UNUSABLE),
        ({"deleted": True}, State.UNUSABLE),
        ({"labels": STANDBY, "taints": [CHILLING_TAINT]}, State.STANDBY),
        ({"labels": STANDBY, "taints": [SUSPENDED_TAINT], "suspended": "True", "cordoned": True}, State.SUSPENDED),
        ({"labels": STANDBY, "taints": [SUSPENDED_TAINT], "cordoned": True}, State.SUSPENDED),
        ({"suspended": "True", "cordoned": True, "ready": "Unknown"}, State.SUSPENDED),
        ({"suspended": "True", "cordoned": True, "deleted": True}, State.UNUSABLE),
        ({"taints": ["status-taint.cluster-autoscaler.kubernetes.io/azure-suspended:NoSchedule"]}, State.SUSPENDED),
        ({"suspended": "False"}, State.RUNNING),
    ],
    ids=[
        "ready",
        "not ready",
        "not heard of",
        "cordoned",
        "being deleted",
        "standby that runs still",
        "suspended",
        "about to be suspended",
        "suspended, elsewhere than in GKE",
        "suspended and being deleted",
        "suspended, in Azure",
        "resumed and consumed",
    ],
)
def test_the_state_of_a_node(given: dict[str, object], state: State) -> None:
    assert node(**given).state is state


def test_a_suspended_node_keeps_the_taints_that_it_has_after_its_resume() -> None:
    taints = [SUSPENDED_TAINT, "node.kubernetes.io/unreachable:NoSchedule", "gpu=true:NoSchedule", CHILLING_TAINT]
    suspended = node(suspended="True", cordoned=True, taints=taints)
    assert [str(each) for each in suspended.taints] == ["gpu=true:NoSchedule"]


def test_a_node_that_runs_keeps_the_taints_of_its_state() -> None:
    broken = node(taints=["node.kubernetes.io/disk-pressure:NoSchedule", "gpu=true:NoSchedule"])
    assert [str(each) for each in broken.taints] == [
        "node.kubernetes.io/disk-pressure:NoSchedule",
        "gpu=true:NoSchedule",
    ]
    assert [str(each) for each in broken.permanent_taints] == ["gpu=true:NoSchedule"]


def test_amounts_are_exact_and_the_buffer_of_a_standby_node_is_known() -> None:
    found = node(cpu="3920m", memory="12Gi", pods="32", standby_of="team-a/web-standby")
    assert found.allocatable == nano(cpu="3920m", memory="12Gi", pods="32")
    assert found.standby_of == "team-a/web-standby"
