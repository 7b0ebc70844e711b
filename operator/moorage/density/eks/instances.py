"""What Amazon's instance types can take: network interfaces (ENIs), IPv4 addresses on each, vCPUs, memory.

The table beside this file holds 1,420 types, made on 2026-12-01 from
* aws/amazon-vpc-cni-k8s v1.23.2, `pkg/vpc/vpc_ip_resource_limit.go`: the limits that the CNI itself goes by;
* aws/karpenter-provider-aws v1.15.2, `zz_generated.vpclimits.go`: 29 types more, and branch interfaces;
* the page of instance types in aws/karpenter-provider-aws v1.14.1: vCPUs and memory, which 57 types lack (flex
  variants, mac, retired ones).

`python -m moorage.density.eks` writes it anew. It is a constant that lies in a file instead of a literal: it is read
once, when the first type is asked for, and never changes, so what is computed from it stays a pure function.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The limits of one type; those of its default network card, which is the only one that plain pods use."""

    name: str
    vcpus: int | None
    """None where no source tells."""
    memory_mib: int | None
    enis: int
    """Network interfaces of the default network card."""
    addresses_per_eni: int
    """IPv4 addresses of one of them, its own primary address included."""
    cards: int = 1
    enis_of_all_cards: int | None = None
    """What EC2 calls MaximumNetworkInterfaces: the sum over all network cards, of no use here; None for `enis`."""
    nitro: bool = True
    bare_metal: bool = False
    branch_enis: int | None = None
    """Interfaces for pods with security groups of their own; 0 without a trunk interface, None where not known."""
    enis_elsewhere: int | None = None
    """What Karpenter and the AMIs hold `enis` for, where that is something else: their nodes promise more."""

    @property
    def slots_per_eni(self) -> int:
        """Places for a pod address or a /28 prefix on one interface: all but the primary address."""
        return self.addresses_per_eni - 1

    @property
    def takes_prefixes(self) -> bool:
        """Whether it can be given /28 prefixes (IsPrefixDelegationSupported of the CNI)."""
        return self.nitro or self.bare_metal


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return all types of the table by name."""
    text = (resources.files(__package__) / "instances.csv").read_text(encoding="utf-8")
    return {row["name"]: _read(row) for row in csv.DictReader(text.splitlines())}


def similar(name: str) -> list[str]:
    """Return at most three known names that somebody may have meant."""
    return difflib.get_close_matches(name, instance_types(), n=3)


def _read(row: Mapping[str, str]) -> InstanceType:
    return InstanceType(
        name=row["name"],
        vcpus=_maybe(row["vcpus"]),
        memory_mib=_maybe(row["memory_mib"]),
        enis=int(row["enis"]),
        addresses_per_eni=int(row["addresses_per_eni"]),
        cards=int(row["cards"]),
        enis_of_all_cards=int(row["enis_of_all_cards"]),
        nitro=row["nitro"] == "1",
        bare_metal=row["bare_metal"] == "1",
        branch_enis=_maybe(row["branch_enis"]),
        enis_elsewhere=_maybe(row["enis_elsewhere"]),
    )


def _maybe(text: str) -> int | None:
    return int(text) if text else None
