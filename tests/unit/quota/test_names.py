"""What each name in `hard` counts of pods."""

import pytest

from moorage.quota.names import display_order, is_binary, pod_source, short_name


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("pods", "pods"),
        ("count/pods", "count/pods"),
        ("cpu", "requests.cpu"),
        ("requests.cpu", "requests.cpu"),
        ("limits.cpu", "limits.cpu"),
        ("memory", "requests.memory"),
        ("requests.memory", "requests.memory"),
        ("limits.memory", "limits.memory"),
        ("ephemeral-storage", "requests.ephemeral-storage"),
        ("requests.ephemeral-storage", "requests.ephemeral-storage"),
        ("limits.ephemeral-storage", "limits.ephemeral-storage"),
        ("hugepages-2Mi", "requests.hugepages-2Mi"),
        ("requests.hugepages-1Gi", "requests.hugepages-1Gi"),
        ("requests.nvidia.com/gpu", "requests.nvidia.com/gpu"),
        ("requests.reindeers.santa/rudolph", "requests.reindeers.santa/rudolph"),
    ],
)
def test_names_that_count_something_of_pods(name: str, source: str) -> None:
    assert pod_source(name) == source


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("nvidia.com/gpu", id="bare extended name: Kubernetes never tracks it"),
        pytest.param("limits.nvidia.com/gpu", id="limit of an extended resource: nor this"),
        pytest.param("limits.hugepages-2Mi", id="limit of hugepages"),
        pytest.param("requests.kubernetes.io/thing", id="Kubernetes' own domain"),
        pytest.param("requests.node.kubernetes.io/thing", id="a part of it"),
        pytest.param("requests.storage", id="volumes"),
        pytest.param("gold.storageclass.storage.k8s.io/requests.storage", id="volumes of a class"),
        pytest.param("count/deployments.apps", id="other objects"),
        pytest.param("count/pods.example.com", id="pods of another group"),
        pytest.param("services", id="services"),
        pytest.param("services.nodeports", id="node ports"),
        pytest.param("pod", id="a typing error"),
        pytest.param("requests.gpu", id="no domain"),
        pytest.param("requests.", id="nothing requested"),
        pytest.param("requests.pods", id="pods are not requested"),
        pytest.param("limits.pods", id="nor limited"),
        pytest.param("", id="nothing"),
    ],
)
def test_names_that_count_nothing_of_pods(name: str) -> None:
    assert pod_source(name) is None


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        ("memory", True),
        ("requests.memory", True),
        ("limits.memory", True),
        ("limits.ephemeral-storage", True),
        ("requests.hugepages-2Mi", True),
        ("hugepages-1Gi", True),
        ("requests.cpu", False),
        ("pods", False),
        ("requests.nvidia.com/gpu", False),
        ("requests.example.com/memory", False),
    ],
)
def test_bytes_are_spelled_in_powers_of_1024(name: str, binary: bool) -> None:
    assert is_binary(name) is binary


def test_people_see_cpu_memory_and_pods_first_then_names_in_order() -> None:
    names = [
        "requests.z.com/x",
        "pods",
        "limits.cpu",
        "memory",
        "requests.cpu",
        "count/pods",
        "requests.a.com/x",
        "cpu",
    ]
    assert sorted(names, key=display_order) == [
        "requests.cpu",
        "cpu",
        "limits.cpu",
        "memory",
        "pods",
        "count/pods",
        "requests.a.com/x",
        "requests.z.com/x",
    ]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("requests.cpu", "cpu"),
        ("limits.cpu", "limits.cpu"),
        ("pods", "pods"),
        ("requests.nvidia.com/gpu", "nvidia.com/gpu"),
    ],
)
def test_columns_leave_out_that_it_is_a_request(name: str, shown: str) -> None:
    assert short_name(name) == shown
