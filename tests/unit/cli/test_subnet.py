"""`moorage subnet` reads the answers of EC2, says what is left and for whom, and which field is missing when one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Answer, Moorage


def eni(name: str, subnet: str, *addresses: str, prefixes: tuple[str, ...] = (), on: str = "") -> dict[str, Any]:
    """Return an interface as describe-network-interfaces prints it."""
    return {
        "NetworkInterfaceId": name,
        "SubnetId": subnet,
        "PrivateIpAddresses": [{"Primary": not at, "PrivateIpAddress": each} for at, each in enumerate(addresses)],
        **({"Ipv4Prefixes": [{"Ipv4Prefix": each} for each in prefixes]} if prefixes else {}),
        **({"Attachment": {"InstanceId": on, "DeviceIndex": 0}} if on else {}),
    }


SUBNET_A = {
    "SubnetId": "subnet-a",
    "CidrBlock": "10.0.0.0/24",
    "AvailabilityZone": "eu-west-1a",
    "AvailableIpAddressCount": 138,
}
NODE = eni("eni-1", "subnet-a", "10.0.0.200", prefixes=tuple(f"10.0.0.{16 * at}/28" for at in range(1, 8)), on="i-0123")
INSTANCE = {"InstanceId": "i-0123", "InstanceType": "m5.large", "NetworkInterfaces": [NODE]}


class Files:
    """Writes answers into files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, **answers: Any) -> list[str]:
        names = []
        for key, value in answers.items():
            name = self._folder / f"{key}.json"
            name.write_text(json.dumps({key: value}))
            names.append(str(name))
        return names


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def asked(moorage: Moorage, *arguments: str) -> Answer:
    return moorage("subnet", *arguments, "-o", "json")


def test_the_keys_that_scripts_rely_on(moorage: Moorage) -> None:
    answer = asked(moorage, "--cidr", "10.0.0.0/24", "--used", "10.0.0.21, 10.0.0.37", "--prefixes", "10.0.0.64/28")
    assert answer.code == 0
    assert {
        "cidr": "10.0.0.0/24",
        "freeAddresses": 251 - 2 - 16,
        "blocks": {"total": 16, "free": 11, "fragmented": 2, "full": 0, "prefixAllocated": 1, "reserved": 2},
        "freePrefixes": 11,
        "fragmentation": 16,
        "band": "HEALTHY",
        "fits": {"nodes": None, "pods": None},
    }.items() <= answer.json.items()


def test_answers_of_ec2_are_put_together(moorage: Moorage, files: Files) -> None:
    given = files(Subnets=[SUBNET_A], NetworkInterfaces=[NODE], Reservations=[{"Instances": [INSTANCE]}])
    found = asked(moorage, *given).json
    assert (found["subnet"], found["zone"]) == ("subnet-a", "eu-west-1a")
    assert (found["freeAddresses"], found["freePrefixes"], found["fragmentation"]) == (138, 6, 15)
    assert found["drainable"] == {"i-0123": 1}
    assert found["remarks"] == []
    # Further nodes are like those that are there: m5.large, on prefixes, 108 pods each.
    assert found["fits"] == {
        "nodes": 0,
        "pods": 96,
        "nodesAtWorst": 0,
        "boundBy": "prefixes",
        "instanceType": "m5.large",
        "mode": "prefix",
        "podsPerNode": 108,
    }


