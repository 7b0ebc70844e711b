"""`moorage nodes` audits node groups from what their objects say, and guesses nothing about other clouds' nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Moorage

MNG, TYPE = "eks.amazonaws.com/nodegroup", "node.kubernetes.io/instance-type"


def node(
    name: str,
    *,
    pods: int = 29,
    kind: str = "m5.large",
    group: tuple[str, str] | None = (MNG, "main"),
    memory: int = 8192,
    kept: int | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a node that keeps, if not told otherwise, what the image keeps for its max pods."""
    kept = 11 * pods + 255 + 100 if kept is None else kept
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {TYPE: kind, **(dict([group]) if group else {})}},
        "spec": spec,
        "status": {
            "capacity": {"cpu": "2", "memory": f"{memory}Mi", "pods": str(pods)},
            "allocatable": {"cpu": "1930m", "memory": f"{memory - kept}Mi", "pods": str(pods)},
        },
    }


def pods(count: int, on: str, phase: str = "Running") -> list[dict[str, Any]]:
    return [
        {"kind": "Pod", "metadata": {"name": f"p{at}"}, "spec": {"nodeName": on}, "status": {"phase": phase}}
        for at in range(count)
    ]


def aws_node(image: str = "602401143452.example/amazon-k8s-cni:v1.18.1-eksbuild.3", **env: str) -> dict[str, Any]:
    variables = [{"name": name, "value": value} for name, value in env.items()]
    variables.append({"name": "MY_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}})  # type: ignore[dict-item]
    container = {"name": "aws-node", "image": image, "env": variables}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "aws-node", "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": [{"name": "other"}, container]}}},
    }


PREFIX = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}


class Audit:
    """Runs `moorage nodes` over objects."""

    def __init__(self, moorage: Moorage, folder: Path) -> None:
        self._moorage = moorage
        self._file = folder / "objects.json"

    def __call__(self, *objects: Any, output: str = "json") -> Any:
        self._file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        answer = self._moorage("nodes", "-f", str(self._file), "-o", output)
        assert answer.code == 0, answer.err
        return answer.json if output == "json" else answer.out

    def one(self, *objects: Any) -> Any:
        (group,) = self(*objects)["groups"]
        return group


@pytest.fixture
def audited(moorage: Moorage, tmp_path: Path) -> Audit:
    return Audit(moorage, tmp_path)


def test_a_group_that_is_as_it_should_be(audited: Audit) -> None:
    found = audited(node("a"), node("b"), *pods(10, "a"), *pods(3, "b", "Failed"), aws_node(WARM_ENI_TARGET="1"))
    assert found["groups"] == [
        {
            "group": "main",
            "nodes": 2,
            "instanceTypes": ["m5.large"],
            "maxPods": [29],
            "recommended": 29,
            "boundBy": "addresses",
            "addresses": 27,
            "pods": 10,
            "nearLimit": [],
            "wastedMemory": "0Mi",
            "remarks": [],
        }
    ]


