"""`moorage subnet --live` asks EC2 page by page; a scripted client stands for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.cli.conftest import Moorage
from tests.unit.cli.test_subnet import NODE, SUBNET_A

from moorage.cli.aws import read
from moorage.cli.errors import BadInput


class Ec2:
    """Answers operations with pages, and remembers what it was asked."""

    def __init__(self, **pages: list[dict[str, Any]]) -> None:
        self._pages = pages
        self.asked: list[tuple[str, Any]] = []

    def get_paginator(self, operation: str) -> Any:
        ec2 = self

        class Paginator:
            def paginate(self, **arguments: Any) -> Iterator[dict[str, Any]]:
                ec2.asked.append((operation, arguments))
                yield from ec2._pages[operation]

        return Paginator()

    def get_subnet_cidr_reservations(self, **arguments: Any) -> dict[str, Any]:
        self.asked.append(("get_subnet_cidr_reservations", arguments))
        pages = self._pages["get_subnet_cidr_reservations"]
        return pages[int(arguments.get("NextToken", 0))]


RESERVED = {"SubnetId": "subnet-a", "Cidr": "10.0.0.128/26", "ReservationType": "prefix"}
OTHER = {**RESERVED, "Cidr": "10.0.0.240/28", "ReservationType": "explicit"}
INSTANCE = {"InstanceId": "i-0123", "InstanceType": "m5.large", "LaunchTime": datetime(2026, 1, 1, tzinfo=UTC)}


def ec2() -> Ec2:
    second = {**NODE, "NetworkInterfaceId": "eni-2", "PrivateIpAddresses": [], "Ipv4Prefixes": []}
    return Ec2(
        describe_subnets=[{"Subnets": [SUBNET_A]}],
        describe_network_interfaces=[{"NetworkInterfaces": [NODE]}, {"NetworkInterfaces": [second]}],
        describe_instances=[{"Reservations": [{"Instances": [INSTANCE]}]}],
        get_subnet_cidr_reservations=[
            {"SubnetIpv4CidrReservations": [RESERVED], "NextToken": "1"},
            {"SubnetIpv4CidrReservations": [OTHER]},
        ],
    )


def test_all_pages_of_all_answers_are_put_together() -> None:
    answers = read(ec2(), "subnet-a", None)
    (found,) = answers.found()
    assert (found.id, found.zone, len(found.subnet.used), len(found.subnet.prefixes)) == (
        "subnet-a",
        "eu-west-1a",
        1,
        7,
    )
    assert [str(each.cidr) for each in found.subnet.reservations] == ["10.0.0.128/26", "10.0.0.240/28"]
    assert (answers.complete, answers.usual_type(), set(answers.interfaces)) == (True, "m5.large", {"eni-1", "eni-2"})


def test_only_what_was_named_is_asked_for() -> None:
    asked = ec2()
    read(asked, None, "vpc-1")
    assert asked.asked[0] == ("describe_subnets", {"Filters": [{"Name": "vpc-id", "Values": ["vpc-1"]}]})
    assert asked.asked[1][1] == {"Filters": [{"Name": "subnet-id", "Values": ["subnet-a"]}]}
    assert asked.asked[-1][1] == {"SubnetId": "subnet-a", "NextToken": "1"}


def test_what_is_missing_in_an_answer_is_named() -> None:
    broken = Ec2(describe_subnets=[{"Subnets": [{"CidrBlock": "10.0.0.0/24"}]}])
    with pytest.raises(BadInput, match="describe_subnets: Object missing required field `SubnetId`"):
        read(broken, "subnet-a", None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--live", "--live needs --subnet or --vpc"),
        ("--live --vpc vpc-1", "--live needs boto3: pip install 'moorage[aws]', or give files"),
        ("--vpc vpc-1", "give either FILES, or --live"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(
    moorage: Moorage, monkeypatch: pytest.MonkeyPatch, arguments: str, complaint: str
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)  # as if it was not installed
    answer = moorage("subnet", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
