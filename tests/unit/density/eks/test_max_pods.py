"""What binds max pods is said, and what people get wrong is remarked upon."""

from __future__ import annotations

import pytest

from moorage.density.eks.expression import ExpressionError, evaluate
from moorage.density.eks.instances import InstanceType, instance_types, similar
from moorage.density.eks.maxpods import Convention, MaxPods, cap, max_pods
from moorage.density.eks.networking import Family, Mode, Networking
from moorage.density.eks.reserved import allocatable, kube_reserved

RECOMMENDED, AMI, UNCAPPED = Convention.RECOMMENDED, Convention.AMI_DEFAULT, Convention.UNCAPPED


def answer(name: str, convention: Convention = RECOMMENDED, mode: str = "prefix", **settings: object) -> MaxPods:
    return max_pods(instance_types()[name], Networking(Mode(mode), **settings), convention)  # type: ignore[arg-type]


def test_addresses_and_max_pods_are_two_numbers() -> None:
    found = answer("m5.large", UNCAPPED)
    assert (found.pods, found.addresses) == (434, 432)


@pytest.mark.parametrize(
    ("found", "bound_by"),
    [
        (answer("m5.large"), "cap"),
        (answer("m5.large", mode="secondary"), "addresses"),
        (answer("m5.4xlarge", AMI, "secondary"), "addresses"),
        (answer("r8gd.medium"), "addresses"),
        (answer("u-6tb1.metal"), "unknown"),
        (answer("t3.micro", reserved_enis=2), "reserved interfaces"),
        (answer("m5.large", family=Family.WINDOWS), "kubelet default"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.instance.name} {value.networking.mode}",
)
def test_what_binds_is_named(found: MaxPods, bound_by: str) -> None:
    assert found.bound_by == bound_by


def test_the_cap_is_for_more_than_30_vcpus() -> None:
    assert [cap(each) for each in (2, 30, 31, 192, None)] == [110, 110, 250, 250, None]


def test_without_vcpus_a_number_below_both_caps_is_known_all_the_same() -> None:
    unknown = InstanceType("x.small", None, None, 2, 4)
    assert max_pods(unknown, Networking(Mode.PREFIX), RECOMMENDED).pods == 98


def test_no_interface_left_is_no_pods_as_in_karpenter() -> None:
    assert answer("t3.micro", AMI, "secondary", reserved_enis=2).pods == 0


def test_of_one_interface_custom_networking_leaves_pods_of_the_host_network_alone() -> None:
    assert answer("m5.large", AMI, "secondary", custom_networking=True, max_eni=1).pods == 2


def test_a_max_eni_of_0_does_not_count() -> None:
    assert answer("m5.large", AMI, "secondary", max_eni=0).pods == 29


def test_interfaces_of_other_network_cards_do_not_count() -> None:
    found = answer("p5.48xlarge", UNCAPPED)
    assert (found.networking.enis(found.instance), found.instance.enis_of_all_cards, found.pods) == (2, 64, 1570)


class TestIpv6:
    def test_addresses_never_bind(self) -> None:
        found = answer("m5.large", ipv6=True)
        assert (found.pods, found.addresses) == (110, None)

    @pytest.mark.parametrize(
        ("name", "custom", "reason"),
        [("c3.large", False, "takes no prefixes"), ("m5.large", True, "custom networking")],
    )
    def test_what_the_cni_refuses_has_no_answer(self, name: str, custom: bool, reason: str) -> None:
        found = answer(name, ipv6=True, custom_networking=custom)
        assert found.pods is None
        assert reason in found.explanation


class TestRemarks:
    @pytest.mark.parametrize(
        ("found", "words"),
        [
            (answer("c3.large"), "neither Nitro nor bare metal"),
            (answer("m5.large", cni_version=(1, 8, 9)), "need version 1.9"),
            (answer("m5.large"), "keeps 574Mi, for 29 pods"),
            (answer("m5.large", UNCAPPED), "5029Mi of 8192Mi"),
            (answer("m5.large", AMI), "knows of no prefixes"),
            (answer("m5.large", AMI, "secondary", custom_networking=True), "admits 29"),
            (answer("i7ie.48xlarge", AMI, "secondary"), "15 interfaces: its kubelet admits 737"),
            (answer("m5.large", trunk=True), "its 9 branches"),
            (answer("m5.large", mode="secondary", family=Family.WINDOWS), "beyond 9 get no address"),
        ],
        ids=[
            "xen",
            "old CNI",
            "memory",
            "starved",
            "unaware image",
            "custom networking",
            "disputed",
            "trunk",
            "windows",
        ],
    )
    def test_what_is_easily_missed_is_said(self, found: MaxPods, words: str) -> None:
        assert any(words in each for each in found.remarks), found.remarks

    def test_where_nothing_is_to_be_said_nothing_is_said(self) -> None:
        assert answer("m5.large", AMI, "secondary").remarks == ()


class TestMemoryKeptForPods:
    @pytest.mark.parametrize(
        ("family", "mebibytes"), [(Family.AL2023, 640), (Family.BOTTLEROCKET, 519), (Family.WINDOWS, 1465)]
    )
    def test_images_of_amazon_do_not_know_of_reserved_interfaces(self, family: Family, mebibytes: int) -> None:
        found = answer("t3.large", AMI, "secondary", reserved_enis=1, family=family).reserved
        assert found is not None
        assert found.memory_mib == mebibytes

    @pytest.mark.parametrize(
        ("vcpus", "milli"), [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (32, 150), (64, 230), (96, 310), (192, 550)]
    )
    def test_cpu_is_kept_by_bands(self, vcpus: int, milli: int) -> None:
        assert kube_reserved(vcpus, 29).cpu_milli == milli

    def test_what_is_left_for_pods(self) -> None:
        instance = instance_types()["m5.large"]
        assert allocatable(instance, kube_reserved(2, 29)) == {"cpu_milli": 1930, "memory_mib": 8192 - 615 - 574 - 100}
        assert allocatable(instance_types()["mac1.metal"], kube_reserved(None, 29)) is None


class TestExpressions:
    @pytest.mark.parametrize(
        ("expression", "pods"),
        [
            ("max_pods", 29),
            ("max_pods > 20 ? 20 : max_pods", 20),
            ("(default_enis * (ips_per_eni * 16 - 1)) + 2 < 30 ? (default_enis * (ips_per_eni * 16 - 1)) + 2 : 30", 30),
            ("max_pods > 20 && !(default_enis == 4) ? 7 / 2 : 1", 3),
            ("-7 / 2 + 10 - -7 % 4", 10),
            ("2 + 3 * 4 - 1", 13),
            ("10 - 2 - 3", 5),
            ("(default_enis * (ips_per_eni - 1) * 16) + 2", 434),
        ],
    )
    def test_are_read_as_cel_reads_them(self, expression: str, pods: int) -> None:
        assert evaluate(expression, default_enis=3, ips_per_eni=10, max_pods=29) == pods

    @pytest.mark.parametrize(
        ("expression", "complaint"),
        [
            ("max_pods - 29", "is not from 1"),
            ("1 > 0", "true or false"),
            ("nodes + 1", "'nodes' is no number and none of default_enis"),
            ("max_pods +", "ends too early"),
            ("(max_pods", "')' is missing"),
            ("max_pods max_pods", "'max_pods' is not expected there"),
            ("max_pods / 0", "divides by zero"),
            ("3.5", "cannot be read"),
            ("max_pods ? 1 : 2", "must be true or false"),
            ("true", "'true' is no number"),
            ("2147483648", "is not from 1"),
            ("", "ends too early"),
            ("(1 > 0) + 1", "no numbers to compute with"),
            ("1 && 2", "needs true or false on both sides"),
            ("!3", "needs true or false"),
            ("1 > 0 ? 3", "':' is missing"),
        ],
    )
    def test_without_a_usable_result_say_why(self, expression: str, complaint: str) -> None:
        with pytest.raises(ExpressionError) as refused:
            evaluate(expression, default_enis=3, ips_per_eni=10, max_pods=29)
        assert complaint in str(refused.value)


def test_a_name_that_is_nearly_right_is_recognized() -> None:
    assert "m5.large" in similar("m5.lrage")
