"""Faults that people reported in public, replayed: what happened, and what the functions here say of it beforehand."""

from __future__ import annotations

import itertools
from ipaddress import IPv4Network

from moorage.density.audit import NodeFacts, audit
from moorage.density.eks.capacity import NodePlan, fits
from moorage.density.eks.cni import CniSettings
from moorage.density.eks.expression import evaluate
from moorage.density.eks.instances import instance_types
from moorage.density.eks.ipamd import Ipamd, attached
from moorage.density.eks.maxpods import Convention, MaxPods, max_pods
from moorage.density.eks.networking import Family, Mode, Networking
from moorage.density.eks.reserved import kube_reserved
from moorage.density.eks.subnets import BlockState, Reservation, ReservationKind, Subnet, analyse
from moorage.density.eks.targets import WarmTargets

LARGE = instance_types()["m5.large"]
SECONDARY, PREFIX = Networking(), Networking(Mode.PREFIX)
RECOMMENDED, AMI, UNCAPPED = Convention.RECOMMENDED, Convention.AMI_DEFAULT, Convention.UNCAPPED


def node(kind: str, networking: Networking, targets: WarmTargets, *, most: int = 110) -> Ipamd:
    return Ipamd(instance_types()[kind], networking, targets, max_pods=most)


def pods_of(kind: str, networking: Networking, convention: Convention) -> MaxPods:
    return max_pods(instance_types()[kind], networking, convention)


class TestTheCni:
    """aws/amazon-vpc-cni-k8s"""

    def test_3685_a_node_on_prefixes_was_stuck_at_32_addresses(self) -> None:
        targets = WarmTargets(warm_eni=0, minimum_ip=22)
        pool = attached(LARGE, Networking(Mode.PREFIX, custom_networking=True), targets, max_pods=110, pods=35)
        assert (pool.prefixes, pool.failed_pods) == (2, 3)
        assert any("never holds more than 32 addresses" in each for each in targets.traps(Mode.PREFIX))
        mended = attached(LARGE, PREFIX, WarmTargets(warm_ip=1, minimum_ip=22), max_pods=110, pods=35)
        assert mended.failed_pods == 0

    def test_3585_zeros_filled_a_whole_interface(self) -> None:
        targets = WarmTargets(warm_ip=0, minimum_ip=0)
        assert targets.in_force(Mode.SECONDARY) == "WARM_ENI_TARGET=1"
        assert attached(LARGE, SECONDARY, targets, max_pods=29, pods=0).pod_addresses == 9

    def test_2482_without_warm_addresses_a_pod_waits(self) -> None:
        cold = node("m5.large", SECONDARY, WarmTargets(warm_eni=0), most=29)
        cold.come(10)
        assert cold.pool().failed_pods == 1
        cold.wait(5)
        assert cold.pool().failed_pods == 0

    def test_1451_interfaces_were_made_and_deleted_for_ever(self) -> None:
        targets = WarmTargets(warm_eni=0)
        idle = node("m5.large", Networking(custom_networking=True), targets, most=20)
        seen = []
        for _ in range(60):
            idle.wait(5)
            seen.append(idle.pool().enis)
        assert sum(one != other for one, other in itertools.pairwise(seen)) >= 4
        assert any("made and freed again" in each for each in targets.traps(Mode.SECONDARY, custom_networking=True))

    def test_2896_cooling_addresses_counted_and_served_nobody(self) -> None:
        churning = node("m5.4xlarge", SECONDARY, WarmTargets(warm_ip=2, minimum_ip=23))
        churning.come(21)
        churning.leave(4)
        churning.come(3)
        churning.wait(10)
        assert (churning.pool().failed_pods, churning.pool().unused) == (1, 4)

    def test_2793_more_addresses_than_a_node_may_have_pods(self) -> None:
        for pods in (0, 1, 18):
            pool = attached(instance_types()["g5.xlarge"], SECONDARY, WarmTargets(), max_pods=20, pods=pods)
            assert pool.pod_addresses in (14, 28), "no chunk is begun once max pods is reached"

    def test_1635_8_pods_hold_two_interfaces(self) -> None:
        pool = attached(instance_types()["m5.xlarge"], SECONDARY, WarmTargets(), max_pods=58, pods=8)
        assert (pool.enis, pool.pod_addresses) == (2, 28)

    def test_2749_no_prefix_with_many_free_addresses(self) -> None:
        cidr = IPv4Network("10.0.0.0/22")
        found = analyse(Subnet(cidr, {cidr.network_address + 16 * at + 5: "" for at in range(1, 63)}))
        assert (found.free_addresses, found.free_prefixes, found.band) == (957, 0, "CRITICAL")
        assert fits(found, NodePlan(LARGE, PREFIX, WarmTargets(), 110, 1)).bound_by == "prefixes"

    def test_2313_six_prefixes_cost_nine_blocks(self) -> None:
        cidr = IPv4Network("10.0.0.0/24")
        addresses = {cidr.network_address + at: "" for at in (115, 131, 147)}
        prefixes = tuple(cidr.subnets(new_prefix=28))[1:7]
        found = analyse(Subnet(cidr, addresses, prefixes))
        assert 14 - found.count(BlockState.FREE) == 9

    def test_331_custom_networking_admitted_pods_for_an_interface_that_carries_none(self) -> None:
        assert pods_of("m5.large", Networking(custom_networking=True), AMI).pods == 20


