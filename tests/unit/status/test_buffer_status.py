"""What a buffer's status tells of the unit that it is made of."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.status.capacitybuffer import buffer_status
from moorage.status.workload import Admission, Workload
from tests.builders import pod_spec

ADMITTED = Admission(True, "Admitted", "as the API server would store it")
REFUSED = Admission(False, "QuotaExceeded", "there is no room for a trial; a unit counts as it was last admitted")


def status_of(found: Workload, **spec: Any) -> CapacityBufferStatus:
    return buffer_status(msgspec.convert({"replicas": 3, **spec}, CapacityBufferSpec), found, generation=1)


def conditions(status: CapacityBufferStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


@pytest.mark.parametrize(
    ("admission", "expected"), [(ADMITTED, ("True", "Admitted")), (REFUSED, ("False", "QuotaExceeded"))]
)
def test_what_came_of_a_trial_is_told_and_changes_no_size(admission: Admission, expected: tuple[str, str]) -> None:
    status = status_of(Workload(pod_spec(cpu="1"), admission=admission))
    assert conditions(status)["UnitAdmitted"] == expected
    assert conditions(status)["Ready"] == ("True", "Reconciled")
    assert (status.replicas, status.sizing.unit if status.sizing else {}) == (3, {"cpu": "1"})


def test_nothing_is_told_of_a_trial_where_there_is_none() -> None:
    assert "UnitAdmitted" not in conditions(status_of(Workload(pod_spec(cpu="1"), 4)))


def test_the_generation_of_a_template_is_shown() -> None:
    assert status_of(Workload(pod_spec(), generation=4)).pod_template_generation == 4
    assert "podTemplateGeneration" not in msgspec.to_builtins(status_of(Workload(pod_spec(), 4)))
