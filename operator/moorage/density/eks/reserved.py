"""What the images of EKS keep from pods: CPU and memory for the kubelet, and what is allocatable then.

Sources: nodeadm's `getCPUMillicoresToReserve` and `getMemoryMebibytesToReserve` (awslabs/amazon-eks-ami), and
`kubeReservedResources` and `capacity` of aws/karpenter-provider-aws v1.15.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moorage.density.eks.instances import InstanceType

_BANDS = ((0, 1000, 600), (1000, 2000, 100), (2000, 4000, 50))
"""From and to, in millicores, and how much of that is reserved, in hundredths of a percent; a quarter percent above."""

EVICTION_MIB = 100
"""Memory that must stay free (evictionHard), which pods cannot have either."""
_VM_OVERHEAD_THOUSANDTHS = 75
"""What Karpenter takes the hypervisor to keep of the memory, until it has seen a node."""


@dataclass(frozen=True, slots=True)
class KubeReserved:
    """What the kubelet keeps for itself and the container runtime."""

    cpu_milli: int | None
    """None where the vCPUs are not known."""
    memory_mib: int

    def as_dict(self) -> dict[str, str]:
        """Return it as Kubernetes spells it, without what is not known."""
        cpu = {} if self.cpu_milli is None else {"cpu": f"{self.cpu_milli}m"}
        return {**cpu, "memory": f"{self.memory_mib}Mi"}


def kube_reserved(vcpus: int | None, pods: int) -> KubeReserved:
    """Return what is reserved on a node with so many vCPUs and with memory kept for so many pods."""
    return KubeReserved(None if vcpus is None else sum(_cpu(vcpus * 1000)), 11 * pods + 255)


def _cpu(milli: int) -> Iterator[int]:
    for start, end, share in _BANDS:
        yield max(min(milli, end) - start, 0) * share // 10000
    yield max(milli - 4000, 0) * 25 // 10000


def allocatable(instance: InstanceType, reserved: KubeReserved) -> dict[str, int] | None:
    """Return about how many millicores and MiB pods find on an empty node; None where the size is not known.

    The memory is an estimate: the hypervisor's part is taken as Karpenter does, rounded against the pods.
    """
    if instance.vcpus is None or instance.memory_mib is None or reserved.cpu_milli is None:
        return None
    overhead = -(-instance.memory_mib * _VM_OVERHEAD_THOUSANDTHS // 1000)
    return {
        "cpu_milli": instance.vcpus * 1000 - reserved.cpu_milli,
        "memory_mib": instance.memory_mib - overhead - reserved.memory_mib - EVICTION_MIB,
    }