class TestTheImages:
    """awslabs/amazon-eks-ami"""

    def test_2201_al2023_knows_of_no_custom_networking_but_of_an_expression(self) -> None:
        own = pods_of("m5.large", SECONDARY, AMI).pods
        expression = "((default_enis - 1) * (ips_per_eni - 1)) + 2"
        assert evaluate(expression, default_enis=3, ips_per_eni=10, max_pods=own or 0) == 20
        remarks = pods_of("m5.large", Networking(custom_networking=True), AMI).remarks
        assert any("admits 29" in each for each in remarks)

    def test_1698_memory_was_kept_for_29_pods_while_110_ran(self) -> None:
        assert any("keeps 574Mi, for 29 pods" in each for each in pods_of("m5.large", PREFIX, RECOMMENDED).remarks)
        assert kube_reserved(2, 110).memory_mib == 1465

    def test_2580_an_expression_without_bound_starved_the_node(self) -> None:
        found = pods_of("m5.large", PREFIX, UNCAPPED)
        assert any("5029Mi of 8192Mi would be kept from pods" in each for each in found.remarks)

    def test_1392_sums_over_network_cards(self) -> None:
        counts = {kind: pods_of(kind, SECONDARY, AMI).pods for kind in ("p5.48xlarge", "dl1.24xlarge", "p4d.24xlarge")}
        assert counts == {"p5.48xlarge": 100, "dl1.24xlarge": 737, "p4d.24xlarge": 737}


class TestKarpenter:
    """aws/karpenter-provider-aws"""

    def test_8210_prefixes_were_not_known_to_the_scheduler(self) -> None:
        assert pods_of("r8gd.medium", PREFIX, RECOMMENDED).pods == 98
        assert pods_of("r8gd.medium", SECONDARY, AMI).pods == 8

    def test_2273_an_interface_for_something_else(self) -> None:
        assert pods_of("t3.large", Networking(reserved_enis=1), AMI).pods == 24

    def test_8205_the_images_keep_memory_for_the_interfaces_that_are_reserved_too(self) -> None:
        found = {
            family: max_pods(instance_types()["t3.large"], Networking(reserved_enis=1, family=family), AMI).reserved
            for family in (Family.AL2023, Family.BOTTLEROCKET)
        }
        assert [each.memory_mib for each in found.values() if each is not None] == [640, 519]


def test_containers_roadmap_2071_17_pods_then_10_keep_two_prefixes() -> None:
    churned = node("m5.large", PREFIX, WarmTargets(warm_ip=1))
    churned.come(17)
    churned.settle()
    churned.leave(7)
    churned.wait(600)
    assert (churned.pool().prefixes, churned.pool().unused) == (2, 22)
    assert attached(LARGE, PREFIX, WarmTargets(warm_ip=1), max_pods=110, pods=10).prefixes == 1


def test_terraform_aws_eks_2297_every_type_of_a_group_had_the_number_of_the_smallest() -> None:
    labels = {"eks.amazonaws.com/nodegroup": "mixed"}
    kinds = ("m5.large", "t3.small", "m5.4xlarge")
    facts = [NodeFacts(kind, {**labels, "node.kubernetes.io/instance-type": kind}, 11, 476) for kind in kinds]
    (group,) = audit({"mixed": facts}, CniSettings((1, 20, 0), SECONDARY, WarmTargets()))
    assert any("gives all of them the smallest number, 11" in each for each in group.remarks)


def test_sample_apex_skills_223_a_low_count_was_taken_for_exhaustion() -> None:
    cidr = IPv4Network("10.0.0.0/24")
    found = analyse(Subnet(cidr, reservations=(Reservation(IPv4Network("10.0.0.128/26"), ReservationKind.PREFIX),)))
    assert (found.single_addresses, found.free_addresses, found.reserved_prefixes) == (251 - 64, 251, 4)
