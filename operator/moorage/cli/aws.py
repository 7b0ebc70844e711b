"""What EC2 says of subnets now, by boto3, which is an extra: it is imported only when it is asked for."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.cli.ec2 import Answers, take
from moorage.cli.errors import BadInput

_MOST_VALUES = 200
"""Of a filter of EC2."""


def ask(subnet: str | None, *, vpc: str | None, region: str | None, profile: str | None) -> Answers:
    """Read one subnet, or all of a VPC, and what is taken of them.

    Raises BadInput when boto3 is not there, or EC2 does not answer.
    """
    if subnet is None and vpc is None:
        raise BadInput("--live needs --subnet or --vpc: otherwise every subnet of the region would be read")
    try:
        import boto3  # noqa: PLC0415
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415
    except ImportError as error:
        raise BadInput("--live needs boto3: pip install 'moorage[aws]', or give files") from error
    try:
        return read(boto3.Session(profile_name=profile, region_name=region).client("ec2"), subnet, vpc)
    except (BotoCoreError, ClientError) as error:
        raise BadInput(f"EC2 does not answer: {error}") from error


def read(ec2: Any, subnet: str | None, vpc: str | None) -> Answers:
    """Read subnets by a client of EC2."""
    answers = Answers()
    filters = [("subnet-id", subnet), ("vpc-id", vpc)]
    for page in _pages(ec2, "describe_subnets", {name: [value] for name, value in filters if value is not None}):
        _take(answers, "describe_subnets", "Subnets", page)
    ids = [each.subnet_id for each in answers.subnets]
    for some in _some(ids):
        for page in _pages(ec2, "describe_network_interfaces", {"subnet-id": some}):
            _take(answers, "describe_network_interfaces", "NetworkInterfaces", page)
        for page in _pages(ec2, "describe_instances", {"network-interface.subnet-id": some}):
            _take(answers, "describe_instances", "Reservations", page)
    for each in ids:
        for page in _reservations(ec2, each):
            _take(answers, "get_subnet_cidr_reservations", "SubnetIpv4CidrReservations", page)
    return answers


def _pages(ec2: Any, operation: str, filters: dict[str, list[str]]) -> Iterator[Any]:
    named = [{"Name": name, "Values": values} for name, values in filters.items()]
    yield from ec2.get_paginator(operation).paginate(Filters=named)


def _reservations(ec2: Any, subnet: str) -> Iterator[Any]:
    """Return the pages of an operation for which boto3 has no paginator."""
    more: dict[str, str] = {}
    while True:
        page = ec2.get_subnet_cidr_reservations(SubnetId=subnet, **more)
        yield page
        if not page.get("NextToken"):
            return
        more = {"NextToken": page["NextToken"]}


def _some(values: list[str]) -> Iterable[list[str]]:
    return (values[at : at + _MOST_VALUES] for at in range(0, len(values), _MOST_VALUES))


def _take(answers: Answers, operation: str, key: str, page: Any) -> None:
    try:
        take(answers, operation, key, functools.partial(msgspec.convert, page))
    except msgspec.ValidationError as error:
        raise BadInput(f"{operation}: {error}") from error
