"""Sizes of buffers, row by row as Cluster Autoscaler and Karpenter have them in their own tests.

Where the two disagree the safe answer is taken; `DECISIONS` says which and why. Upstream's ReadyForProvisioning is our
Ready. What the API server admits is in tests/unit/api, quotas are in test_buffer_quota_conformance.py, and what a
reference finds or misses is in tests/cluster/test_buffer_conformance.py.
"""

import re
from dataclasses import dataclass

import pytest

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.api.schema import schema_of
from moorage.buffer.scale_up import ScaleUp
from moorage.buffer.size import MAX_REPLICAS, Bounds
from moorage.buffer.sizing import size
from moorage.resources import pod_resources
from moorage.status.capacitybuffer import buffer_status
from tests.unit.buffer_rows import ROWS, amounts, condition, reference, shape, spec_of, status_of

ADMISSION = "is about what the API server admits: see tests/unit/api and tests/cluster/test_crd_admission.py"
QUOTAS = "is about quotas that cut a buffer: see test_buffer_quota_conformance.py"
UNITS = "is about units that are there or not: see test_buffer_units_conformance.py"
LOOKUP = "is about what a reference finds or misses: see tests/cluster/test_buffer_conformance.py"
NOT_THE_SAFE_ANSWER = "is the twin of a pair whose other answer is taken: see DECISIONS"
REFUSED_BEFORE = "is refused by the schema before anything is sized: see DECISIONS"

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
    assert condition(status, "Ready")[0] == "True"


@pytest.mark.parametrize("row", ERRORS)
def test_a_row_without_a_size_has_no_replicas_and_is_not_ready(row: str) -> None:
    assert "=True" not in ROWS[row]["expected_condition"]
    status = status_of(ROWS[row])
    assert status.replicas is None
    assert condition(status, "Ready")[0] == "False"


@pytest.mark.parametrize("row", SHAPES)
def test_a_row_with_a_shape_gives_its_effective_requests(row: str) -> None:
    requests = pod_resources(shape(ROWS[row]["pod_requests"])).requests
    words = ROWS[row]["expected_condition"].removeprefix("effective ").split()
    assert requests == pod_resources(shape(",".join(words))).requests


def test_the_example_of_the_documentation_has_60_active_units() -> None:
    (rate, resume) = map(int, re.findall("[0-9]+", ROWS[SEED]["note"]))
    assert size(ScaleUp(rate, resume, 90), Bounds()).active == int(ROWS[SEED]["expected_replicas"])


def test_without_a_strategy_in_the_spec_the_one_in_status_is_upstreams_default() -> None:
    row = ROWS["ADM-16"]
    strategy = re.search(r"stored as (\S+)", row["note"])
    assert strategy is not None
    assert status_of(row).provisioning_strategy == strategy[1]


@pytest.mark.parametrize("row", ["CA-T04", "KP-S19"])
def test_a_buffer_that_refers_to_nothing_is_told_so(row: str) -> None:
    assert condition(status_of(ROWS[row]), "Ready") == ("False", "NoReference")


def test_a_buffer_of_an_unknown_strategy_is_told_so() -> None:
    row = ROWS["CA-C05"]
    spec = CapacityBufferSpec(replicas=int(row["spec_replicas"]), provisioning_strategy="example.com/frozen")
    status = buffer_status(spec, reference(row), generation=1)
    assert status.replicas is None
    assert condition(status, "Ready") == ("False", "UnsupportedStrategy")


@dataclass(frozen=True)
class Decision:
    """What is answered where the two projects differ, why, and with which words the field's description says so."""

    replicas: int | None
    reason: str
    """Of Ready."""
    why: str
    field: str
    words: str


NO_CAP = "a cap that caps nothing is a mistake, and the larger answer costs money"
REFUSED = "it is refused when the buffer is applied; an object stored before is answered like this"
EXACT = "all arithmetic is exact; only the result has to fit into 32 bits"

