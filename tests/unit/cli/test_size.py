"""`moorage size` answers before anything is applied, and says what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Moorage

BUFFER = """
apiVersion: moorage.dev/v1alpha1
kind: CapacityBuffer
metadata: {name: web}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: web}
  percentage: 20
  limits: {cpu: "4"}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 33
  template: {spec: {containers: [{name: app, resources: {limits: {cpu: 500m}}}]}}
"""


def test_rate_and_latencies_answer_at_once(moorage: Moorage) -> None:
    answer = moorage("size", "--rate", "2", "--resume", "30s", "--cold", "90s", "-o", "json")
    assert answer.code == 0
    assert answer.json == {
        "replicas": 180,
        "active": 60,
        "standby": 120,
        "method": "Mean",
        "boundBy": "rate",
        "attained": {"percentile": 33.45, "maxWait": "0s"},
        "explanation": "active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60",
    }


def test_the_table_is_for_people(moorage: Moorage) -> None:
    answer = moorage("size", "--rate", "120/m", "--resume", "30s", "--cold", "90s")
    assert answer.out == (
        "replicas  180\nactive    60\nstandby   120\n\nactive 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60\n"
    )


def test_yaml_is_the_same_as_json(moorage: Moorage) -> None:
    answer = moorage("size", "--rate", "0.07", "--resume", "100s", "--cold", "200s", "-o", "yaml")
    assert answer.out.startswith("replicas: 14\nactive: 7\nstandby: 7\n")


def test_a_buffer_from_a_file_finds_its_workload_beside_it(moorage: Moorage, tmp_path: Path) -> None:
    file = tmp_path / "web.yaml"
    file.write_text(f"{BUFFER}---{DEPLOYMENT}")
    answer = moorage("size", "-f", str(file), "-o", "json")
    assert answer.code == 0
    assert (answer.json["replicas"], answer.json["boundBy"]) == (7, "percentage")


def test_the_workload_may_come_from_a_file_and_a_flag(moorage: Moorage, tmp_path: Path) -> None:
    template = tmp_path / "web.yaml"
    template.write_text(DEPLOYMENT)
    arguments = ["-f", "-", "--template", str(template), "--workload-replicas", "100", "-o", "json"]
    answer = moorage("size", *arguments, stdin=BUFFER)
    assert (answer.json["replicas"], answer.json["boundBy"]) == (8, "limits")


def test_an_upstream_manifest_is_sized_as_it_is(moorage: Moorage) -> None:
    upstream = BUFFER.replace("moorage.dev/v1alpha1", "autoscaling.x-k8s.io/v1beta1").replace(
        '  limits: {cpu: "4"}\n', ""
    )
    answer = moorage("size", "-f", "-", "--workload-replicas", "11", "-o", "json", stdin=upstream)
    assert (answer.json["replicas"], answer.json["method"]) == (3, "Fixed")


def test_no_size_is_an_answer_too_with_code_1(moorage: Moorage) -> None:
    buffer = "kind: CapacityBuffer\nmetadata: {name: b}\nspec: {scalableRef: {kind: Deployment, name: web}}\n"
    answer = moorage("size", "-f", "-", stdin=buffer)
    assert answer.code == 1
    assert answer.out == ""
    assert "no size is given: set spec.sizing" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param(["--rate", "2"], "--resume, --cold missing", id="incomplete"),
        pytest.param([], "--rate, --resume, --cold missing", id="nothing"),
        pytest.param(
            ["--rate", "-2", "--resume", "1s", "--cold", "2s"], "--rate: '-2' is not a rate", id="negative rate"
        ),
        pytest.param(
            ["--rate", "1", "--resume", "30", "--cold", "2s"], "--resume: '30' is not a duration", id="no unit"
        ),
        pytest.param(["--rate", "1", "--resume", "1s", "--cold", "0s"], "--cold: must be more than zero", id="cold 0"),
        pytest.param(["-f", "-", "--rate", "1"], "not both", id="both"),
        pytest.param(["-f", "/no/such/file"], "/no/such/file cannot be read: No such file or directory", id="no file"),
        pytest.param(["-f", "-"], "standard input holds something that is no Kubernetes object", id="no object"),
        pytest.param(["-o", "xml"], "'xml' is not one of 'table', 'json', 'yaml'", id="format"),
        pytest.param(["--workload-replicas", "-1"], "--workload-replicas", id="negative replicas"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(moorage: Moorage, arguments: list[str], complaint: str) -> None:
    answer = moorage("size", *arguments, stdin="[1, 2]")
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("{replicas: -1}", "spec.replicas"),
        ("{sizing: {scaleUpRate: fast, standbyResumeLatency: 1s, coldNodeLatency: 2s}}", "spec.sizing.scaleUpRate"),
        ("{podTemplateRef: {name: a}, percentage: 10}", "needs a size"),
        ("{replica: 3}", "spec.replica"),
        ("[]", "spec"),
    ],
)
def test_a_bad_spec_is_told_with_its_path(moorage: Moorage, spec: str, complaint: str) -> None:
    answer = moorage("size", "-f", "-", stdin=f"kind: CapacityBuffer\nmetadata: {{name: b}}\nspec: {spec}\n")
    assert answer.code == 2
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_a_percentage_needs_the_size_of_the_workload(moorage: Moorage) -> None:
    answer = moorage("size", "-f", "-", stdin=BUFFER)
    assert answer.code == 2
    assert "--workload-replicas" in answer.err


def test_of_pods_by_their_labels_the_number_is_given_beside(moorage: Moorage) -> None:
    spec = "{selector: {matchLabels: {app: web}}, percentage: 50}"
    pods = f"apiVersion: moorage.dev/v1alpha1\nkind: CapacityBuffer\nmetadata: {{name: a}}\nspec: {spec}\n"
    assert moorage("size", "-f", "-", stdin=pods).code == 2
    answer = moorage("size", "-f", "-", "--workload-replicas", "11", "-o", "json", stdin=pods)
    assert answer.json["replicas"] == 6


class TestNodesThatAreNamed:
    """`spec.nodes` with the shape of a unit."""

    def ask(self, moorage: Moorage, nodes: str, *arguments: str, cpu: str = "500m") -> str:
        spec = BUFFER.replace('  limits: {cpu: "4"}\n', f"  replicas: 20\n  nodes: {nodes}\n")
        return moorage("size", "-f", "-", *arguments, stdin=f"{spec}---{DEPLOYMENT.replace('500m', cpu)}").out

    def test_the_nodes_for_all_units_and_their_addresses_are_told(self, moorage: Moorage) -> None:
        answer = json.loads(self.ask(moorage, "{instanceType: m5.large, networking: Prefix}", "-o", "json"))
        assert answer["nodes"] == {
            "group": "m5.large, planned",
            "unitsPerNode": 3,
            "boundBy": "cpu",
            "active": 7,
            "standby": 0,
            "addresses": 7 * 33,
        }

    def test_the_table_has_them_too(self, moorage: Moorage) -> None:
        assert (
            "\nnodes: group m5.4xlarge, planned; unitsPerNode 31; boundBy cpu; active 1; standby 0; addresses 60\n"
        ) in self.ask(moorage, "{instanceType: m5.4xlarge}")

    @pytest.mark.parametrize(
        ("nodes", "cpu", "reason"),
        [
            ("{instanceType: m5.huge}", "500m", "m5.huge of spec.nodes is not in"),
            ("{instanceType: m5.large}", "4", "cpu"),
        ],
    )
    def test_where_no_unit_fits_or_the_type_is_not_known_it_is_said(
        self, moorage: Moorage, nodes: str, cpu: str, reason: str
    ) -> None:
        found = json.loads(self.ask(moorage, nodes, "-o", "json", cpu=cpu))["nodes"]
        assert found["unitsPerNode"] == 0
        assert reason in found["boundBy"]
