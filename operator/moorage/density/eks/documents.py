"""The parts of EC2's answers that are used, as the AWS command line prints them in JSON."""

from __future__ import annotations

import msgspec

from moorage.density.eks.instances import InstanceType


class _Model(msgspec.Struct, frozen=True, rename="pascal"):
    """A part of an answer; what is not named here is passed over."""


class NetworkCard(_Model, frozen=True):
    """One network card of an instance type."""

    network_card_index: int
    maximum_network_interfaces: int


class NetworkInfo(_Model, frozen=True):
    """The network of an instance type."""

    maximum_network_interfaces: int
    ipv4_addresses_per_interface: int
    default_network_card_index: int = 0
    network_cards: tuple[NetworkCard, ...] = ()


class VCpuInfo(_Model, frozen=True):
    """The vCPUs of an instance type."""

    default_v_cpus: int


class MemoryInfo(_Model, frozen=True):
    """The memory of an instance type."""

    size_in_mib: int = msgspec.field(name="SizeInMiB")


class DescribedType(_Model, frozen=True):
    """One of `InstanceTypes`."""

    instance_type: str
    network_info: NetworkInfo
    v_cpu_info: VCpuInfo | None = None
    memory_info: MemoryInfo | None = None
    hypervisor: str = ""
    bare_metal: bool = False


class InstanceTypes(_Model, frozen=True):
    """The answer of `aws ec2 describe-instance-types`."""

    instance_types: tuple[DescribedType, ...]


def instance_of(described: DescribedType, known: InstanceType | None) -> tuple[InstanceType, str]:
    """Return a type as EC2 describes it, and what to mind; `known` is what the table has, for what is not told."""
    network = described.network_info
    total = network.maximum_network_interfaces
    cards = {each.network_card_index: each.maximum_network_interfaces for each in network.network_cards}
    default = cards.get(network.default_network_card_index)
    remark = ""
    if default is None and known is not None and known.enis_of_all_cards == total:
        default = known.enis
    if default is None:
        default = total
        remark = f"MaximumNetworkInterfaces ({total}) is a sum over network cards, and NetworkCards is missing"
    elif default != total:
        remark = f"MaximumNetworkInterfaces ({total}) is the sum over all network cards; pods use the {default} of one"
    return InstanceType(
        name=described.instance_type,
        vcpus=described.v_cpu_info.default_v_cpus if described.v_cpu_info else known.vcpus if known else None,
        memory_mib=described.memory_info.size_in_mib if described.memory_info else known.memory_mib if known else None,
        enis=default,
        addresses_per_eni=network.ipv4_addresses_per_interface,
        cards=max(len(cards), 1),
        enis_of_all_cards=total,
        nitro=described.hypervisor == "nitro",
        bare_metal=described.bare_metal,
        branch_enis=known.branch_enis if known else None,
    ), remark


class DescribedSubnet(_Model, frozen=True):
    """One of `Subnets`."""

    subnet_id: str
    cidr_block: str | None = None
    """Missing of a subnet for IPv6 alone."""
    available_ip_address_count: int | None = None
    availability_zone: str = ""
    ipv6_native: bool = False


class Subnets(_Model, frozen=True):
    """The answer of `aws ec2 describe-subnets`."""

    subnets: tuple[DescribedSubnet, ...]


class PrivateAddress(_Model, frozen=True):
    """A single address of an interface."""

    private_ip_address: str


class Prefix(_Model, frozen=True):
    """A prefix of an interface."""

    ipv4_prefix: str


class Attachment(_Model, frozen=True):
    """What an interface is attached to."""

    instance_id: str = ""


class NetworkInterface(_Model, frozen=True):
    """One of `NetworkInterfaces`, and of those of an instance."""

    network_interface_id: str
    subnet_id: str
    private_ip_addresses: tuple[PrivateAddress, ...]
    ipv4_prefixes: tuple[Prefix, ...] = ()
    attachment: Attachment | None = None


class NetworkInterfaces(_Model, frozen=True):
    """The answer of `aws ec2 describe-network-interfaces`."""

    network_interfaces: tuple[NetworkInterface, ...]


class Instance(_Model, frozen=True):
    """One of the instances of a reservation of instances."""

    instance_id: str
    instance_type: str
    network_interfaces: tuple[NetworkInterface, ...] = ()


class InstanceReservation(_Model, frozen=True):
    """One of `Reservations`."""

    instances: tuple[Instance, ...]


class Reservations(_Model, frozen=True):
    """The answer of `aws ec2 describe-instances`."""

    reservations: tuple[InstanceReservation, ...]


class CidrReservation(_Model, frozen=True):
    """One of `SubnetIpv4CidrReservations`."""

    subnet_id: str
    cidr: str
    reservation_type: str


class CidrReservations(_Model, frozen=True):
    """The answer of `aws ec2 get-subnet-cidr-reservations`."""

    subnet_ipv4_cidr_reservations: tuple[CidrReservation, ...]
