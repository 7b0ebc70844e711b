"""What a ResourceClaim counts for, by itself."""

from datetime import UTC, datetime

import msgspec
import pytest

from moorage.objects import DeviceRequest, ResourceClaim
from moorage.quota.counting import DeviceClasses, device_claim_use
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.usage import Claimed, ObjectUse, Shapes
from tests.builders import DEVICE_CLASSES, device_claim, devices, nano, owned_by
from tests.builders import device_claim_use as use

GPU = "gpu.example.com.deviceclass.resource.k8s.io/devices"
NIC = "nic.example.com.deviceclass.resource.k8s.io/devices"
IMPLICIT_GPU = "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
IMPLICIT_NIC = "requests.deviceclass.resource.kubernetes.io/nic.example.com"
IMPLICIT_GHOST = "requests.deviceclass.resource.kubernetes.io/ghost"
CLAIMS = "count/resourceclaims.resource.k8s.io"


def record(claim: ResourceClaim, classes: DeviceClasses = DEVICE_CLASSES) -> ObjectUse:
    return device_claim_use(claim, classes, Shapes())


def amounts(*asked: DeviceRequest | list[DeviceRequest], classes: DeviceClasses = DEVICE_CLASSES) -> dict[str, int]:
    return dict(record(device_claim("c", *asked), classes).shape.amounts)


def used(claim: ObjectUse, *names: str) -> dict[str, int]:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", Terms(frozenset(names)))
    ledger.put(claim)
    return dict(ledger.usage("team-a", "q").used)


class TestDevices:
    @pytest.mark.parametrize(
        ("request_", "count"),
        [
            pytest.param(devices(count=2), 2, id="exact count"),
            pytest.param(devices(), 1, id="a missing count is 1"),
            pytest.param(devices(count=0), 1, id="0 is filled in as 1"),
            pytest.param(devices(count=3, mode=None), 3, id="no mode is exact count"),
            pytest.param(devices(count=3, mode=""), 3, id="an empty mode too"),
            pytest.param(devices(mode="All"), 32, id="all is the most that a claim can get"),
            pytest.param(devices(count=5, mode="All"), 32, id="whatever count says"),
            pytest.param(devices(count=5, mode="Some"), 0, id="a mode that nobody knows yet"),
        ],
    )
    def test_a_request_counts_what_it_can_get_at_most(self, request_: DeviceRequest, count: int) -> None:
        assert amounts(request_).get(GPU, 0) == nano(x=str(count))["x"]

    def test_requests_add_up_by_class(self) -> None:
        found = amounts(devices(count=2), devices("nic.example.com", 3), devices(count=4))
        assert (found[GPU], found[NIC]) == (nano(x="6")["x"], nano(x="3")["x"])

    def test_of_alternatives_the_largest_of_each_class_counts(self) -> None:
        found = amounts(
            [devices(count=2), devices("nic.example.com", 8), devices(count=3), devices("nic.example.com", 1)]
        )
        assert (found[GPU], found[NIC]) == (nano(x="3")["x"], nano(x="8")["x"])

    def test_alternatives_add_to_the_other_requests(self) -> None:
        found = amounts(devices(count=2), [devices(count=1), devices("nic.example.com", mode="All")])
        assert (found[GPU], found[NIC]) == (nano(x="3")["x"], nano(x="32")["x"])

    def test_a_claim_without_requests_is_only_an_object(self) -> None:
        assert amounts() == nano(**{CLAIMS: "1"})


class TestExtendedNames:
    def test_a_class_counts_under_its_implicit_name_and_its_extended_resource(self) -> None:
        assert amounts(devices(count=2), devices("nic.example.com", 3)) == nano(
            **{
                CLAIMS: "1",
                GPU: "2",
                NIC: "3",
                IMPLICIT_GPU: "2",
                IMPLICIT_NIC: "3",
                "requests.example.com/gpu": "2",
            }
        )

    def test_classes_that_share_an_extended_resource_add_up(self) -> None:
        classes = {"a": "example.com/gpu", "b": "example.com/gpu"}
        found = amounts(devices("a", 2), devices("b", 3), classes=classes)
        assert found["requests.example.com/gpu"] == nano(x="5")["x"]

    @pytest.mark.parametrize(
        ("names", "counted"),
        [
            pytest.param((IMPLICIT_GHOST,), "0", id="alone"),
            pytest.param((IMPLICIT_GHOST, "requests.cpu", "pods"), "0", id="with names that count no claims"),
            pytest.param((IMPLICIT_GHOST, CLAIMS), "2", id="with the number of claims"),
            pytest.param((IMPLICIT_GHOST, GPU), "2", id="with the devices of any class"),
        ],
    )
    def test_a_class_that_does_not_exist_counts_only_where_claims_are_counted_anyway(
        self, names: tuple[str, ...], counted: str
    ) -> None:
        assert used(use("c", devices("ghost", 2)), *names)[IMPLICIT_GHOST] == nano(x=counted)["x"]

    @pytest.mark.parametrize(
        ("other", "counted"),
        [(IMPLICIT_GPU, "2"), ("requests.example.com/gpu", "2"), (IMPLICIT_NIC, "2"), ("requests.x.com/gpu", "0")],
    )
    def test_or_where_another_name_counts_claims_of_a_class_that_does(self, other: str, counted: str) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({IMPLICIT_GHOST, other})))
        ledger.put(use("c", devices("ghost", 2)))
        assert ledger.usage("team-a", "q").used[IMPLICIT_GHOST] == 0
        ledger.take_changed()
        ledger.set_device_classes(DEVICE_CLASSES)
        assert ledger.usage("team-a", "q").used[IMPLICIT_GHOST] == nano(x=counted)["x"]
        assert ledger.take_changed() == {("team-a", "q")}
        ledger.set_device_classes({})
        assert ledger.usage("team-a", "q").used[IMPLICIT_GHOST] == 0

    def test_quotas_that_ask_for_no_class_are_left_alone_when_classes_change(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({"requests.example.com/gpu", "pods"})))
        ledger.take_changed()
        ledger.set_device_classes(DEVICE_CLASSES)
        ledger.set_device_classes(None)
        assert ledger.take_changed() == set()

    def test_when_classes_cannot_be_known_each_is_taken_to_exist_and_to_have_no_other_name(self) -> None:
        assert amounts(devices(count=2), classes=None) == nano(**{CLAIMS: "1", GPU: "2", IMPLICIT_GPU: "2"})

    def test_who_holds_devices_of_a_class_that_does_not_exist_is_told(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({IMPLICIT_GHOST, CLAIMS})))
        ledger.put(use("c", devices("ghost", 2)))
        (holder,) = ledger.holders("team-a", "q", IMPLICIT_GHOST)
        assert (holder.workload, holder.used) == ("ResourceClaim/c", nano(x="2")["x"])


