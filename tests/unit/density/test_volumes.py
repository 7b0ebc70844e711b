"""Volumes tie units to the nodes from which they can be reached."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.density.units import Unit, unit
from moorage.density.volumes import class_nodes, volume_nodes
from moorage.scheduling import NodeSelector, StoredStorageClass, StoredVolume
from tests.builders import nano
from tests.nodes import in_zone, node, placed

ZONE = "topology.kubernetes.io/zone"
NODES = [node("a", labels=in_zone("a")), node("b", labels=in_zone("b"))]


def mounting(*reached: NodeSelector | None) -> Unit:
    return unit("team-a", nano(cpu="1"), volume_nodes=tuple(each for each in reached if each is not None))


def volume(*zones: str) -> NodeSelector | None:
    line = {"key": ZONE, "operator": "In", "values": list(zones)}
    affinity: dict[str, Any] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [line]}]}}
    return volume_nodes(msgspec.convert({"spec": {"nodeAffinity": affinity}}, StoredVolume))


def storage_class(*zones: list[str]) -> NodeSelector | None:
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": values}]} for values in zones]
    return class_nodes(msgspec.convert({"allowedTopologies": topologies}, StoredStorageClass))


@pytest.mark.parametrize(
    ("reached", "expected"),
    [
        ([], {"a": 4, "b": 4}),
        ([volume("b")], {"b": 4}),
        ([volume("a", "b")], {"a": 4, "b": 4}),
        ([volume("b"), volume("a")], {}),
        ([storage_class(["b", "c"])], {"b": 4}),
        ([storage_class(["a"], ["b"])], {"a": 4, "b": 4}),
        ([storage_class()], {"a": 4, "b": 4}),
    ],
    ids=["no volume", "one zone", "two zones", "two volumes apart", "a class", "any term of a class", "any zone"],
)
def test_units_go_where_all_their_volumes_are(reached: list[NodeSelector | None], expected: dict[str, int]) -> None:
    assert placed(9, mounting(*reached), NODES) == expected


def test_a_volume_without_affinity_can_be_reached_from_everywhere() -> None:
    assert volume_nodes(StoredVolume()) is None
