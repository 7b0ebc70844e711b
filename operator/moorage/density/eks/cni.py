"""The settings of the Amazon VPC CNI as its DaemonSet kube-system/aws-node has them.

A value that is no number, or a negative one, is as if it was not set; so the CNI reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.targets import WarmTargets

_TARGETS = {
    "warm_eni": "WARM_ENI_TARGET",
    "warm_ip": "WARM_IP_TARGET",
    "minimum_ip": "MINIMUM_IP_TARGET",
    "warm_prefix": "WARM_PREFIX_TARGET",
}
_UNSET = {"warm_eni": 1, "warm_ip": 0, "minimum_ip": 0, "warm_prefix": 0}
"""What the code takes where the manifest, which sets WARM_PREFIX_TARGET, was changed."""
_LONGEST_COUNT = 18
"""Digits; what is longer is no number for the CNI either."""


@dataclass(frozen=True, slots=True)
class CniSettings:
    """How a cluster's CNI is set."""

    version: tuple[int, ...] | None
    """None where the image does not tell."""
    networking: Networking
    targets: WarmTargets

    def remarks(self) -> Iterator[str]:
        """Say what is refused, does harm or is not there yet."""
        mode = self.networking.mode
        if mode is Mode.PREFIX and self.version is not None and self.version < (1, 9):
            yield "prefixes need version 1.9 of the CNI: single addresses are used"
        if refusal := self.targets.refusal(mode):
            yield refusal
        yield from self.targets.traps(mode, custom_networking=self.networking.custom_networking)


def settings_of(image: str, environment: Mapping[str, str]) -> CniSettings:
    """Return the settings that an image and the environment of its container make."""
    version = version_of(image.rpartition(":")[2])
    targets = {name: _count(environment.get(setting), _UNSET[name]) for name, setting in _TARGETS.items()}
    networking = Networking(
        mode=Mode.PREFIX if _flag(environment, "ENABLE_PREFIX_DELEGATION") else Mode.SECONDARY,
        custom_networking=_flag(environment, "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"),
        max_eni=_count(environment.get("MAX_ENI"), 0) or None,
        trunk=_flag(environment, "ENABLE_POD_ENI"),
        ipv6=_flag(environment, "ENABLE_IPv6"),
        cni_version=version,
    )
    return CniSettings(version, networking, WarmTargets(**targets))


def version_of(text: str) -> tuple[int, ...] | None:
    """Read a version such as 1.9.0 or v1.18.1-eksbuild.3; None for what is none."""
    match = re.match(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", text)
    return tuple(int(each) for each in match.groups(default="0")) if match is not None else None


def _flag(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").lower() in ("true", "1", "t")


def _count(text: str | None, default: int) -> int:
    is_count = text is not None and text.isascii() and text.isdigit() and len(text) <= _LONGEST_COUNT
    return int(text) if text is not None and is_count else default