class TestTieToAPod:
    def test_a_claim_that_the_scheduler_made_knows_its_pod_and_what_the_pod_counts_too(self) -> None:
        noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
        claim = device_claim("c", devices(), devices("nic.example.com"), made_for_pod="p1", created=noon)
        assert record(claim).pod == "p1"
        assert record(claim).claim == Claimed(
            shared=(IMPLICIT_GPU, "requests.example.com/gpu", IMPLICIT_NIC), created=noon
        )

    @pytest.mark.parametrize(
        "claim",
        [
            pytest.param(device_claim("c", devices()), id="nobody's"),
            pytest.param(device_claim("c", devices(), owner=owned_by("Pod/p", "p1")), id="a pod's own claim"),
        ],
    )
    def test_any_other_claim_stands_for_itself(self, claim: ResourceClaim) -> None:
        assert record(claim).claim is None

    @pytest.mark.parametrize(
        ("annotation", "owner"),
        [
            ('"true"', '{"kind": "Job", "name": "p", "uid": "p1", "controller": true}'),
            ('"true"', '{"kind": "Pod", "name": "p", "uid": "p1"}'),
            ('"true"', '{"kind": "Pod", "name": "p", "uid": "p1", "controller": false}'),
            ('"yes"', '{"kind": "Pod", "name": "p", "uid": "p1", "controller": true}'),
        ],
        ids=["owned by a Job", "owner is no controller", "says that it is none", "another annotation"],
    )
    def test_the_annotation_and_a_controlling_pod_must_both_be_there(self, annotation: str, owner: str) -> None:
        encoded = f"""{{"metadata": {{"annotations": {{"resource.kubernetes.io/extended-resource-claim": {annotation}}},
          "ownerReferences": [{owner}]}}}}"""
        assert record(msgspec.json.decode(encoded, type=ResourceClaim)).claim is None


def test_the_api_servers_json_is_read_and_the_rest_skipped() -> None:
    encoded = b"""{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
      "metadata": {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7",
        "creationTimestamp": "2030-01-01T12:00:00Z",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true", "x": "y"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p1", "controller": true}]},
      "spec": {"devices": {"config": [], "requests": [
        {"name": "a", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 2,
                                  "adminAccess": true, "selectors": [{"cel": {"expression": "true"}}]}},
        {"name": "b", "firstAvailable": [
          {"name": "x", "deviceClassName": "nic.example.com", "allocationMode": "All"},
          {"name": "y", "deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}]}]}},
      "status": {"allocation": {"devices": {"results": []}}}}"""
    found = record(msgspec.json.decode(encoded, type=ResourceClaim))
    assert (found.uid, found.namespace, found.name, found.resource_version) == ("u", "n", "c", 7)
    assert (found.shape.resource, found.shape.facts) == ("resourceclaims.resource.k8s.io", None)
    assert (found.shape.amounts[GPU], found.shape.amounts[NIC]) == (nano(x="3")["x"], nano(x="32")["x"])
    assert found.pod == "p1"
    assert found.claim == Claimed(
        shared=(IMPLICIT_GPU, "requests.example.com/gpu", IMPLICIT_NIC),
        created=datetime(2030, 1, 1, 12, tzinfo=UTC),
    )


def test_requests_of_v1beta1_name_their_devices_themselves() -> None:
    encoded = b"""{"spec": {"devices": {"requests": [
      {"name": "a", "deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 2},
      {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "gpu.example.com", "count": 3}]}]}}}"""
    found = record(msgspec.json.decode(encoded, type=ResourceClaim))
    assert found.shape.amounts[GPU] == nano(x="5")["x"]


def test_admin_access_and_allocation_make_no_difference() -> None:
    plain = b'{"spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "gpu.example.com", "count": 2}}]}}}'
    admin = plain.replace(b'"count": 2', b'"count": 2, "adminAccess": true')
    assert (
        record(msgspec.json.decode(plain, type=ResourceClaim)).shape.amounts
        == record(msgspec.json.decode(admin, type=ResourceClaim)).shape.amounts
    )