DECISIONS = {
    "DIV-01": Decision(0, "Reconciled", "0 % of nothing is nothing", "percentage", "Of a workload at zero it is 0"),
    "DIV-02": Decision(None, "LimitsMatchNothing", NO_CAP, "limits", "there is no size, even with replicas"),
    "DIV-03": Decision(None, "LimitsMatchNothing", NO_CAP, "limits", "reason LimitsMatchNothing"),
    "DIV-04": Decision(None, "LimitsMatchNothing", REFUSED, "limits", "are refused, as an empty map"),
    "DIV-05": Decision(None, "LimitsMatchNothing", NO_CAP, "limits", "When no unit requests any of the names"),
    "DIV-06": Decision(4, "Reconciled", "so the pod is stored", "limits", "its limit is its request"),
    "DIV-07": Decision(0, "Reconciled", REFUSED, "limits", "and amounts below zero are"),
    "DIV-08": Decision(None, "NoSize", "a buffer of nothing is a mistake", "scalableRef", "reason NoSize"),
    "DIV-09": Decision(30_000_000, "Reconciled", EXACT, "percentage", "Counted exactly, beyond 32 bits too"),
    "DIV-10": Decision(30_000_000, "Reconciled", EXACT, "percentage", "Counted exactly, beyond 32 bits too"),
    "DIV-11": Decision(MAX_REPLICAS, "Clamped", EXACT, "limits", "beyond 2147483647 counts as that"),
    "DIV-12": Decision(MAX_REPLICAS, "Clamped", EXACT, "limits", "reason Clamped"),
    "DIV-13": Decision(None, "LimitsMatchNothing", REFUSED, "limits", "(requests.cpu, pods), which would cap nothing"),
    "DIV-14": Decision(None, "LimitsMatchNothing", REFUSED, "limits", "(requests.cpu, pods), which would cap nothing"),
}


class TestWhereTheTwoDisagree:
    def test_each_pair_is_decided(self) -> None:
        assert DECISIONS.keys() == {row[:6] for row in ROWS if row.startswith("DIV-")}

    @pytest.mark.parametrize("row", [row for row in ROWS if row.startswith("DIV-")])
    def test_the_decision_is_what_the_status_says(self, row: str) -> None:
        decision = DECISIONS[row[:6]]
        status = status_of(ROWS[row])
        assert (status.replicas, condition(status, "Ready")[1]) == (decision.replicas, decision.reason)

    @pytest.mark.parametrize("row", [row for row in ROWS if row[:6] in DECISIONS and DECISIONS[row[:6]].why == REFUSED])
    def test_what_is_refused_is_refused(self, row: str) -> None:
        limits = amounts(ROWS[row]["spec_limits"])
        with pytest.raises(SpecError, match=r"spec\.limits"):
            parse_capacity_buffer_spec({"scalableRef": {"kind": "Job", "name": "a"}, "replicas": 3, "limits": limits})

    @pytest.mark.parametrize("pair", DECISIONS)
    def test_the_description_of_the_field_says_so(self, pair: str) -> None:
        decision = DECISIONS[pair]
        description = schema_of(CapacityBufferSpec)["properties"][decision.field]["description"]
        assert decision.words in " ".join(description.split())


@pytest.mark.parametrize(("limit", "replicas"), [("8Gi", MAX_REPLICAS), ("2147483647", MAX_REPLICAS), ("9", 9)])
def test_a_quotient_is_exact_and_clamped_only_as_the_result(limit: str, replicas: int) -> None:
    row = ROWS["DIV-12-kp"] | {"spec_limits": f"memory={limit}"}
    assert buffer_status(spec_of(row), reference(row), generation=1).replicas == replicas


class TestTheLists:
    """Nothing may stay in them that is covered."""

    def test_they_name_rows_that_exist(self) -> None:
        assert NOT_COVERED.keys() <= ROWS.keys()

    @pytest.mark.parametrize("row", [row for row in NOT_COVERED if row.startswith(("DIV-", "OLD-"))])
    def test_no_size_that_is_left_out_is_what_we_say(self, row: str) -> None:
        status = status_of(ROWS[row])
        native = ROWS[row]["expected_replicas"]
        assert status.replicas != (int(native) if native else None)
