"""What GKE cannot suspend is told before it fails, as far as the cluster's objects show it."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.backends.gke import Cluster, Place, compute_class_of, platform_of, standby_obstacles
from moorage.quantity import NANO
from tests.unit.backends.templates import template

NEW = Cluster("v1.36.1-gke.100")
AUTOPILOT = Cluster("v1.36.1-gke.100", autopilot=True)
CLASS = "cloud.google.com/compute-class"
TOLERATION = {"key": CLASS, "operator": "Equal", "value": "fast", "effect": "NoSchedule"}
OF_CLASS = {"nodeSelector": {CLASS: "fast"}, "tolerations": [TOLERATION]}


def obstacles(
    spec: dict[str, Any] | None = None,
    *,
    requests: dict[str, int] | None = None,
    cluster: Cluster = NEW,
    compute_class: dict[str, Any] | None = None,
) -> list[str]:
    return list(standby_obstacles(template(**(spec or {})), requests or {}, cluster, compute_class))


def fast(*priorities: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A ComputeClass that can have standby nodes, but for what is given."""
    base = {"priorities": list(priorities) or [{"machineFamily": "n4"}], "nodePoolAutoCreation": {"enabled": True}}
    return {"metadata": {"name": "fast"}, "spec": base | spec}


@pytest.mark.parametrize(
    ("version", "platform"), [("v1.36.0-gke.2253000", "GKE"), ("v1.36.3", ""), ("v1.33.1-eks-1", "")]
)
def test_it_is_known_by_its_version(version: str, platform: str) -> None:
    assert platform_of(version) == platform


@pytest.mark.parametrize(
    ("version", "autopilot", "words"),
    [
        ("v1.36.0-gke.2253000", False, ""),
        ("v1.36.0-gke.2252999", False, "is older than 1.36.0-gke.2253000, which standby needs in clusters"),
        ("v1.35.9-gke.9999999", False, "is older than 1.36.0-gke.2253000"),
        ("v1.36.0-gke.2253000", True, "is older than 1.36.0-gke.2853000, which standby needs in Autopilot clusters"),
        ("v1.37.0-gke.1", False, ""),
    ],
)
def test_versions_before_standby(version: str, autopilot: bool, words: str) -> None:
    found = obstacles({"nodeSelector": {"cloud.google.com/machine-family": "n4"}}, cluster=Cluster(version, autopilot))
    assert words in "; ".join(found)
    assert bool(found) is bool(words)