class TestTheCni:
    def test_its_settings_are_read_from_its_daemonset(self, audited: Audit) -> None:
        custom = {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true", "WARM_IP_TARGET": "5", "MINIMUM_IP_TARGET": "10"}
        found = audited(node("a"), aws_node(**PREFIX, **custom))["cni"]
        assert found == {
            "version": "1.18.1",
            "mode": "prefix",
            "customNetworking": True,
            "inForce": "WARM_IP_TARGET=5 MINIMUM_IP_TARGET=10",
            "warmEniTarget": 1,
            "warmIpTarget": 5,
            "minimumIpTarget": 10,
            "warmPrefixTarget": 1,
            "remarks": [],
        }

    @pytest.mark.parametrize(
        ("env", "remark"),
        [
            ({"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "0"}, "aws-node refuses to start"),
            ({"ENABLE_PREFIX_DELEGATION": "true"}, "aws-node refuses to start"),
            ({**PREFIX, "MINIMUM_IP_TARGET": "22"}, "never holds more than 32 addresses"),
            ({"WARM_ENI_TARGET": "0"}, "made and freed again"),
        ],
    )
    def test_settings_that_do_harm_are_named(self, audited: Audit, env: dict[str, str], remark: str) -> None:
        assert any(remark in each for each in audited(node("a"), aws_node(**env))["cni"]["remarks"])

    @pytest.mark.parametrize("value", ["-1", "many", ""])
    def test_what_is_no_number_is_as_if_not_set(self, audited: Audit, value: str) -> None:
        found = audited(node("a"), aws_node(WARM_ENI_TARGET=value, WARM_IP_TARGET=value, MAX_ENI=value))
        assert (found["cni"]["inForce"], found["groups"][0]["recommended"]) == ("WARM_ENI_TARGET=1", 29)

    def test_an_old_one_has_no_prefixes(self, audited: Audit) -> None:
        found = audited(node("a"), aws_node("cni:v1.8.0", **PREFIX))
        assert found["groups"][0]["recommended"] == 29
        assert "need version 1.9" in found["cni"]["remarks"][0]

    def test_without_it_managed_groups_have_the_images_own_number(self, audited: Audit) -> None:
        found = audited(node("a", kind="m5.4xlarge", pods=234, memory=65536))
        assert found["cni"] is None
        assert found["groups"][0]["recommended"] == 234
        assert "there is no DaemonSet kube-system/aws-node" in found["groups"][0]["remarks"][0]


class TestWhatIsFound:
    def remarks(self, audited: Audit, *objects: Any) -> str:
        return "; ".join(audited.one(*objects)["remarks"])

    def test_prefixes_with_max_pods_of_single_addresses(self, audited: Audit) -> None:
        assert "29 pods are admitted where 110 are recommended" in self.remarks(audited, node("a"), aws_node(**PREFIX))

    def test_memory_kept_for_pods_that_will_never_be(self, audited: Audit) -> None:
        large = [node(name, kind="m5.4xlarge", pods=234, memory=65536) for name in ("a", "b")]
        assert audited.one(*large, aws_node())["wastedMemory"] == f"{2 * 11 * (234 - 110)}Mi"

    def test_memory_that_the_image_keeps_for_more_than_a_managed_group_admits(self, audited: Audit) -> None:
        kept = 11 * 234 + 255 + 100
        capped = node("a", kind="m5.4xlarge", pods=110, memory=65536, kept=kept)
        assert audited.one(capped, aws_node())["wastedMemory"] == f"{11 * (234 - 110)}Mi"
        more_for_the_system = node("a", kind="m5.4xlarge", pods=110, memory=65536, kept=kept + 4096)
        assert audited.one(more_for_the_system, aws_node())["wastedMemory"] == f"{11 * (234 - 110)}Mi"

    def test_memory_kept_for_too_few(self, audited: Audit) -> None:
        starved = node("a", pods=110, kept=11 * 29 + 255 + 100)
        assert "674Mi are kept, and 110 pods need 1565Mi" in self.remarks(audited, starved, aws_node(**PREFIX))
        assert audited.one(starved, aws_node(**PREFIX))["wastedMemory"] == "0Mi"

    def test_more_pods_than_addresses(self, audited: Audit) -> None:
        custom = aws_node(AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG="true")
        found = audited.one(node("a"), custom)
        assert (found["recommended"], found["addresses"], found["wastedMemory"]) == (20, 18, "99Mi")
        assert "29 pods are admitted, and only 18 can have an address" in found["remarks"]

    def test_a_group_of_mixed_types_has_the_smallest_number(self, audited: Audit) -> None:
        mixed = [node("a", pods=11), node("b", kind="t3.small", pods=11, memory=2048)]
        found = audited.one(*mixed, aws_node())
        assert (found["instanceTypes"], found["recommended"]) == (["m5.large", "t3.small"], 11)
        assert "gives all of them the smallest number, 11" in found["remarks"][0]

    def test_nodes_near_their_limit(self, audited: Audit) -> None:
        found = audited.one(node("a", pods=30), node("b", pods=30), *pods(27, "a"), *pods(26, "b"), aws_node())
        assert found["nearLimit"] == ["a"]
        assert "a has 27 of 30 pods" in found["remarks"]

    def test_different_numbers_in_one_group(self, audited: Audit) -> None:
        assert "different numbers of pods: 20, 29" in self.remarks(audited, node("a"), node("b", pods=20), aws_node())

    def test_a_type_that_the_table_does_not_have(self, audited: Audit) -> None:
        found = audited.one(node("a", kind="m99.large"), aws_node())
        assert (found["recommended"], found["wastedMemory"]) == (None, None)
        assert found["remarks"] == ["nothing is known of the type m99.large"]


class TestOtherClouds:
    def test_of_gke_what_its_nodes_say_is_told(self, audited: Audit) -> None:
        pool = ("cloud.google.com/gke-nodepool", "default")
        found = audited.one(node("a", kind="e2-standard-4", pods=110, group=pool, podCIDR="10.4.0.0/24"), *pods(3, "a"))
        assert (found["group"], found["maxPods"], found["recommended"], found["pods"]) == ("default", [110], None, 3)
        assert found["remarks"] == []

    def test_a_range_that_is_too_small_is_told(self, audited: Audit) -> None:
        found = audited.one(node("a", kind="e2-standard-4", pods=110, group=None, podCIDRs=["10.4.0.0/26"]))
        assert found["remarks"] == ["a admits 110 pods, and its range 10.4.0.0/26 has 64 addresses"]

    @pytest.mark.parametrize("most", [30, 110, 250])
    def test_of_aks_too(self, audited: Audit, most: int) -> None:
        pool = ("kubernetes.azure.com/agentpool", "nodepool1")
        found = audited.one(node("a", kind="Standard_D4s_v5", pods=most, group=pool))
        assert (found["group"], found["maxPods"], found["recommended"]) == ("nodepool1", [most], None)


def test_pods_that_were_not_read_are_not_counted_as_none(audited: Audit) -> None:
    assert audited.one(node("a"))["pods"] is None


def test_the_table_is_for_people(audited: Audit) -> None:
    objects = (node("a"), *pods(5, "a"), node("b", group=None, kind="e2-medium", pods=110), aws_node(**PREFIX))
    assert audited(*objects, output="table") == (
        "GROUP      NODES  TYPES      MAX PODS  RECOMMENDED  BOUND BY  PODS  NEAR LIMIT  WASTED MEMORY\n"
        "e2-medium  1      e2-medium  110       -            -         0     0           -\n"
        "main       1      m5.large   29        110          cap       5     0           0Mi\n"
        "\n"
        "CNI 1.18.1: prefix mode, WARM_PREFIX_TARGET=1\n"
        "note: main: 29 pods are admitted where 110 are recommended\n"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("kind: Pod", "there is no Node among the objects"),
        ("{kind: Node, metadata: {name: a}}", "Node a: Object missing required field `status`"),
        (
            "{kind: Node, metadata: {name: a}, status: {capacity: {memory: 1Gi}, allocatable: {pods: 3}}}",
            "Node a: status.allocatable.memory is missing",
        ),
        (
            "{kind: Node, metadata: {name: a}, status: {capacity: {memory: much}, allocatable: {memory: 1, pods: 3}}}",
            "Node a: status.capacity.memory: 'much' is not a quantity",
        ),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(moorage: Moorage, text: str, complaint: str) -> None:
    answer = moorage("nodes", "-f", "-", stdin=text)
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
