"""How many addresses the CNI keeps ready on a node beyond those in use, and which settings do not do what they seem to.

Source: aws/amazon-vpc-cni-k8s v1.23.2, `datastoreTargetState`, `isDatastorePoolTooLow` and what aws-node checks at its
start. A value of 0 is as if WARM_IP_TARGET or MINIMUM_IP_TARGET was not set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from moorage.density.eks.networking import PREFIX, Mode


@dataclass(frozen=True, slots=True)
class WarmTargets:
    """The four settings; the defaults are those of the CNI's manifest."""

    warm_eni: int = 1
    warm_ip: int = 0
    minimum_ip: int = 0
    warm_prefix: int = 1

    @property
    def by_address(self) -> bool:
        """Whether WARM_IP_TARGET and MINIMUM_IP_TARGET decide, in both modes; the others do not count then."""
        return self.warm_ip > 0 or self.minimum_ip > 0

    def in_force(self, mode: Mode) -> str:
        """Name the settings that decide."""
        if self.by_address:
            return f"WARM_IP_TARGET={self.warm_ip} MINIMUM_IP_TARGET={self.minimum_ip}"
        if mode is Mode.PREFIX:
            return f"WARM_PREFIX_TARGET={self.warm_prefix}"
        return f"WARM_ENI_TARGET={self.warm_eni}"

    def refusal(self, mode: Mode) -> str | None:
        """Return why aws-node does not start with them; None when it does."""
        if mode is Mode.PREFIX and not self.by_address and self.warm_prefix <= 0:
            return (
                "aws-node refuses to start: with prefixes one of WARM_PREFIX_TARGET, WARM_IP_TARGET and "
                "MINIMUM_IP_TARGET must be above 0"
            )
        return None

    def traps(self, mode: Mode, *, custom_networking: bool = False) -> Iterator[str]:
        """Say what is legal and does harm."""
        if self.minimum_ip > 0 and self.warm_ip <= 0:
            held = -(-self.minimum_ip // PREFIX) * PREFIX if mode is Mode.PREFIX else self.minimum_ip
            yield (
                f"MINIMUM_IP_TARGET without WARM_IP_TARGET: a node never holds more than {held} addresses, and pods "
                "beyond that wait for ever; set WARM_IP_TARGET to 1 or more"
            )
        if mode is Mode.SECONDARY and not self.by_address and self.warm_eni <= 0:
            when = "when all addresses are in use" + (" and on an idle node" if custom_networking else "")
            yield f"WARM_ENI_TARGET=0: {when} an interface is made and freed again, every minute or so"

    def unread(self, mode: Mode, *, given: frozenset[str]) -> Iterator[str]:
        """Say which settings that somebody gave, by their names here, are never read."""
        idle = {"warm_prefix"} if mode is Mode.SECONDARY else {"warm_eni"}
        if self.by_address:
            idle |= {"warm_eni", "warm_prefix"}
            why = "WARM_IP_TARGET and MINIMUM_IP_TARGET override it"
        else:
            why = f"it is not read in {mode} mode"
        for name in sorted(idle & given):
            yield f"{name.upper()}_TARGET has no effect: {why}"
        if not self.by_address and given & {"warm_ip", "minimum_ip"}:
            yield f"WARM_IP_TARGET and MINIMUM_IP_TARGET of 0 are as if not set: {self.in_force(mode)} decides"