@pytest.mark.parametrize(
    ("spec", "requests", "words"),
    [
        ({}, {"nvidia.com/gpu": NANO}, "GPU"),
        ({"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}, {}, "GPU"),
        ({}, {"google.com/tpu": 4 * NANO}, "TPU"),
        ({"nodeSelector": {"cloud.google.com/gke-tpu-accelerator": "tpu-v5e"}}, {}, "TPU"),
        ({"nodeSelector": {"cloud.google.com/gke-local-nvme-ssd": "true"}}, {}, "local SSDs"),
        ({"nodeSelector": {"cloud.google.com/gke-ephemeral-storage-local-ssd": "true"}}, {}, "local SSDs"),
        ({"os": {"name": "windows"}}, {}, "Windows"),
        ({"nodeSelector": {"kubernetes.io/os": "windows"}}, {}, "Windows"),
        ({"nodeSelector": {"cloud.google.com/gke-confidential-nodes-instance-type": "SEV"}}, {}, "confidential"),
        ({"nodeSelector": {"node.kubernetes.io/instance-type": "c3-standard-192-metal"}}, {}, "bare metal"),
        ({}, {"memory": 209 * 10**9 * NANO}, "a unit requests more memory than 208G"),
        ({"nodeSelector": {CLASS: "Balanced"}}, {}, "billed by pod"),
    ],
)
def test_a_unit_that_cannot_be_suspended(spec: dict[str, Any], requests: dict[str, int], words: str) -> None:
    [found] = obstacles(spec, requests=requests)
    assert words in found


def test_a_unit_that_can() -> None:
    spec = {"nodeSelector": {"kubernetes.io/os": "linux", "cloud.google.com/machine-family": "n4"}}
    assert obstacles(spec, requests={"cpu": NANO, "memory": 208 * 10**9 * NANO}) == []
    assert obstacles(spec, cluster=AUTOPILOT) == []


def test_an_autopilot_pod_without_hardware_is_billed_by_pod() -> None:
    [found] = obstacles(cluster=AUTOPILOT)
    assert "select a machine family or a ComputeClass" in found


@pytest.mark.parametrize(
    ("gigabytes", "machines", "words"),
    [
        ((64, 512), ("n4-standard-16", "m3-ultramem-32"), ""),
        ((512, 512), ("m3-ultramem-32",) * 2, "have more memory than 208G"),
        ((64, 64), ("c3-highcpu-192-metal",) * 2, "bare metal"),
        ((64, 64), ("c3-highcpu-192-metal", "n4-standard-16"), ""),
    ],
)
def test_the_nodes_that_it_selects(gigabytes: tuple[int, ...], machines: tuple[str, ...], words: str) -> None:
    places = tuple(
        Place({"node.kubernetes.io/instance-type": machine}, size * 10**9)
        for size, machine in zip(gigabytes, machines, strict=True)
    )
    found = obstacles(cluster=Cluster(NEW.version, places=places))
    assert words in "; ".join(found)
    assert bool(found) is bool(words)


class TestComputeClasses:
    def test_the_unit_names_its_class(self) -> None:
        assert compute_class_of(template(**OF_CLASS)) == "fast"
        assert compute_class_of(template()) == ""

    def test_one_that_can_be_suspended(self) -> None:
        assert obstacles(OF_CLASS, compute_class=fast()) == []

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ({"gpu": {"type": "nvidia-l4", "count": 1}}, "GPU"),
            ({"tpu": {"type": "tpu-v5e"}}, "TPU"),
            ({"storage": {"localSSDCount": 2}}, "local SSDs"),
            ({"machineType": "c3-highcpu-192-metal"}, "bare metal"),
            ({"podFamily": "general-purpose"}, "billed by pod"),
        ],
    )
    def test_one_all_of_whose_priorities_cannot(self, rule: dict[str, Any], words: str) -> None:
        [found] = obstacles(OF_CLASS, compute_class=fast(rule, rule))
        assert found.startswith("ComputeClass fast: ")
        assert words in found
        assert obstacles(OF_CLASS, compute_class=fast(rule, {"machineFamily": "n4"})) == []

    @pytest.mark.parametrize(
        ("config", "words"),
        [
            ({"confidentialNodeType": "SEV"}, "confidential nodes cannot be suspended"),
            ({"imageType": "windows_ltsc_containerd"}, "Windows nodes cannot be suspended"),
            ({"sandbox": {"type": "gvisor"}}, "add runtimeClassName: gvisor"),
            (
                {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]},
                "does not tolerate the taint team=a:NoSchedule of ComputeClass fast",
            ),
        ],
    )
    def test_one_whose_nodes_cannot_or_do_not_take_the_unit(self, config: dict[str, Any], words: str) -> None:
        [found] = obstacles(OF_CLASS, compute_class=fast(nodePoolConfig=config))
        assert words in found

    def test_one_without_auto_creation_of_node_pools(self) -> None:
        [found] = obstacles(OF_CLASS, compute_class=fast(nodePoolAutoCreation={"enabled": False}))
        assert found == "ComputeClass fast has no nodePoolAutoCreation, which standby needs"
        in_autopilot = fast(nodePoolAutoCreation=None, autopilot={"enabled": True})
        assert obstacles(OF_CLASS, compute_class=in_autopilot) == []

    def test_a_unit_that_selects_the_class_and_does_not_tolerate_its_taint(self) -> None:
        """For a workload's pods GKE adds the toleration; for the unit of a buffer nobody does."""
        [found] = obstacles({"nodeSelector": {CLASS: "fast"}}, compute_class=fast())
        assert "cloud.google.com/compute-class=fast:NoSchedule" in found

    @pytest.mark.parametrize(
        "toleration",
        [
            {"operator": "Exists"},
            {"key": CLASS, "operator": "Exists"},
            {"key": CLASS, "value": "fast"},
        ],
    )
    def test_a_toleration_may_be_broader(self, toleration: dict[str, str]) -> None:
        assert obstacles(OF_CLASS | {"tolerations": [toleration]}, compute_class=fast()) == []

    def test_a_unit_that_selects_other_labels_than_its_nodes_have(self) -> None:
        spec = OF_CLASS | {"nodeSelector": {CLASS: "fast", "team": "b"}}
        [found] = obstacles(spec, compute_class=fast(nodePoolConfig={"nodeLabels": {"team": "a", "x": "y"}}))
        assert "the unit selects team=b, but nodes of ComputeClass fast have team=a" in found
