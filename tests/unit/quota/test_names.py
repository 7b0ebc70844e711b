"""What each name in `hard` counts, of which objects, and what to write instead of a name that counts nothing."""

import pytest

from moorage.quota.names import Counted, counted, display_order, is_binary, short_name, why_not_counted

PODS, CLAIMS, VOLUMES, SERVICES = (
    ("pods",),
    ("pods", "resourceclaims.resource.k8s.io"),
    ("persistentvolumeclaims",),
    ("services",),
)


@pytest.mark.parametrize(
    ("name", "source", "resources"),
    [
        ("pods", "pods", PODS),
        ("count/pods", "count/pods", PODS),
        ("cpu", "requests.cpu", PODS),
        ("requests.cpu", "requests.cpu", PODS),
        ("limits.cpu", "limits.cpu", PODS),
        ("memory", "requests.memory", PODS),
        ("requests.memory", "requests.memory", PODS),
        ("limits.memory", "limits.memory", PODS),
        ("ephemeral-storage", "requests.ephemeral-storage", PODS),
        ("requests.ephemeral-storage", "requests.ephemeral-storage", PODS),
        ("limits.ephemeral-storage", "limits.ephemeral-storage", PODS),
        ("hugepages-2Mi", "requests.hugepages-2Mi", PODS),
        ("requests.hugepages-1Gi", "requests.hugepages-1Gi", PODS),
        ("requests.nvidia.com/gpu", "requests.nvidia.com/gpu", CLAIMS),
        ("requests.reindeers.santa/rudolph", "requests.reindeers.santa/rudolph", CLAIMS),
        (
            "requests.deviceclass.resource.kubernetes.io/gpu.example.com",
            "requests.deviceclass.resource.kubernetes.io/gpu.example.com",
            CLAIMS,
        ),
        (
            "gpu.example.com.deviceclass.resource.k8s.io/devices",
            "gpu.example.com.deviceclass.resource.k8s.io/devices",
            ("resourceclaims.resource.k8s.io",),
        ),
        (
            "count/resourceclaims.resource.k8s.io",
            "count/resourceclaims.resource.k8s.io",
            ("resourceclaims.resource.k8s.io",),
        ),
        ("persistentvolumeclaims", "count/persistentvolumeclaims", VOLUMES),
        ("count/persistentvolumeclaims", "count/persistentvolumeclaims", VOLUMES),
        ("requests.storage", "requests.storage", VOLUMES),
        (
            "gold.storageclass.storage.k8s.io/requests.storage",
            "gold.storageclass.storage.k8s.io/requests.storage",
            VOLUMES,
        ),
        (
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
            VOLUMES,
        ),
        ("services", "count/services", SERVICES),
        ("count/services", "count/services", SERVICES),
        ("services.loadbalancers", "services.loadbalancers", SERVICES),
        ("services.nodeports", "services.nodeports", SERVICES),
        ("configmaps", "count/configmaps", ("configmaps",)),
        ("count/configmaps", "count/configmaps", ("configmaps",)),
        ("secrets", "count/secrets", ("secrets",)),
        ("count/secrets", "count/secrets", ("secrets",)),
        ("replicationcontrollers", "count/replicationcontrollers", ("replicationcontrollers",)),
        ("resourcequotas", "count/resourcequotas", ("resourcequotas",)),
        ("count/resourcequotas", "count/resourcequotas", ("resourcequotas",)),
        ("count/serviceaccounts", "count/serviceaccounts", ("serviceaccounts",)),
        ("count/deployments.apps", "count/deployments.apps", ("deployments.apps",)),
        ("count/pods.example.com", "count/pods.example.com", ("pods.example.com",)),
        ("count/widgets.example.com", "count/widgets.example.com", ("widgets.example.com",)),
    ],
)
def test_a_name_counts_under_its_source_and_of_its_resources(
    name: str, source: str, resources: tuple[str, ...]
) -> None:
    assert counted(name) == Counted(source, resources)
    assert why_not_counted(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nvidia.com/gpu", "nvidia.com/gpu is never counted; write requests.nvidia.com/gpu"),
        ("limits.nvidia.com/gpu", "limits.nvidia.com/gpu is never counted; write requests.nvidia.com/gpu"),
        (
            "count/services.loadbalancers",
            "count/services.loadbalancers would be a resource in API group loadbalancers; write services.loadbalancers",
        ),
        (
            "count/services.nodeports",
            "count/services.nodeports would be a resource in API group nodeports; write services.nodeports",
        ),
        ("count/events", "count/events is never counted by Kubernetes"),
        ("count/events.events.k8s.io", "count/events.events.k8s.io is never counted by Kubernetes"),
        ("count/bindings", "count/bindings is never counted by Kubernetes"),
        (
            "count/tokenreviews.authentication.k8s.io",
            "count/tokenreviews.authentication.k8s.io is never counted by Kubernetes",
        ),
        (
            "count/deployments",
            "count/deployments counts nothing, since deployments belong to an API group; write count/deployments.apps",
        ),
        (
            "count/ingresses",
            "count/ingresses counts nothing, since ingresses belong to an API group; "
            "write count/ingresses.networking.k8s.io",
        ),
        ("requests.kubernetes.io/thing", "requests.kubernetes.io/thing is never counted"),
        ("requests.node.kubernetes.io/thing", "requests.node.kubernetes.io/thing is never counted"),
        ("limits.hugepages-2Mi", "limits.hugepages-2Mi is never counted"),
        ("pod", "pod is never counted"),
        ("requests.gpu", "requests.gpu is never counted"),
        ("requests.", "requests. is never counted"),
        ("requests.pods", "requests.pods is never counted"),
        ("limits.pods", "limits.pods is never counted"),
        ("limits.storage", "limits.storage is never counted"),
        ("storage", "storage is never counted"),
        ("", " is never counted"),
    ],
)
def test_a_name_that_nothing_counts_is_told_with_the_right_one_where_there_is_one(name: str, why: str) -> None:
    assert counted(name) is None
    assert why_not_counted(name) == why


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        ("memory", True),
        ("requests.memory", True),
        ("limits.memory", True),
        ("limits.ephemeral-storage", True),
        ("requests.hugepages-2Mi", True),
        ("hugepages-1Gi", True),
        ("requests.storage", True),
        ("gold.storageclass.storage.k8s.io/requests.storage", True),
        ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", False),
        ("gpu.example.com.deviceclass.resource.k8s.io/devices", False),
        ("requests.cpu", False),
        ("pods", False),
        ("count/secrets", False),
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
        ("requests.storage", "storage"),
    ],
)
def test_columns_leave_out_that_it_is_a_request(name: str, shown: str) -> None:
    assert short_name(name) == shown