def test_further_nodes_can_be_of_another_kind(moorage: Moorage, files: Files) -> None:
    given = files(Subnets=[SUBNET_A], NetworkInterfaces=[NODE])
    arguments = ("--type", "t3.small", "--mode", "secondary", "--pods-per-node", "5", "--warm-ip-target", "1")
    fits = asked(moorage, *given, *arguments).json["fits"]
    assert (fits["nodes"], fits["boundBy"]) == (138 // 8, "addresses")
    assert fits["pods"] == 17 * 5 + 1, "two addresses are left: an interface and a pod"


def test_no_room_for_a_node_is_code_1(moorage: Moorage, files: Files) -> None:
    given = files(Subnets=[SUBNET_A], NetworkInterfaces=[NODE], Reservations=[{"Instances": [INSTANCE]}])
    assert asked(moorage, *given).code == 1


def test_of_several_subnets_that_which_is_exhausted_first_is_told(moorage: Moorage, files: Files) -> None:
    other = {"SubnetId": "subnet-b", "CidrBlock": "10.0.1.0/24"}
    dual = {"SubnetId": "subnet-c", "Ipv6Native": True}
    given = files(Subnets=[other, SUBNET_A, dual], NetworkInterfaces=[NODE])
    found = asked(moorage, *given, "--type", "m5.large").json
    assert [each["subnet"] for each in found["subnets"]] == ["subnet-b", "subnet-a"]
    assert found["order"] == ["subnet-a", "subnet-b"]
    assert [each["fits"]["nodes"] for each in found["subnets"]] == [2, 0]
    assert asked(moorage, *given, "--subnet", "subnet-b").json["freeAddresses"] == 251


class TestReservations:
    RESERVED = {"SubnetId": "subnet-a", "Cidr": "10.0.0.128/26", "ReservationType": "prefix"}

    def test_what_they_take_from_the_count_of_ec2_is_added_back(self, moorage: Moorage, files: Files) -> None:
        subnet = {**SUBNET_A, "AvailableIpAddressCount": 138 - 64}
        given = files(Subnets=[subnet], NetworkInterfaces=[NODE], SubnetIpv4CidrReservations=[self.RESERVED])
        found = asked(moorage, *given).json
        assert (found["freeAddresses"], found["singleAddresses"]) == (138, 74)
        assert found["remarks"] == ["the 74 free addresses that EC2 counts leave out 64 in reservations"]

    def test_an_explicit_one_is_for_nobody(self, moorage: Moorage) -> None:
        both = "explicit:10.0.0.128/25,10.0.0.64/26"
        found = asked(moorage, "--cidr", "10.0.0.0/24", "--reservations", both).json
        assert (found["freePrefixes"], found["singleAddresses"]) == (7, 251 - 64 - 127)

    def test_what_one_would_give(self, moorage: Moorage) -> None:
        arguments = ("--cidr", "10.0.0.0/24", "--used", "10.0.0.130", "--reserve", "10.0.0.128/25")
        assert asked(moorage, *arguments).json["withReservation"] == {
            "cidr": "10.0.0.128/25",
            "blocks": 8,
            "freePrefixes": 6,
            "usedAddresses": 1,
            "singleAddresses": 250 - 126,
        }

    def test_what_another_range_would_give(self, moorage: Moorage) -> None:
        arguments = ("--cidr", "10.0.0.0/28", "--type", "m5.large", "--mode", "prefix", "--add-cidr", "100.64.0.0/19")
        found = asked(moorage, *arguments).json
        assert found["fits"]["nodes"] == 0
        assert (found["withCidr"]["usableAddresses"], found["withCidr"]["freePrefixes"]) == (8187, 510)
        assert found["withCidr"]["fits"]["nodes"] == 72


class TestPartialFiles:
    def test_interfaces_of_instances_alone_are_not_all(self, moorage: Moorage, files: Files) -> None:
        found = asked(moorage, *files(Subnets=[SUBNET_A], Reservations=[{"Instances": [INSTANCE]}])).json
        assert found["freeAddresses"] == 138
        assert "give describe-network-interfaces too" in found["remarks"][0]

    def test_a_count_that_does_not_agree_is_told(self, moorage: Moorage, files: Files) -> None:
        subnet = {**SUBNET_A, "AvailableIpAddressCount": 100}
        found = asked(moorage, *files(Subnets=[subnet], NetworkInterfaces=[NODE])).json
        assert "EC2 counts 100 free addresses and the files make 138" in found["remarks"][0]

    @pytest.mark.parametrize(
        ("answer", "complaint"),
        [
            ({"Subnets": [{"CidrBlock": "10.0.0.0/24"}]}, "Subnets[0]: Object missing required field `SubnetId`"),
            ({"Subnets": [{"SubnetId": "subnet-a"}]}, "subnet-a: CidrBlock is missing"),
            ({"Subnets": [{"SubnetId": "a", "CidrBlock": "10.0.0.1/24"}]}, "a: '10.0.0.1/24' is no IPv4 range"),
            ({"Subnets": [{"SubnetId": "a", "CidrBlock": "10.0.0.0/30"}]}, "from /16 to /28"),
            ({"Subnets": "none"}, "Subnets: Expected `array`, got `str`"),
            (
                {"NetworkInterfaces": [{"NetworkInterfaceId": "eni-1", "SubnetId": "a"}]},
                "NetworkInterfaces[0]: Object missing required field `PrivateIpAddresses`",
            ),
            (
                {"Reservations": [{"Instances": [{"InstanceId": "i-1"}]}]},
                "Reservations[0].Instances[0]: Object missing required field `InstanceType`",
            ),
            (
                {"SubnetIpv4CidrReservations": [{"SubnetId": "a", "Cidr": "10.0.0.0/28", "ReservationType": "odd"}]},
                "SubnetIpv4CidrReservations[0].ReservationType: 'odd' is neither prefix nor explicit",
            ),
            ({"Vpcs": []}, "it needs one of Subnets (describe-subnets)"),
            ([], "Expected `object`, got `array`"),
        ],
    )
    def test_what_is_missing_or_wrong_is_named(
        self, moorage: Moorage, tmp_path: Path, answer: Any, complaint: str
    ) -> None:
        file = tmp_path / "answer.json"
        file.write_text(json.dumps(answer))
        found = moorage("subnet", str(file))
        assert (found.code, found.out) == (2, "")
        assert complaint in found.err
        assert found.err.count("\n") == 1

    def test_an_interface_outside_of_its_subnet_is_refused(self, moorage: Moorage, files: Files) -> None:
        found = moorage("subnet", *files(Subnets=[SUBNET_A], NetworkInterfaces=[eni("eni-1", "subnet-a", "10.9.0.1")]))
        assert found.code == 2
        assert "subnet-a: the address 10.9.0.1 is not in the subnet 10.0.0.0/24" in found.err


def test_standard_input_is_a_file_too(moorage: Moorage) -> None:
    answer = moorage("subnet", "-", "-o", "json", stdin=json.dumps({"Subnets": [SUBNET_A]}))
    assert answer.json["subnet"] == "subnet-a"


def test_the_table_is_for_people(moorage: Moorage) -> None:
    arguments = ("--cidr", "10.0.0.0/24", "--used", "10.0.0.21", "--prefixes", "10.0.0.64/28", "--blocks")
    answer = moorage("subnet", *arguments, "--type", "m5.large", "--mode", "prefix", "--reserve", "10.0.0.128/26")
    assert answer.out == (
        "subnet             10.0.0.0/24\n"
        "free addresses     234 of 251\n"
        "free prefixes      12\n"
        "blocks             16: 12 free, 1 fragmented, 0 full, 1 allocated as prefixes, 2 with addresses kept by AWS\n"
        "fragmentation      8% HEALTHY\n"
        "room for           1 node (m5.large with 108 pods each); 188 pods; bound by prefixes\n"
        "could be reserved  10.0.0.128/26\n"
        "\n"
        "one sign a /28: . free, x fragmented, # full, P prefix, r kept by AWS\n"
        "10.0.0.0  rx..P..........r\n"
        "\n"
        "a reservation 10.0.0.128/26 keeps 4 prefixes of 4 from being spoiled; 0 addresses in it are in use and stay "
        "until they are released\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("", "give the answer of describe-subnets, or --cidr"),
        ("--used 10.0.0.1", "go with --cidr"),
        ("--cidr 10.0.0.0", "from /16 to /28"),
        ("--cidr ten", "--cidr: 'ten' is no IPv4 range"),
        ("--cidr 10.0.0.0/24 --used 10.0.1.1", "the address 10.0.1.1 is not in the subnet"),
        ("--cidr 10.0.0.0/24 --used 10.0.0", "--used: '10.0.0' is no IPv4 address"),
        ("--cidr 10.0.0.0/24 --prefixes 10.0.0.8/28", "--prefixes: '10.0.0.8/28' is no IPv4 range"),
        ("--cidr 10.0.0.0/24 --reservations odd:10.0.0.0/28", "'odd' is neither prefix nor explicit"),
        ("--cidr 10.0.0.0/24 --reserve 10.0.1.0/28", "--reserve: 10.0.1.0/28 is in none of the subnets"),
        (
            "--cidr 10.0.0.0/24 --reservations 10.0.0.0/25 --reserve 10.0.0.0/28",
            "the reservations 10.0.0.0/25 and 10.0.0.0/28 overlap",
        ),
        ("--cidr 10.0.0.0/24 --type m5.lrage", "did you mean m5.large"),
        ("/no/such.json", "/no/such.json cannot be read"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(moorage: Moorage, arguments: str, complaint: str) -> None:
    answer = moorage("subnet", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
