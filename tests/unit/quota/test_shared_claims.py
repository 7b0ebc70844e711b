"""A claim that the scheduler made for a pod's extended resources and the pod itself never count the same devices twice.

Of the claims of a live pod the one that its status names, or else the first (by age, then name), counts only what goes
beyond the pod's own request.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from moorage.quota.ledger import Ledger, Terms
from moorage.quota.usage import ObjectUse
from tests.builders import (
    container,
    device_claim_use,
    devices,
    object_use,
    owned_by,
    pod_spec,
    pod_status,
    pod_use,
    volume_claim_use,
)

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
GPU, NIC = "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/nic.example.com"
IMPLICIT_GPU = "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"
CLAIMS = "count/resourceclaims.resource.k8s.io"
NAMES = frozenset({GPU, NIC, IMPLICIT_GPU, DEVICES, CLAIMS})


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", Terms(NAMES))
    return ledger


def used(ledger: Ledger) -> dict[str, int]:
    counted = ledger.usage("team-a", "q").used
    assert ledger.recount()["team-a", "q"].used == counted
    return {name: amount // 10**9 for name, amount in counted.items() if amount}


def pod(
    *, gpus: int = 2, nics: int = 0, names_claim: str | None = None, phase: str = "Running", **keywords: Any
) -> ObjectUse:
    """Return the record of pod `p`, which asks for so many devices by their extended resources."""
    requests = {
        "example.com/gpu": gpus,
        "deviceclass.resource.kubernetes.io/nic.example.com": nics,
    }
    spec = pod_spec(containers=[container(requests={name: count for name, count in requests.items() if count})])
    return pod_use("p", spec=spec, status=pod_status(phase=phase, device_claim=names_claim), **keywords)


def claim(uid: str = "c1", gpus: int = 3, *, after: int = 0, made_for_pod: str | None = "p", **more: Any) -> ObjectUse:
    """Return the record of a claim for so many GPUs, made for pod `p` so many seconds after noon."""
    created = NOON + timedelta(seconds=after)
    return device_claim_use(uid, devices(count=gpus), made_for_pod=made_for_pod, created=created, **more)


ALONE = {GPU: 3, IMPLICIT_GPU: 3, DEVICES: 3, CLAIMS: 1}
BESIDE_ITS_POD = {GPU: 2 + (3 - 2), IMPLICIT_GPU: 3, DEVICES: 3, CLAIMS: 1}


class TestAmounts:
    def test_a_claim_counts_what_goes_beyond_its_pod(self, ledger: Ledger) -> None:
        ledger.put(pod())
        ledger.put(claim())
        assert used(ledger) == BESIDE_ITS_POD

    @pytest.mark.parametrize(("asked", "total"), [(0, 3), (1, 3), (3, 3), (5, 5)])
    def test_together_they_count_the_larger_of_the_two(self, ledger: Ledger, asked: int, total: int) -> None:
        ledger.put(pod(gpus=asked))
        ledger.put(claim(gpus=3))
        assert used(ledger)[GPU] == total

    def test_names_of_classes_without_an_extended_resource_are_shared_as_well(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=0, nics=1))
        ledger.put(device_claim_use("c1", devices("nic.example.com", 4), made_for_pod="p"))
        assert used(ledger)[NIC] == 4

    def test_so_are_those_of_a_class_that_is_gone(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=0, nics=1))
        ledger.put(device_claim_use("c1", devices("nic.example.com", 4), made_for_pod="p", classes={}))
        assert used(ledger)[NIC] == 4

    def test_devices_of_the_class_are_counted_in_full(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=3))
        ledger.put(claim(gpus=3))
        assert used(ledger)[DEVICES] == 3

    def test_who_holds_them_adds_up_to_what_is_used(self, ledger: Ledger) -> None:
        ledger.put(pod(owner=owned_by("Job/train")))
        ledger.put(claim())
        holders = ledger.holders("team-a", "q", GPU)
        assert [(each.workload, each.used // 10**9) for each in holders] == [("Job/train", 3)]


class TestWhichClaim:
    def test_the_first_by_age_shares_and_others_count_in_full(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2))
        ledger.put(claim("late", 3, after=5))
        ledger.put(claim("early", 1, after=0))
        assert used(ledger)[GPU] == 2 + 0 + 3

    def test_of_the_same_age_the_first_by_name(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2))
        ledger.put(claim("b", 3))
        ledger.put(claim("a", 1))
        assert used(ledger)[GPU] == 2 + 0 + 3

    def test_the_one_that_the_pods_status_names_whatever_its_age(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2, names_claim="late"))
        ledger.put(claim("late", 3, after=5))
        ledger.put(claim("early", 1, after=0))
        assert used(ledger)[GPU] == 2 + 1 + 1

    def test_none_when_the_status_names_another(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2, names_claim="other"))
        ledger.put(claim("c1", 3))
        assert used(ledger)[GPU] == 2 + 3

    def test_another_one_once_the_status_begins_to_name_it(self, ledger: Ledger) -> None:
        ledger.put(claim("early", 1, after=0))
        ledger.put(claim("late", 3, after=5))
        ledger.put(pod(gpus=2))
        assert used(ledger)[GPU] == 2 + 0 + 3
        ledger.put(pod(gpus=2, names_claim="late"))
        assert used(ledger)[GPU] == 2 + 1 + 1

    def test_an_older_one_of_another_namespace_does_not_take_its_place(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2))
        ledger.put(claim("early", 3, after=0, namespace="team-b"))
        ledger.put(claim("late", 3, after=5))
        assert used(ledger)[GPU] == 2 + 1

    def test_the_next_one_when_the_first_goes(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2))
        ledger.put(claim("early", 1, after=0))
        ledger.put(claim("late", 3, after=5))
        ledger.delete("early", claim().shape.resource)
        assert used(ledger)[GPU] == 2 + 1

    def test_an_older_one_that_is_seen_later_takes_its_place(self, ledger: Ledger) -> None:
        ledger.put(pod(gpus=2))
        ledger.put(claim("late", 3, after=5))
        assert used(ledger)[GPU] == 3
        ledger.put(claim("early", 1, after=0))
        assert used(ledger)[GPU] == 2 + 0 + 3


class TestWhichPod:
    @pytest.mark.parametrize(
        "stranger",
        [
            pytest.param(claim(made_for_pod="another"), id="made for another pod"),
            pytest.param(claim(made_for_pod=None), id="made by a person"),
            pytest.param(claim(made_for_pod=None, owner=owned_by("Pod/p", "p")), id="made from a template"),
        ],
    )
    def test_a_claim_that_was_not_made_for_the_pod_counts_in_full(self, ledger: Ledger, stranger: ObjectUse) -> None:
        ledger.put(pod())
        ledger.put(stranger)
        assert used(ledger)[GPU] == 2 + 3

    def test_a_pod_of_another_namespace_shares_nothing(self, ledger: Ledger) -> None:
        ledger.put(pod(namespace="team-b"))
        ledger.put(claim())
        assert used(ledger) == ALONE

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_finished_pod_counts_nothing_and_shares_nothing(self, ledger: Ledger, phase: str) -> None:
        ledger.put(pod(phase=phase))
        ledger.put(claim())
        assert used(ledger) == ALONE


CHANGES: dict[str, Callable[[Ledger], None]] = {
    "the pod finishes": lambda ledger: ledger.put(pod(phase="Succeeded")),
    "the pod is deleted": lambda ledger: ledger.delete("p"),
    "the pods are listed without it": lambda ledger: ledger.replace([]),
    "its grace is over": lambda ledger: (ledger.put(pod(released_at=9.0)), ledger.release_due(10.0))[0],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_once_the_pod_counts_nothing_its_claim_counts_in_full(ledger: Ledger, change: Callable[[Ledger], None]) -> None:
    ledger.put(pod())
    ledger.put(claim())
    change(ledger)
    assert used(ledger) == ALONE


def test_when_the_pod_asks_for_more_its_claim_counts_less(ledger: Ledger) -> None:
    ledger.put(pod(gpus=1))
    ledger.put(claim(gpus=3))
    ledger.put(pod(gpus=4))
    assert used(ledger)[GPU] == 4


def test_a_new_version_that_changes_nothing_changes_nothing(ledger: Ledger) -> None:
    ledger.put(pod())
    ledger.put(claim())
    ledger.put(claim(version=2))
    ledger.put(pod(version=3))
    ledger.put(object_use("s"))
    assert used(ledger) == BESIDE_ITS_POD
    ledger.put(pod(phase="Failed"))
    assert used(ledger) == ALONE


def test_a_claim_that_is_not_for_the_pod_any_more_counts_in_full(ledger: Ledger) -> None:
    ledger.put(pod())
    ledger.put(claim("c1", 3, after=0))
    ledger.put(claim("c2", 1, after=5))
    ledger.put(claim("c1", 3, after=0, made_for_pod=None))
    assert used(ledger)[GPU] == 2 + 3 + 0


def test_a_claim_that_is_passed_on_to_a_pod_of_the_same_name_leaves_the_old_one(ledger: Ledger) -> None:
    old, new = owned_by("Pod/web-0", "p"), owned_by("Pod/web-0", "p2")
    ledger.put(pod())
    ledger.put(volume_claim_use("data", owner=old))
    ledger.put(volume_claim_use("data", owner=new))
    ledger.delete("data", "persistentvolumeclaims")
    ledger.put(claim())
    assert used(ledger) == BESIDE_ITS_POD
    assert list(ledger._dependents._by_pod) == ["p"]


def test_a_new_quota_counts_what_is_there_in_the_same_way(ledger: Ledger) -> None:
    ledger.put(pod())
    ledger.put(claim())
    ledger.set_quota("team-a", "late", Terms(NAMES))
    assert ledger.usage("team-a", "late") == ledger.usage("team-a", "q")


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_the_order_in_which_they_are_seen_does_not_matter(ledger: Ledger, order: tuple[int, ...]) -> None:
    uses = [pod(gpus=2), claim("early", 1, after=0), claim("late", 3, after=5), object_use("s")]
    for at in order:
        ledger.put(uses[at])
    assert used(ledger)[GPU] == 2 + 0 + 3


def test_what_is_taken_back_leaves_nothing_behind(ledger: Ledger) -> None:
    uses = [pod(gpus=2), claim("early", 1, after=0), claim("late", 3, after=5)]
    for order in permutations(uses):
        for use in uses:
            ledger.put(use)
        for use in order:
            ledger.delete(use.uid, use.shape.resource)
        assert used(ledger) == {}
        assert ledger._dependents._by_pod == {}
        assert not any(ledger._accounts["team-a"]["q"]._held.values())


def test_a_change_of_the_pod_is_told_to_quotas_that_count_only_the_claims_part(ledger: Ledger) -> None:
    ledger.put(claim())
    ledger.put(pod(gpus=0))
    ledger.take_changed()
    ledger.put(pod(gpus=1))
    assert ledger.take_changed() == {("team-a", "q")}
    assert used(ledger)[GPU] == 3
