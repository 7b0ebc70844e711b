"""The table of instance types is made from three texts; a small copy of each shows what is taken from which."""

from __future__ import annotations

from importlib import resources

from moorage.density.eks.__main__ import rows, text_of
from moorage.density.eks.instances import InstanceType, instance_types


def cni(name: str, cards: str, *, per_eni: int = 50, hypervisor: str = "nitro") -> str:
    counts = "".join(
        f"\t\t\t{{\n\t\t\t\tMaximumNetworkInterfaces: {enis},\n\t\t\t\tNetworkCardIndex:         {at},\n\t\t\t}},\n"
        for at, enis in enumerate(cards.split())
    )
    return (
        f'\t"{name}": {{\n\t\tENILimit:                {cards[0]},\n'
        f"\t\tIPv4Limit:               {per_eni},\n"
        f"\t\tDefaultNetworkCardIndex: 0,\n\t\tNetworkCards: []NetworkCard{{\n{counts}\t\t}},\n"
        f'\t\tHypervisorType: "{hypervisor}",\n\t\tIsBareMetal:    {str(hypervisor == "unknown").lower()},\n\t}},\n'
    )


def karpenter(name: str, cards: str, *, branches: int = 0, hypervisor: str = "nitro") -> str:
    return (
        cni(name, cards, hypervisor=hypervisor)
        .replace("IPv4Limit:", "IPv4PerInterface:")
        .replace(
            "\t\tDefault",
            f"\t\tIsTrunkingCompatible: {str(branches > 0).lower()},\n\t\tBranchInterface: {branches},\n\t\tDefault",
        )
    )


DOCS = """## m5 Family
### `m5.large`
#### Labels
 |karpenter.k8s.aws/instance-cpu|2|
 |karpenter.k8s.aws/instance-memory|8192|
### `m5.xlarge`
#### Labels
 |karpenter.k8s.aws/instance-cpu|4|
"""


def test_limits_come_from_the_cni_and_sizes_from_the_documentation() -> None:
    found = rows(cni("m5.large", "3", per_eni=10), karpenter("m5.large", "3", branches=9), DOCS)
    assert found == [
        InstanceType("m5.large", 2, 8192, 3, 10, cards=1, enis_of_all_cards=3, branch_enis=9),
    ]


def test_only_the_default_card_counts_and_a_dispute_is_kept() -> None:
    (found,) = rows(cni("i7ie.48xlarge", "8 7"), karpenter("i7ie.48xlarge", "15", branches=107), "")
    assert (found.enis, found.cards, found.enis_of_all_cards, found.enis_elsewhere) == (8, 2, 15, 15)
    assert (found.vcpus, found.memory_mib) == (None, None)


def test_a_type_of_karpenter_alone_is_taken_and_branches_are_unknown_without_it() -> None:
    known, new = rows(cni("a.metal", "4", hypervisor="unknown"), karpenter("b.large", "3"), "")
    assert (known.branch_enis, known.bare_metal, known.nitro, known.takes_prefixes) == (None, True, False, True)
    assert (new.name, new.enis, new.branch_enis) == ("b.large", 3, 0)


def test_the_table_that_is_kept_is_as_the_script_writes_it() -> None:
    kept = (resources.files("moorage.density.eks") / "instances.csv").read_text(encoding="utf-8")
    assert text_of(list(instance_types().values())) == kept
