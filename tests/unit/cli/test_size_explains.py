"""`moorage size` explains a buffer input by input: what decided, and what the next step of each would cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.cli.conftest import Answer, Moorage

from moorage.cli.errors import BadInput
from moorage.cli.size_live import read_buffer

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
SIZING = {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 33,
        "template": {
            "spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]}
        },
    },
}


def buffer(**spec: Any) -> dict[str, Any]:
    reference = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "CapacityBuffer",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {"scalableRef": reference, **spec},
    }


def explain(moorage: Moorage, *options: str, output: str = "json", **spec: Any) -> Answer:
    documents = "\n---\n".join(json.dumps(each) for each in (buffer(**spec), DEPLOYMENT))
    return moorage("size", "-f", "-", "-o", output, *options, stdin=documents)


def inputs(answer: Answer) -> dict[str, Any]:
    return {each["input"]: each for each in answer.json["inputs"]}


@pytest.mark.parametrize(
    ("spec", "decides"),
    [
        pytest.param({"sizing": SIZING, "replicas": 10}, {"sizing.scaleUpRate", "sizing.coldNodeLatency"}, id="rate"),
        pytest.param({"sizing": SIZING, "replicas": 200}, {"replicas"}, id="floor"),
        pytest.param({"replicas": 3, "percentage": 20}, {"percentage"}, id="percentage"),
        pytest.param({"sizing": SIZING, "limits": {"cpu": "4"}}, {"limits"}, id="cap"),
    ],
)
def test_what_decided_is_named(moorage: Moorage, spec: dict[str, Any], decides: set[str]) -> None:
    assert {name for name, each in inputs(explain(moorage, **spec)).items() if each["decides"]} == decides


def test_each_input_has_its_next_step_with_what_that_costs(moorage: Moorage) -> None:
    found = inputs(explain(moorage, sizing=SIZING, replicas=10, percentage=20, limits={"cpu": "100"}))
    rate, resume = found["sizing.scaleUpRate"], found["sizing.standbyResumeLatency"]
    assert (rate["value"], rate["change"], rate["then"]) == (
        "2/s",
        "2.2/s",
        {"replicas": 198, "active": 66, "standby": 132},
    )
    assert rate["more"] == {"units": 18, "active": 6, "requests": {"cpu": "9", "memory": "18Gi"}}
    assert (resume["change"], resume["then"]["active"], resume["more"]["units"]) == ("33s", 66, 0)
    assert (found["replicas"]["change"], found["replicas"]["then"]["replicas"]) == ("181", 181)
    assert (found["percentage"]["change"], found["percentage"]["then"]["replicas"]) == ("546%", 181)
    assert found["limits"]["more"]["units"] == 0, "a cap that is not reached costs nothing to raise"


def test_a_cap_that_decides_is_raised_by_what_one_unit_takes(moorage: Moorage) -> None:
    cap = inputs(explain(moorage, sizing=SIZING, limits={"cpu": "4", "memory": "8Gi", "ephemeral-storage": "1Gi"}))[
        "limits"
    ]
    assert (cap["value"], cap["change"]) == ("cpu 4, memory 8Gi, ephemeral-storage 1Gi", "cpu 4500m, memory 9Gi")
    assert cap["more"]["units"] == 1


def test_people_get_a_table(moorage: Moorage) -> None:
    lines = explain(moorage, output="table", sizing=SIZING, replicas=10).out.splitlines()
    assert lines[-4:] == [
        "sizing.scaleUpRate           2/s  decides  2.2/s  198 (66 active): +18 units, cpu 9, memory 18Gi",
        "sizing.standbyResumeLatency  30s           33s    180 (66 active): +6 active",
        "sizing.coldNodeLatency       90s  decides  99s    198 (60 active): +18 units, cpu 9, memory 18Gi",
        "replicas                     10            181    181 (60 active): +1 unit, cpu 500m, memory 1Gi",
    ]


class TestQuotas:
    QUOTA = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "NamespaceQuota",
        "metadata": {"name": "q", "namespace": "a"},
        "spec": {"hard": {"pods": 10, "requests.cpu": "20"}},
    }
    PODS = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a"}, "spec": {**spec}}
        for name, spec in (("real", {}), ("placeholder", {"priorityClassName": "moorage-placeholder"}))
    ]

    @pytest.fixture
    def files(self, tmp_path: Any) -> list[str]:
        (tmp_path / "quota").write_text(json.dumps(self.QUOTA))
        (tmp_path / "objects").write_text("\n---\n".join(map(json.dumps, self.PODS)))
        return ["--quota", str(tmp_path / "quota"), "--objects", str(tmp_path / "objects")]

    def test_they_leave_what_real_pods_do_not_use(self, moorage: Moorage, files: list[str]) -> None:
        answer = explain(moorage, *files, sizing=SIZING)
        assert (answer.json["replicas"], answer.json["boundBy"]) == (9, "quotas")
        assert "NamespaceQuota q has room for 9 (of pods 10, 1 in use)" in answer.json["quotas"]
        room = inputs(answer)["quotas"]
        assert (room["value"], room["decides"], room["then"]["replicas"]) == ("room for 9", True, 10)

    def test_they_decide_nothing_where_they_leave_enough(self, moorage: Moorage, files: list[str]) -> None:
        answer = explain(moorage, *files, replicas=5)
        assert (answer.json["replicas"], answer.json["quotas"]) == (5, "quotas leave room for all 5 units")
        assert "quotas" not in inputs(answer)

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            (["--objects", "x"], "--objects goes with --quota"),
            (["--rate", "1", "--quota", "x"], "--quota goes with -f"),
            (["web", "-f", "x"], "give either the name of a live buffer (web) or -f"),
        ],
    )
    def test_what_does_not_go_together_is_said(self, moorage: Moorage, arguments: list[str], error: str) -> None:
        answer = moorage("size", *arguments)
        assert answer.code == 2
        assert error in answer.err


class TestLive:
    STATUS = {
        "replicas": 150,
        "sizing": {"workloadReplicas": 33, "unit": {"cpu": "500m"}, "room": 150, "scaleUpRate": "2"},
        "nodes": {"unitsPerNode": 27},
        "conditions": [{"type": "Ready", "message": "all is well"}],
    }

    def test_it_is_taken_by_what_its_status_has_found(self) -> None:
        live = read_buffer({**buffer(sizing=SIZING, percentage=20), "status": self.STATUS}, NOON)
        assert (live.found.replicas, live.room, live.units_per_node, live.replicas) == (33, 150, 27, 150)
        assert live.found.template is not None

    def test_a_schedule_in_force_counts_and_is_named(self) -> None:
        at_noon = {"schedule": "0 12 * * *", "duration": "1h", "replicas": 7}
        live = read_buffer({**buffer(replicas=1, schedules=[at_noon]), "status": {}}, NOON)
        assert live.spec.replicas == 7
        assert live.notes[0].startswith("spec.schedules[0] (0 12 * * *) is in force, until 2026-06-01T13:00Z")

    def test_one_without_a_size_says_why(self) -> None:
        status = {"conditions": [{"type": "Ready", "message": "there is no Deployment web"}]}
        assert read_buffer({**buffer(replicas=1), "status": status}, NOON).why_unsized == "there is no Deployment web"
        assert "has not said anything" in read_buffer(buffer(replicas=1), NOON).why_unsized

    def test_a_spec_that_cannot_be_read_is_bad_input(self) -> None:
        with pytest.raises(BadInput, match="CapacityBuffer web: "):
            read_buffer(buffer(replicas="many"), NOON)
