"""What a buffer's status says of what is there: numbers, and sentences that tell what is missing and why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.api.presence import Tier
from moorage.backends.word import Word
from moorage.buffer.presence import Refill
from moorage.density.eks.instances import instance_types
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.nodes import EksNodes
from moorage.density.groups import UNREAD, Group, Outlook
from moorage.density.packing import Fit
from moorage.status.capacitybuffer import unsized_buffer_status
from moorage.status.findings import is_provisional
from moorage.status.presence import Sighting, TierSighting, Unseen, with_presence
from tests.builders import nano

FITS = Outlook((Group("default c-32x", 7, Fit(27, "pods")), Group("small", 2, Fit(8, "cpu"))), {}, {})
FULL = Refill(0, 0, 0, 0)


def sized(active: int, standby: int) -> CapacityBufferStatus:
    return CapacityBufferStatus(
        observed_generation=3,
        replicas=active + standby,
        active=Tier(replicas=active),
        standby=Tier(replicas=standby),
    )


def seen(
    active: tuple[int, int, int] = (60, 60, 0),
    standby: tuple[int, int, int] = (120, 120, 0),
    *,
    refill: Refill = FULL,
    outlook: Outlook = FITS,
    group: str = "default c-32x",
    requests: dict[str, int] | None = None,
    word: Word = Word.NOBODY,
    waited: bool = True,
) -> Sighting:
    return Sighting(
        TierSighting(*active),
        TierSighting(*standby),
        refill=refill,
        outlook=outlook,
        requests=tuple((requests or {}).items()),
        group=group,
        word=word,
        waited=waited,
    )


def written(sighting: Sighting | Unseen, status: CapacityBufferStatus | None = None) -> dict[str, Any]:
    if status is None:
        assert isinstance(sighting, Sighting)
        status = sized(sighting.active.wanted, sighting.standby.wanted)
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(with_presence(status, sighting, generation=3)))
    return built


def told(status: dict[str, Any], kind: str) -> tuple[str, str, str]:
    [found] = [each for each in status["conditions"] if each["type"] == kind]
    return found["status"], found["reason"], found["message"]


def test_a_full_buffer() -> None:
    status = written(seen())
    assert status["readyReplicas"] == 180
    assert status["active"] == {"replicas": 60, "readyReplicas": 60}
    assert status["standby"] == {"replicas": 120, "readyReplicas": 120}
    assert status["display"] == {"active": "60/60", "standby": "120/120"}
    message = "all 60 active units and all 120 standby units are there"
    assert told(status, "Provisioned") == ("True", "FitsExistingCapacity", message)


def test_a_buffer_that_pods_took_from() -> None:
    status = written(seen((60, 52, 8), (120, 120, 0), refill=Refill(0, 8, 0, 8)))
    assert status["active"] == {"replicas": 60, "readyReplicas": 52, "consumed": 8, "refilling": 8}
    assert status["display"]["active"] == "52/60"
    assert told(status, "Provisioned") == (
        "False",
        "RequiresNewCapacity",
        "52 of 60 active units and all 120 standby units are there; 8 active come from suspended nodes, after a "
        "resume; 8 units need room on new nodes; pods have taken 8 since the buffer was last full",
    )


@pytest.mark.parametrize(
    ("refill", "expected"),
    [
        (Refill(5, 0, 0, 5), "5 active come from standby nodes that are not suspended yet; 5 units need room"),
        (Refill(0, 0, 5, 0), "are there; 5 units need room on new nodes"),
        (Refill(0, 0, 1, 0), "are there; 1 unit needs room on new nodes"),
    ],
)
def test_where_missing_units_come_from(refill: Refill, expected: str) -> None:
    assert expected in told(written(seen((60, 55, 0), refill=refill)), "Provisioned")[2]


def test_a_buffer_of_one_tier_does_not_speak_of_the_other() -> None:
    _, _, message = told(written(seen((20, 20, 0), (0, 0, 0))), "Provisioned")
    assert message == "all 20 active units are there"


def test_an_empty_buffer() -> None:
    status = written(seen((0, 0, 0), (0, 0, 0)))
    assert told(status, "Provisioned")[:2] == ("False", "BufferEmpty")
    assert (status["readyReplicas"], status["display"]["active"]) == (0, "0/0")


def test_both_tiers_are_rounded_up_to_nodes_together() -> None:
    assert written(seen())["nodes"] == {
        "group": "default c-32x",
        "unitsPerNode": 27,
        "boundBy": "pods",
        "active": 3,
        "standby": 4,
        "others": [{"name": "small", "unitsPerNode": 8, "boundBy": "cpu", "active": 8, "standby": 15}],
    }
    assert written(seen(group="small"))["nodes"]["group"] == "small"
    assert written(seen(group="gone"))["nodes"]["group"] == "default c-32x"


def test_nodes_of_eks_types_cost_addresses() -> None:
    large = EksNodes(instance_types()["m5.large"], Networking(Mode.PREFIX), max_pods=110)
    outlook = Outlook((Group("main m5.large", 2, Fit(108, "pods"), large), FITS.groups[1]), {}, {})
    nodes = written(seen(outlook=outlook, group="main m5.large"))["nodes"]
    assert (nodes["active"], nodes["standby"]) == (1, 1)
    assert nodes["addresses"] == 113 + 1 + 6 * 16, "108 units on one node and 72 on another, with a warm prefix"
    assert "addresses" not in nodes["others"][0]


PLANNED = Group("m5.large, planned", 0, Fit(27, "pods"))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (
            Word.NOBODY,
            ("False", "NodesFit", "an empty node (m5.large, planned) holds 27 units, bound by pods; none of"),
        ),
        (Word.WAITING, ("False", "NodesFit", "an empty node (m5.large, planned)")),
        (Word.CANNOT, ("True", "AutoscalerFoundNone", "the autoscaler (Karpenter) finds no node")),
        (Word.MAKES, ("False", "AutoscalerMakesNodes", "the autoscaler makes nodes")),
    ],
)
def test_nodes_that_are_planned_are_believed_after_the_autoscaler(word: Word, expected: tuple[str, str, str]) -> None:
    outlook = Outlook((PLANNED,), {"cpu": 2}, {"cpu": 1})
    status, reason, message = told(written(seen(outlook=outlook, word=word)), "Infeasible")
    assert (status, reason) == expected[:2]
    assert message.startswith(expected[2])


def test_what_is_not_known_of_planned_nodes_is_said() -> None:
    outlook = Outlook((), {}, {}, remark="the type m5.huge of spec.nodes is not in the table")
    message = told(written(seen(outlook=outlook)), "Infeasible")[2]
    assert message == "the cluster has no node to judge by; the type m5.huge of spec.nodes is not in the table"


def test_a_feasible_unit_says_how_many_a_node_holds() -> None:
    expected = ("False", "NodesFit", "an empty node (default c-32x) holds 27 units, bound by pods")
    assert told(written(seen()), "Infeasible") == expected


def test_an_infeasible_unit_says_what_is_in_the_way_and_waits_for_no_refill() -> None:
    outlook = Outlook(
        (), {"cpu": 3, "memory": 1, "the node selector": 2, "the taint gpu:NoSchedule": 1}, nano(cpu="31850m")
    )
    status = written(
        seen((5, 0, 0), (0, 0, 0), outlook=outlook, refill=Refill(0, 0, 5, 0), requests=nano(cpu="64", memory="1Ti"))
    )
    assert told(status, "Infeasible") == (
        "True",
        "NoNodeFits",
        "none of 7 nodes could hold a unit, even with nothing on it but its daemons: 3 by cpu, of which a unit "
        "requests 64 and the largest has 31850m; 1 by memory, of which a unit requests 1Ti and the largest has 0; 2 by "
        "the node selector; 1 by the taint gpu:NoSchedule",
    )
    assert status["active"] == {"replicas": 5, "readyReplicas": 0}
    assert "nodes" not in status


NO_NODES, TOO_SMALL = Outlook((), {}, {}), Outlook((), {"cpu": 1}, nano(cpu="4"))


@pytest.mark.parametrize(
    ("outlook", "word", "waited", "status", "reason"),
    [
        (FITS, Word.CANNOT, True, "False", "NodesFit"),
        (FITS, Word.UNTOLD, True, "False", "NodesFit"),
        (TOO_SMALL, Word.NOBODY, True, "True", "NoNodeFits"),
        (TOO_SMALL, Word.MAKES, True, "False", "AutoscalerMakesNodes"),
        (TOO_SMALL, Word.CANNOT, False, "True", "AutoscalerFoundNone"),
        (TOO_SMALL, Word.WAITING, True, "Unknown", "AutoscalerAsked"),
        (TOO_SMALL, Word.UNTOLD, False, "Unknown", "AutoscalerAsked"),
        (TOO_SMALL, Word.UNTOLD, True, "True", "NoNodeFits"),
        (NO_NODES, Word.NOBODY, True, "Unknown", "NoNodes"),
        (NO_NODES, Word.MAKES, True, "False", "AutoscalerMakesNodes"),
        (NO_NODES, Word.CANNOT, True, "True", "AutoscalerFoundNone"),
        (NO_NODES, Word.UNTOLD, True, "Unknown", "NoNodes"),
        (UNREAD, Word.UNTOLD, True, "Unknown", "NodesNotWatched"),
    ],
)
def test_nodes_that_are_there_are_believed_first_then_the_autoscaler_then_time(
    outlook: Outlook, word: Word, waited: bool, status: str, reason: str
) -> None:
    sighting = seen((5, 0, 0), (0, 0, 0), outlook=outlook, refill=Refill(0, 0, 5, 0), word=word, waited=waited)
    found = written(sighting)
    assert told(found, "Infeasible")[:2] == (status, reason)
    assert found["active"].get("refilling", 0) == (0 if status == "True" else 5)


def test_without_a_node_nothing_is_said_of_feasibility() -> None:
    status = written(seen((5, 0, 0), (0, 0, 0), outlook=Outlook((), {}, {}), refill=Refill(0, 0, 5, 0)))
    assert told(status, "Infeasible")[:2] == ("Unknown", "NoNodes")
    assert status["active"]["refilling"] == 5


def test_what_is_not_known_is_not_told() -> None:
    unseen = Unseen("NodesUnknown", "nodes cannot be read (403 Forbidden)")
    status = written(unseen, sized(60, 120))
    assert told(status, "Provisioned") == ("Unknown", "NodesUnknown", "nodes cannot be read (403 Forbidden)")
    assert told(status, "Infeasible")[:2] == ("Unknown", "NodesUnknown")
    assert status["active"] == {"replicas": 60}
    assert "readyReplicas" not in status
    assert not is_provisional(status)


def test_what_is_being_found_out_does_not_replace_an_older_status() -> None:
    assert is_provisional(written(Unseen("NodesUnknown", "nodes are being listed", pending=True), sized(60, 120)))


def test_a_buffer_without_a_size_is_not_provisioned() -> None:
    status = written(seen(), unsized_buffer_status("NoSize", "no size", generation=3))
    assert told(status, "Provisioned")[:2] == ("False", "NotReadyForProvisioning")
    assert "nodes" not in status


class TestALookThatWasMadeForOtherUnits:
    """Between a change of the size and the next look, which is a quarter of a second later at least."""

    def test_a_buffer_that_grew_is_not_full(self) -> None:
        grown = seen(active=(60, 60, 0), standby=(0, 0, 0)).of((), active=120, standby=0)
        status = written(grown, sized(120, 0))
        assert status["readyReplicas"] == 60
        provisioned = next(each for each in status["conditions"] if each["type"] == "Provisioned")
        assert (provisioned["status"], provisioned["reason"]) == ("False", "RequiresNewCapacity")
        assert provisioned["message"] == "60 of 120 active units are there"

    def test_one_that_shrank_still_is(self) -> None:
        status = written(seen(active=(60, 60, 0), standby=(0, 0, 0)).of((), active=30, standby=0), sized(30, 0))
        assert (status["readyReplicas"], status["active"]["readyReplicas"]) == (30, 30)
        provisioned = next(each for each in status["conditions"] if each["type"] == "Provisioned")
        assert (provisioned["status"], provisioned["message"]) == ("True", "all 30 active units are there")

    def test_of_units_of_another_shape_nothing_is_known(self) -> None:
        unknown = seen().of((b"a larger unit",), active=60, standby=120)
        assert isinstance(unknown, Unseen)
        status = written(unknown, sized(60, 120))
        assert {each["type"]: each["status"] for each in status["conditions"]} == {
            "Provisioned": "Unknown",
            "Infeasible": "Unknown",
        }
        assert not is_provisional(status), "the new size is told at once"
