"""Sizes of buffers, row by row as Cluster Autoscaler and Karpenter have them in their own tests.

Where the two disagree the safe answer is taken. Upstream's ReadyForProvisioning is our Ready.
"""

import csv
import re
from pathlib import Path

import msgspec
import pytest

from moorage.api.capacitybuffer import CapacityBufferSpec, CapacityBufferStatus
from moorage.buffer.sizing import Bounds, ScaleUp, size
from moorage.objects import Container, PodSpec
from moorage.resources import pod_resources
from moorage.status.capacitybuffer import NO_REFERENCE, Unresolved, Workload, buffer_status
from tests.builders import container, pod_spec, sidecar

Row = dict[str, str]

with (Path(__file__).parents[1] / "data" / "buffer-cases.csv").open(newline="") as _table:
    ROWS: dict[str, Row] = {row["id"]: row for row in csv.DictReader(_table)}

ADMISSION = "is about what the API server admits: see tests/unit/api"
QUOTAS = "is about native quotas that cut a buffer, which comes with the units themselves"
UNITS = "is about units that exist or do not, which comes with the units themselves"
LOOKUP = "is about an object that a reference does not find: see tests/cluster"
NOT_THE_SAFE_ANSWER = "is the twin of a pair whose other answer, the safer one, is taken"
REFUSED_BEFORE = "is refused by the schema before anything is sized: see tests/unit/api"

NOT_COVERED = {
    **{row: ADMISSION for row in ROWS if row.startswith("ADM-")},
    **{row: QUOTAS for row in ROWS if row.startswith("CA-Q")},
    **{row: UNITS for row in ROWS if re.match("(CA|KP)-C", row)},
    "KP-S02": LOOKUP,
    "KP-S04": LOOKUP,
    "KP-S06": "a Job cannot be referred to in Karpenter; here it can, by its parallelism",
    "KP-S07": LOOKUP,
    "KP-H08": "is a helper that ignores limits which name nothing requested; here that is an error, as in DIV-02",
    "DIV-01-kp": NOT_THE_SAFE_ANSWER,
    "DIV-02-kp": NOT_THE_SAFE_ANSWER,
    "DIV-04-kp": NOT_THE_SAFE_ANSWER,
    "DIV-06-kp": NOT_THE_SAFE_ANSWER,
    "DIV-07-ca": REFUSED_BEFORE,
    "DIV-07-kp": NOT_THE_SAFE_ANSWER,
    "DIV-08-kp": NOT_THE_SAFE_ANSWER,
    "DIV-09-ca": NOT_THE_SAFE_ANSWER,
    "DIV-11-ca": NOT_THE_SAFE_ANSWER,
    "DIV-12-ca": NOT_THE_SAFE_ANSWER,
    "DIV-14-kp": NOT_THE_SAFE_ANSWER,
    "OLD-01": "is what Cluster Autoscaler did before 1.37",
}

SHAPES = [row for row in ROWS if ROWS[row]["expected_condition"].startswith("effective ")]
SEED = "SEED-01"
COVERED = [row for row in ROWS if row not in NOT_COVERED and row not in SHAPES and row != SEED]
ERRORS = [row for row in COVERED if not ROWS[row]["expected_replicas"]]
SIZES = [row for row in COVERED if ROWS[row]["expected_replicas"]]


@pytest.mark.parametrize("row", SIZES)
def test_a_row_with_a_size_gives_that_size_and_is_ready(row: str) -> None:
    status = status_of(ROWS[row])
    assert status.replicas == int(ROWS[row]["expected_replicas"])
    assert ready(status) == "True"


@pytest.mark.parametrize("row", ERRORS)
def test_a_row_without_a_size_has_no_replicas_and_is_not_ready(row: str) -> None:
    assert "=True" not in ROWS[row]["expected_condition"]
    status = status_of(ROWS[row])
    assert status.replicas is None
    assert ready(status) == "False"


