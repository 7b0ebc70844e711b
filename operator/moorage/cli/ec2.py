"""Subnets and what is taken of them, from the answers of the AWS command line in files."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any, TypeVar

import msgspec

from moorage.cli.eks import answer_of
from moorage.cli.errors import BadInput
from moorage.cli.files import read_text
from moorage.density.eks.documents import (
    Attachment,
    CidrReservations,
    DescribedSubnet,
    NetworkInterface,
    NetworkInterfaces,
    Reservations,
    Subnets,
)
from moorage.density.eks.subnets import Reservation, ReservationKind, Subnet
from moorage.quoting import quoted

_Value = TypeVar("_Value")

_ANSWERS = {
    "Subnets": "describe-subnets",
    "NetworkInterfaces": "describe-network-interfaces",
    "Reservations": "describe-instances",
    "SubnetIpv4CidrReservations": "get-subnet-cidr-reservations",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A subnet, and what is known of it beside its addresses."""

    id: str
    subnet: Subnet
    zone: str = ""
    said_free: int | None = None
    """How many addresses EC2 counts as free."""


@dataclass(slots=True)
class Answers:
    """All that the files say."""

    subnets: list[DescribedSubnet] = field(default_factory=list)
    interfaces: dict[str, NetworkInterface] = field(default_factory=dict)
    complete: bool = False
    """Whether the interfaces are those of everybody, not of instances alone."""
    instance_types: dict[str, str] = field(default_factory=dict)
    reservations: list[tuple[str, Reservation]] = field(default_factory=list)

    def found(self) -> list[Found]:
        """Return the subnets with what is taken of each; those without IPv4 are left out."""
        found = []
        for each in self.subnets:
            if each.cidr_block is not None:
                subnet = self.subnet(each.subnet_id, network(each.cidr_block, each.subnet_id))
                found.append(Found(each.subnet_id, subnet, each.availability_zone, each.available_ip_address_count))
        return found

    def subnet(self, subnet_id: str | None, cidr: IPv4Network) -> Subnet:
        """Return what is taken of a subnet; without an id, of all that lies in its range."""
        used: dict[IPv4Address, str] = {}
        prefixes: set[IPv4Network] = set()
        for each in self.interfaces.values():
            if subnet_id not in (None, each.subnet_id):
                continue
            where, holder = each.network_interface_id, each.attachment.instance_id if each.attachment else ""
            singles = [address(one.private_ip_address, where) for one in each.private_ip_addresses]
            blocks = [network(one.ipv4_prefix, where) for one in each.ipv4_prefixes]
            used |= {one: holder for one in singles if subnet_id is not None or one in cidr}
            prefixes |= {one for one in blocks if subnet_id is not None or one.subnet_of(cidr)}
        reservations = [
            one
            for owner, one in self.reservations
            if owner == subnet_id or (subnet_id is None and one.cidr.subnet_of(cidr))
        ]
        return Subnet(cidr, used, tuple(sorted(prefixes)), tuple(reservations))

    def usual_type(self) -> str | None:
        """Return the instance type that most instances have."""
        return next((name for name, _ in Counter(self.instance_types.values()).most_common(1)), None)


def read_answers(files: Iterable[str]) -> Answers:
    """Read files, each with one answer of the AWS command line.

    Raises BadInput, with what is missing where.
    """
    answers = Answers()
    for file in files:
        text = read_text(file)
        keys = answer_of(file, text, dict[str, msgspec.Raw]).keys() & _ANSWERS.keys()
        if len(keys) != 1:
            expected = ", ".join(f"{key} ({command})" for key, command in _ANSWERS.items())
            raise BadInput(f"{file} is no answer of EC2 that is known: it needs one of {expected}")
        take(answers, file, keys.pop(), functools.partial(answer_of, file, text))
    return answers


def take(answers: Answers, source: str, key: str, read: Callable[[type[Any]], Any]) -> None:
    """Add what an answer of EC2 says under a key; `read` returns it as a type.

    Raises BadInput, with what is missing where.
    """
    match key:
        case "Subnets":
            for each in read(Subnets).subnets:
                if each.cidr_block is None and not each.ipv6_native:
                    raise BadInput(f"{source}: Subnets: {each.subnet_id}: CidrBlock is missing")
                answers.subnets.append(each)
        case "NetworkInterfaces":
            found = read(NetworkInterfaces).network_interfaces
            answers.interfaces |= {each.network_interface_id: each for each in found}
            answers.complete = True
        case "Reservations":
            for instance in (one for each in read(Reservations).reservations for one in each.instances):
                answers.instance_types[instance.instance_id] = instance.instance_type
                for eni in instance.network_interfaces:
                    owned = _owned(eni, instance.instance_id)
                    answers.interfaces.setdefault(eni.network_interface_id, owned)
        case _:
            answers.reservations += _reservations(source, read(CidrReservations))


def _owned(eni: NetworkInterface, instance: str) -> NetworkInterface:
    return msgspec.structs.replace(eni, attachment=Attachment(instance))


def _reservations(file: str, answer: CidrReservations) -> list[tuple[str, Reservation]]:
    found = []
    for at, each in enumerate(answer.subnet_ipv4_cidr_reservations):
        where = f"{file}: SubnetIpv4CidrReservations[{at}]"
        if each.reservation_type not in set(ReservationKind):
            raise BadInput(f"{where}.ReservationType: {quoted(each.reservation_type)} is neither prefix nor explicit")
        found.append(
            (each.subnet_id, Reservation(network(each.cidr, f"{where}.Cidr"), ReservationKind(each.reservation_type)))
        )
    return found


def network(text: str, where: str) -> IPv4Network:
    """Read a range of addresses.

    Raises BadInput.
    """
    return _read(IPv4Network, text, where, "IPv4 range; write one such as 10.0.0.0/24, aligned to its size")


def address(text: str, where: str) -> IPv4Address:
    """Read an address.

    Raises BadInput.
    """
    return _read(IPv4Address, text, where, "IPv4 address; write one such as 10.0.0.7")


def _read(make: Callable[[str], _Value], text: str, where: str, kind: str) -> _Value:
    try:
        return make(text)
    except ValueError as error:
        raise BadInput(f"{where}: {quoted(text)} is no {kind}") from error
