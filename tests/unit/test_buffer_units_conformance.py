"""Whether units are there, row by row as Cluster Autoscaler and Karpenter have it in their own tests.

Upstream's Provisioning is our Provisioned. Cluster Autoscaler's says that units were handed to a simulation; ours, as
Karpenter's does, whether there is room for them.
"""

from __future__ import annotations

import re

import msgspec
import pytest

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.buffer.presence import Refill
from moorage.density.groups import Group, Outlook
from moorage.density.packing import Fit
from moorage.status.capacitybuffer import buffer_status
from moorage.status.findings import is_provisional
from moorage.status.presence import Sighting, TierSighting, Unseen, with_presence
from moorage.status.workload import Unresolved
from tests.unit.buffer_rows import ROWS, condition, reference, spec_of, status_of

NODES = Outlook((Group("default", 7, Fit(27, "pods")),), {}, {})
NO_TEMPLATE = Unresolved("TemplateNotFound", "there is no PodTemplate")
NOT_LOOKED = Unseen("Resolving", "what is there is being found out", pending=True)


def look(status: CapacityBufferStatus, *, there: int) -> CapacityBufferStatus:
    """Return a status after so many units were seen to have room."""
    wanted = status.active.replicas if status.active is not None else 0
    missing = max(wanted - there, 0)
    seen = Sighting(
        TierSighting(wanted, there), TierSighting(0, 0), refill=Refill(0, 0, missing, 0), outlook=NODES, group="default"
    )
    return with_presence(status, seen, generation=1)


def provisioned(status: CapacityBufferStatus) -> tuple[str, str]:
    return condition(status, "Provisioned")


def test_the_rows_are_these() -> None:
    covered = {"CA-C01", "CA-C02", "CA-C03", "CA-C05", "KP-C02", "KP-C04", "KP-C05"}
    assert {row for row in ROWS if re.match("(CA|KP)-C", row)} == covered


def test_a_unit_that_is_there_is_provisioned() -> None:
    assert provisioned(look(status_of(ROWS["CA-C01"]), there=1))[0] == "True"


def test_a_missing_template_leaves_nothing_to_provision() -> None:
    status = buffer_status(spec_of(ROWS["CA-C02"]), NO_TEMPLATE, generation=1)
    assert condition(status, "Ready") == ("False", "TemplateNotFound")
    assert provisioned(look(status, there=0)) == ("False", "NotReadyForProvisioning")


@pytest.mark.parametrize("row", ["CA-C03", "KP-C04"])
def test_a_buffer_of_nothing_is_empty(row: str) -> None:
    assert provisioned(look(status_of(ROWS[row]), there=0)) == ("False", "BufferEmpty")


def test_a_strategy_that_is_not_known_is_told_and_leaves_nothing_to_provision() -> None:
    """Row CA-C05, of which Cluster Autoscaler says nothing."""
    spec = msgspec.convert({"replicas": 1, "provisioningStrategy": "example.com/frozen"}, CapacityBufferSpec)
    status = buffer_status(spec, reference(ROWS["CA-C05"]), generation=1)
    assert provisioned(look(status, there=0)) == ("False", "NotReadyForProvisioning")


def test_units_without_room_need_new_nodes() -> None:
    expected = ROWS["KP-C02"]["expected_condition"].removeprefix("Provisioning=")
    assert provisioned(look(status_of(ROWS["KP-C02"]), there=1)) == tuple(expected.split("/"))


def test_what_has_not_been_looked_at_leaves_the_condition_as_it_is() -> None:
    status = with_presence(status_of(ROWS["KP-C05"]), NOT_LOOKED, generation=1)
    assert is_provisional(msgspec.to_builtins(status)), "so that what is written stays"