@pytest.mark.parametrize("row", SHAPES)
def test_a_row_with_a_shape_gives_its_effective_requests(row: str) -> None:
    requests = pod_resources(shape(ROWS[row]["pod_requests"])).requests
    words = ROWS[row]["expected_condition"].removeprefix("effective ").split()
    assert requests == pod_resources(shape(",".join(words))).requests


def test_the_example_of_the_documentation_has_60_active_units() -> None:
    (rate, resume) = map(int, re.findall("[0-9]+", ROWS[SEED]["note"]))
    assert size(ScaleUp(rate, resume, 90), Bounds()).active == int(ROWS[SEED]["expected_replicas"])


class TestWhereUpstreamDisagrees:
    """The picks whose rows are not in the table, or only with the answer that is not taken."""

    def test_requests_default_to_limits_as_in_cluster_autoscaler(self) -> None:
        assert status_of(ROWS["DIV-06-kp"]).replicas == 4

    def test_a_percentage_is_computed_in_64_bits_also_without_replicas(self) -> None:
        assert status_of(ROWS["DIV-09-ca"]).replicas == 30_000_000

    @pytest.mark.parametrize("row", ["DIV-11-kp", "DIV-12-kp"])
    def test_a_size_beyond_int32_is_clamped_and_the_condition_says_so(self, row: str) -> None:
        (condition,) = (each for each in status_of(ROWS[row]).conditions if each.type == "Ready")
        assert (condition.status, condition.reason) == ("True", "Clamped")


class TestTheLists:
    """A later part makes the exclusions shorter; nothing may stay in them that is covered."""

    def test_they_name_rows_that_exist(self) -> None:
        assert NOT_COVERED.keys() <= ROWS.keys()

    @pytest.mark.parametrize("row", [row for row in NOT_COVERED if row.startswith(("DIV-", "OLD-"))])
    def test_no_size_that_is_left_out_is_what_we_say(self, row: str) -> None:
        status = status_of(ROWS[row])
        native = ROWS[row]["expected_replicas"]
        assert status.replicas != (int(native) if native else None)


def status_of(row: Row) -> CapacityBufferStatus:
    """Return our status for the buffer and workload of a row."""
    spec: dict[str, object] = {}
    if row["spec_replicas"]:
        spec["replicas"] = int(row["spec_replicas"])
    if row["spec_percentage"]:
        spec["percentage"] = int(row["spec_percentage"])
    if row["spec_limits"]:
        spec["limits"] = amounts(row["spec_limits"])
    return buffer_status(msgspec.convert(spec, CapacityBufferSpec), reference(row), generation=1)


def reference(row: Row) -> Workload | Unresolved:
    """Return what the row's buffer refers to: a workload, or a PodTemplate, which has no size."""
    if "no podTemplateRef" in row["note"] or "neither ref" in row["note"]:
        return NO_REFERENCE
    workload = row["scalable_replicas"]
    return Workload(template=shape(row["pod_requests"]), replicas=int(workload) if workload else None)


def shape(text: str) -> PodSpec:
    """Read a pod as the table writes it: `init cpu=4 then sidecar cpu=500m ; cpu=1 + cpu=2`."""
    *init, apps = text.split(" ; ")
    started = [each for part in init for each in part.split(" then ")]
    return pod_spec(
        init=[init_container(f"i{at}", each) for at, each in enumerate(started)],
        containers=[app_container(f"c{at}", each) for at, each in enumerate(apps.split(" + "))],
    )


def init_container(name: str, text: str) -> Container:
    kind, _, requests = text.partition(" ")
    return {"init": container, "sidecar": sidecar}[kind](name, requests=amounts(requests))


def app_container(name: str, text: str) -> Container:
    if text.startswith("(limits only) "):
        return container(name, limits=amounts(text.removeprefix("(limits only) ")))
    return container(name, requests=amounts(text))


def amounts(text: str) -> dict[str, str]:
    if text in ("", "(none)", "(empty map)"):
        return {}
    return dict(each.split("=") for each in re.split("[;,]", text))


def ready(status: CapacityBufferStatus) -> str:
    (condition,) = (each for each in status.conditions if each.type == "Ready")
    return condition.status
