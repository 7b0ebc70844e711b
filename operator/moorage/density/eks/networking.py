"""How a node's pods get their addresses, and how many its interfaces can carry.

Sources: aws/amazon-vpc-cni-k8s v1.23.2 (getMaxENI, hasRoomForEni, IsPrefixDelegationSupported, assignIPv6Prefix) and
max-pods-calculator.sh of awslabs/amazon-eks-ami before 2026-03-04.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from moorage.density.eks.instances import InstanceType

PREFIX = 16
"""Addresses of a /28 prefix, which takes one slot of an interface."""

_FIRST_CNI_WITH_PREFIXES = (1, 9)


class Mode(StrEnum):
    """What fills the slots of an interface."""

    SECONDARY = "secondary"
    """One address each."""
    PREFIX = "prefix"
    """One /28 prefix each (ENABLE_PREFIX_DELEGATION)."""


class Family(StrEnum):
    """The kind of operating system image, as far as pods and reserved memory depend on it."""

    AL2023 = "al2023"
    BOTTLEROCKET = "bottlerocket"
    WINDOWS = "windows"


@dataclass(frozen=True, slots=True)
class Networking:
    """The settings of the CNI that decide how many pods get an address."""

    mode: Mode = Mode.SECONDARY
    custom_networking: bool = False
    """Pods have subnets of their own (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG): the primary interface carries none."""
    max_eni: int | None = None
    """MAX_ENI: no more interfaces than that; below 1 it does not count."""
    reserved_enis: int = 0
    """Interfaces that something else takes (RESERVED_ENIS of Karpenter)."""
    trunk: bool = False
    """Security groups for pods (ENABLE_POD_ENI): a trunk takes an interface."""
    ipv6: bool = False
    family: Family = Family.AL2023
    cni_version: tuple[int, ...] | None = None
    """None for one that is new enough for all of this."""

    def mode_on(self, instance: InstanceType) -> Mode:
        """Return the mode in force on a type: without support for prefixes it is the other, whatever is set."""
        if self.ipv6:
            return Mode.PREFIX
        old = self.cni_version is not None and self.cni_version < _FIRST_CNI_WITH_PREFIXES
        return Mode.SECONDARY if old or not instance.takes_prefixes else self.mode

    def enis(self, instance: InstanceType) -> int:
        """Return how many interfaces the CNI may attach, those that carry no pods included."""
        if self.family is Family.WINDOWS:
            return 1
        most = instance.enis
        if self.max_eni is not None and self.max_eni >= 1:
            most = min(most, self.max_eni)
        return max(most - self.reserved_enis, 0)

    def pod_enis(self, instance: InstanceType) -> int:
        """Return how many interfaces carry pods."""
        if self.family is Family.WINDOWS:
            return 1
        return max(self.enis(instance) - self.custom_networking - self.trunk, 0)

    def addresses(self, instance: InstanceType) -> int | None:
        """Return how many pods can have an address of their own; None for no bound (IPv6: a /80 for each interface)."""
        if self.ipv6:
            return None
        return self.pod_enis(instance) * instance.slots_per_eni * self.slot(instance)

    def slot(self, instance: InstanceType) -> int:
        """Return how many addresses a slot of an interface holds."""
        return PREFIX if self.mode_on(instance) is Mode.PREFIX else 1

    def why_not(self, instance: InstanceType) -> str | None:
        """Return why the CNI would not start on a type; None when it would."""
        if self.ipv6 and self.custom_networking:
            return "IPv6 goes without custom networking: the CNI refuses to start"
        if self.ipv6 and not instance.takes_prefixes:
            return f"{instance.name} takes no prefixes, which IPv6 needs: the CNI refuses to start"
        return None

    def remarks(self, instance: InstanceType) -> Iterator[str]:
        """Say where a type does other than what is asked for."""
        if self.mode is Mode.PREFIX and self.mode_on(instance) is Mode.SECONDARY:
            if instance.takes_prefixes:
                yield "prefixes need version 1.9 of the CNI: single addresses are used"
            else:
                yield f"{instance.name} is neither Nitro nor bare metal, so single addresses are used"
        if self.trunk:
            branches = "?" if instance.branch_enis is None else instance.branch_enis
            yield f"one interface is a trunk: pods with security groups of their own use its {branches} branches"
