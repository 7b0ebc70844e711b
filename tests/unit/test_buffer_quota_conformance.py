"""Quotas cut buffers, row by row as Cluster Autoscaler has it in its own tests.

A row's size is the one before quotas, and its quota stands in its note; `SCENARIOS` has it as a value, with the
buffers that are served before the row's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.buffer.quotas import Asking, Quota, share_out
from moorage.objects import Affinity, PodSpec
from moorage.quota.scopes import Requirement
from moorage.status.buffer_quotas import LIMITED_BY_QUOTAS, asking
from moorage.status.capacitybuffer import buffer_status
from moorage.status.workload import Workload
from tests.builders import nano, pod_affinity, pod_spec
from tests.unit.buffer_rows import ROWS, amounts, condition, spec_of

ROWS_OF_QUOTAS = [row for row in ROWS if row.startswith("CA-Q")]
NAME = "buffer"


def quota(hard: str, used: str = "", *requirements: Requirement) -> Quota:
    return Quota("ResourceQuota q", nano(**amounts(hard)), nano(**amounts(used)), frozenset(requirements))


@dataclass(frozen=True)
class Scenario:
    """The quotas of the namespace, the buffers that are older than the row's, and the row's pod."""

    quotas: tuple[Quota, ...] = ()
    older: dict[str, int] = field(default_factory=dict)
    """Units of the older buffers by name; their pods are like the row's."""
    priority_class: str | None = None
    affinity: Affinity | None = None


TEN = quota("cpu=10;memory=10Gi")
HIGH = quota("cpu=2", "", Requirement("PriorityClass", "In", frozenset({"high-priority"})))
CROSS = quota("cpu=2", "", Requirement("CrossNamespacePodAffinity"))

SCENARIOS = {
    "CA-Q01": Scenario(),
    "CA-Q02": Scenario((TEN,)),
    "CA-Q03a": Scenario((TEN,)),
    "CA-Q03b": Scenario((TEN,), older={"first": 5}),
    "CA-Q04": Scenario((quota("cpu=10", "cpu=8"),)),
    "CA-Q06": Scenario((quota("requests.cpu=10", "requests.cpu=8"),)),
    "CA-Q08": Scenario((quota("cpu=2", "", Requirement("Terminating")),)),
    "CA-Q09": Scenario((quota("cpu=2", "", Requirement("NotTerminating")),)),
    "CA-Q10": Scenario((quota("requests.nvidia.com/gpu=2", "", Requirement("BestEffort")),)),
    "CA-Q12a": Scenario((HIGH,)),
    "CA-Q12b": Scenario((HIGH,), priority_class="high-priority"),
    "CA-Q13b": Scenario((quota("cpu=2"), quota("memory=2Gi"))),
    "CA-Q14a": Scenario((CROSS,), affinity=pod_affinity(namespaces=["other"])),
    "CA-Q14b": Scenario((CROSS,), older={"first": 5}, affinity=pod_affinity(namespaces=["other"], anti=True)),
    "CA-Q14c": Scenario((CROSS,), older={"first": 5}, affinity=pod_affinity()),
    "CA-Q15a": Scenario((quota("cpu=5"),)),
    "CA-Q15c": Scenario((quota("cpu=5"),)),
    "CA-Q15d": Scenario((quota("cpu=5"),), older={"b1": 4}),
    "CA-Q15e": Scenario((quota("cpu=10"),), older={"b1": 4}),
}


@pytest.mark.parametrize("row", ROWS_OF_QUOTAS)
def test_a_row_is_cut_as_there_and_says_so(row: str) -> None:
    status = status_of(row)
    kind, _, rest = ROWS[row]["expected_condition"].partition("=")
    assert kind == LIMITED_BY_QUOTAS
    assert status.replicas == int(ROWS[row]["expected_replicas"])
    assert condition(status, kind) == tuple(rest.split("/"))
    assert condition(status, "Ready")[0] == "True"


@pytest.mark.parametrize("row", ["CA-Q03b", "CA-Q14b", "CA-Q15d"])
def test_a_buffer_that_is_cut_names_the_buffer_that_took_the_room(row: str) -> None:
    (told,) = (each.message for each in status_of(row).conditions if each.type == LIMITED_BY_QUOTAS)
    assert f"for buffer {next(iter(SCENARIOS[row].older))}, which goes before" in told


def status_of(row: str) -> CapacityBufferStatus:
    """Return the status of a row's buffer among the others of its namespace."""
    scenario, spec, unit = SCENARIOS[row], spec_of(ROWS[row]), _unit(row)
    assert spec.replicas is not None
    others = [_asking(name, units, unit, "2026-01-01T00:00:00Z") for name, units in scenario.older.items()]
    own = _asking(NAME, spec.replicas, unit, "2026-01-02T00:00:00Z")
    share = share_out(scenario.quotas, [own, *others])[NAME]
    return buffer_status(spec, Workload(unit), generation=1, share=share)


def _unit(row: str) -> PodSpec:
    scenario = SCENARIOS[row]
    requests = amounts(ROWS[row]["pod_requests"])
    return pod_spec(requests=requests, priority_class=scenario.priority_class, affinity=scenario.affinity)


def _asking(name: str, units: int, unit: PodSpec, created: str) -> Asking:
    return asking(name, unit, units=units, priority=0, created=created)
