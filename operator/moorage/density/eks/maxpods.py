"""The pods that the kubelet of a node admits, by three conventions that people mix up.

The number counts every pod, those of the host network too; two of these, aws-node and kube-proxy, are the "+ 2" of
every formula here. The CNI itself caps nothing. Sources: nodeadm's `CalcMaxPods` and max-pods-calculator.sh (awslabs/
amazon-eks-ami), `ENILimitedPods` (aws/karpenter-provider-aws), the EKS user guide on managed node groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from moorage.density.eks.instances import InstanceType
from moorage.density.eks.networking import PREFIX, Family, Mode, Networking
from moorage.density.eks.reserved import KubeReserved, kube_reserved

HOST_NETWORK_PODS = 2
"""aws-node and kube-proxy, which take no address."""

SMALL_CAP, LARGE_CAP, MOST_SMALL_VCPUS = 110, 250, 30


class Convention(StrEnum):
    """Whose number it is."""

    AMI_DEFAULT = "ami-default"
    """The image's own: from single addresses, whatever the mode, and never capped."""
    RECOMMENDED = "recommended"
    """What a managed node group sets and the calculator says: for the mode, capped by the vCPUs."""
    UNCAPPED = "uncapped"
    """As many as get an address."""


@dataclass(frozen=True, slots=True)
class MaxPods:
    """The answer for one type."""

    instance: InstanceType
    convention: Convention
    networking: Networking
    pods: int | None
    """None where it is not known."""
    bound_by: str
    """addresses, cap, kubelet default, reserved interfaces, or unknown."""
    reserved: KubeReserved | None
    """What is kept for that count; None without a count."""
    explanation: str
    remarks: tuple[str, ...] = ()

    @property
    def addresses(self) -> int | None:
        """How many pods can have an address of their own; None for no bound."""
        return self.networking.addresses(self.instance)


def cap(vcpus: int | None) -> int | None:
    """Return the recommended most pods for so many vCPUs; None where these are not known."""
    return None if vcpus is None else LARGE_CAP if vcpus > MOST_SMALL_VCPUS else SMALL_CAP


def default_convention(mode: Mode) -> Convention:
    """Return the number that nodes of this mode usually have."""
    return Convention.RECOMMENDED if mode is Mode.PREFIX else Convention.AMI_DEFAULT


def max_pods(instance: InstanceType, networking: Networking, convention: Convention) -> MaxPods:
    """Return the max pods of a type."""
    if reason := networking.why_not(instance):
        return MaxPods(instance, convention, networking, None, "unknown", None, reason)
    pods, bound_by, explanation = _count(instance, networking, convention)
    reserved = None if pods is None else _reserved(instance, networking, pods)
    remarks = (*networking.remarks(instance), *_remarks(instance, networking, convention, pods, reserved))
    return MaxPods(instance, convention, networking, pods, bound_by, reserved, explanation, remarks)


def _count(instance: InstanceType, networking: Networking, convention: Convention) -> tuple[int | None, str, str]:
    if networking.family is Family.WINDOWS:
        return SMALL_CAP, "kubelet default", f"{SMALL_CAP}, the kubelet's default on Windows"
    if networking.reserved_enis and not networking.enis(instance):
        return 0, "reserved interfaces", "0: no interface is left beside the reserved ones"
    prefixes = networking.mode_on(instance) is Mode.PREFIX and convention is not Convention.AMI_DEFAULT
    formula = _formula(instance, networking, prefixes=prefixes)
    pods = pods_by_formula(instance, networking, prefixes=prefixes)
    if convention is not Convention.RECOMMENDED:
        return pods, "addresses", f"{formula} = {pods}"
    most = cap(instance.vcpus)
    if pods <= (most if most is not None else SMALL_CAP):
        return pods, "addresses", f"{formula} = {pods}"
    if most is None:
        return None, "unknown", f"at most {min(pods, LARGE_CAP)}: the cap goes by the vCPUs, which no source tells"
    return most, "cap", f"{most}, the cap for {instance.vcpus} vCPUs; addresses would do for {pods}"


def pods_by_formula(instance: InstanceType, networking: Networking, *, prefixes: bool) -> int:
    """Return the pods that slots make, with a prefix or with one address in each."""
    slots = networking.pod_enis(instance) * instance.slots_per_eni
    return slots * (PREFIX if prefixes else 1) + HOST_NETWORK_PODS


def _formula(instance: InstanceType, networking: Networking, *, prefixes: bool) -> str:
    times = " * 16" if prefixes else ""
    return f"{networking.pod_enis(instance)} * ({instance.addresses_per_eni} - 1){times} + {HOST_NETWORK_PODS}"


def _reserved(instance: InstanceType, networking: Networking, pods: int) -> KubeReserved:
    """Return what is kept for the pods; the images of Amazon do not know of interfaces that Karpenter reserves."""
    if networking.reserved_enis and networking.family is Family.AL2023:
        pods = instance.enis * instance.slots_per_eni + HOST_NETWORK_PODS
    return kube_reserved(instance.vcpus, pods)


def _remarks(
    instance: InstanceType,
    networking: Networking,
    convention: Convention,
    pods: int | None,
    reserved: KubeReserved | None,
) -> Iterator[str]:
    own = instance.enis * instance.slots_per_eni + HOST_NETWORK_PODS
    linux = networking.family is not Family.WINDOWS
    addresses = networking.addresses(instance)
    if not linux and addresses is not None and addresses < SMALL_CAP:
        yield f"pods beyond {addresses} get no address: a Windows node has one interface"
    if linux and instance.enis_elsewhere is not None and convention is Convention.AMI_DEFAULT:
        promised = instance.enis_elsewhere * instance.slots_per_eni + HOST_NETWORK_PODS
        theirs = instance.enis_elsewhere
        yield f"the image's own table has {theirs} interfaces: its kubelet admits {promised}; set max pods"
    if linux and convention is Convention.AMI_DEFAULT:
        if networking.mode_on(instance) is Mode.PREFIX:
            yield "the image knows of no prefixes, so most of the addresses stay unused: set max pods"
        elif pods is not None and pods < own and not networking.reserved_enis:
            yield f"the image itself subtracts nothing and admits {own}: set max pods"
    elif linux and pods is not None and pods > own and reserved is not None:
        kept = kube_reserved(instance.vcpus, own).memory_mib
        yield f"the image keeps {kept}Mi, for {own} pods, unless the count is given to nodeadm as maxPodsExpression"
    if reserved is not None and instance.memory_mib is not None and 2 * reserved.memory_mib >= instance.memory_mib:
        kept = reserved.memory_mib
        yield f"{kept}Mi of {instance.memory_mib}Mi would be kept from pods: use fewer pods or a larger type"
