"""Writes instances.csv anew from the public sources that instances.py names.

    python -m moorage.density.eks CNI KARPENTER [DOCS]

CNI and KARPENTER are folders with the sources of aws/amazon-vpc-cni-k8s and aws/karpenter-provider-aws, at the versions
that are wanted; DOCS is Karpenter's page of instance types when it is not in KARPENTER. The same sources give the same
file. Write their versions into instances.py then.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from dataclasses import fields
from pathlib import Path

from moorage.density.eks.instances import InstanceType

CNI_LIMITS = "pkg/vpc/vpc_ip_resource_limit.go"
KARPENTER_LIMITS = "pkg/providers/instancetype/zz_generated.vpclimits.go"
KARPENTER_DOCS = "website/content/en/preview/reference/instance-types.md"

_ENTRY = re.compile(r'^\t"([^"]+)": \{\n(.*?)^\t\},$', re.MULTILINE | re.DOTALL)
_CARD = re.compile(r"MaximumNetworkInterfaces:\s+(\d+),\s+NetworkCardIndex:\s+(\d+),")
_DOCUMENTED = re.compile(r"^### `([^`]+)`$(.*?)(?=^###? )", re.MULTILINE | re.DOTALL)


def rows(cni: str, karpenter: str, docs: str) -> list[InstanceType]:
    """Join the three texts: limits as the CNI has them, else as Karpenter does; sizes as Karpenter documents them."""
    limits, branches = dict(_ENTRY.findall(cni)), dict(_ENTRY.findall(karpenter))
    sizes = dict(_DOCUMENTED.findall(f"{docs}\n## "))
    found = []
    for name in sorted(limits.keys() | branches.keys()):
        entry, other = limits.get(name, ""), branches.get(name, "")
        cards = _cards(entry or other)
        others = _cards(other)[_default_card(other)] if other else None
        enis = cards[_default_card(entry or other)]
        found.append(
            InstanceType(
                name=name,
                vcpus=_label(sizes.get(name, ""), "cpu"),
                memory_mib=_label(sizes.get(name, ""), "memory"),
                enis=enis,
                addresses_per_eni=_number(entry or other, "IPv4Limit|IPv4PerInterface") or 0,
                cards=len(cards),
                enis_of_all_cards=sum(cards.values()),
                nitro='"nitro"' in entry + other,
                bare_metal=bool(re.search(r"IsBareMetal:\s+true", entry or other)),
                branch_enis=_branch_enis(other),
                enis_elsewhere=others if others != enis else None,
            )
        )
    return found


def text_of(instances: list[InstanceType]) -> str:
    """Return the table as it is kept: unknown values empty, yes and no as 1 and 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(InstanceType)]
    writer.writerow(names)
    for each in instances:
        values = [getattr(each, name) for name in names]
        writer.writerow([int(value) if isinstance(value, bool) else value for value in values])
    return out.getvalue()


def _cards(entry: str) -> dict[int, int]:
    return {int(index): int(enis) for enis, index in _CARD.findall(entry)}


def _default_card(entry: str) -> int:
    return _number(entry, "DefaultNetworkCardIndex") or 0


def _branch_enis(entry: str) -> int | None:
    if not entry:
        return None
    return _number(entry, "BranchInterface") if re.search(r"IsTrunkingCompatible:\s+true", entry) else 0


def _number(entry: str, name: str) -> int | None:
    match = re.search(rf"\b(?:{name}):\s+(\d+),", entry)
    return int(match[1]) if match else None


def _label(page: str, name: str) -> int | None:
    match = re.search(rf"karpenter\.k8s\.aws/instance-{name}\|(\d+)\|", page)
    return int(match[1]) if match else None


def main(cni: Path, karpenter: Path, docs: Path | None = None) -> None:
    """Write the table beside this file."""
    texts = (cni / CNI_LIMITS, karpenter / KARPENTER_LIMITS, docs or karpenter / KARPENTER_DOCS)
    found = rows(*(each.read_text(encoding="utf-8") for each in texts))
    Path(__file__).with_name("instances.csv").write_text(text_of(found), encoding="utf-8")
    print(f"{len(found)} instance types")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*(Path(each) for each in sys.argv[1:]))
