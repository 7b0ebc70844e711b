"""What a PersistentVolumeClaim counts for, from its JSON or typed."""

import msgspec
import pytest

from moorage.objects import QuantityText, VolumeClaim
from moorage.quantity import NANO, QuantityError
from moorage.quota.counting import volume_claim_use
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import ClaimFacts
from moorage.quota.usage import Shapes
from tests.builders import nano, volume_claim
from tests.builders import volume_claim_use as use

GIB = 2**30 * NANO


def amounts(claim: VolumeClaim) -> dict[str, int]:
    return dict(volume_claim_use(claim, Shapes()).shape.amounts)


def storage(**keywords: str | None) -> int:
    return amounts(volume_claim(**keywords))["requests.storage"]


def test_a_claim_without_a_class_counts_as_one_with_its_storage() -> None:
    assert amounts(volume_claim(storage="5Gi")) == {
        "count/persistentvolumeclaims": NANO,
        "requests.storage": 5 * GIB,
    }


class TestClass:
    def test_a_claim_of_a_class_counts_for_it_too(self) -> None:
        assert amounts(volume_claim(storage="5Gi", storage_class="gold")) == {
            "count/persistentvolumeclaims": NANO,
            "requests.storage": 5 * GIB,
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims": NANO,
            "gold.storageclass.storage.k8s.io/requests.storage": 5 * GIB,
        }

    @pytest.mark.parametrize(
        ("annotation", "field", "counted"),
        [
            pytest.param(None, "new", ["new"], id="field"),
            pytest.param("old", None, ["old"], id="annotation"),
            pytest.param("old", "new", ["old"], id="the annotation wins"),
            pytest.param("", "new", [], id="an empty annotation wins too and is no class"),
            pytest.param(None, "", [], id="an empty field is no class"),
            pytest.param(None, None, [], id="neither"),
        ],
    )
    def test_it_is_that_of_the_annotation_then_of_the_field(
        self, annotation: str | None, field: str | None, counted: list[str]
    ) -> None:
        suffix = ".storageclass.storage.k8s.io/requests.storage"
        found = amounts(volume_claim(old_storage_class=annotation, storage_class=field))
        assert [name.removesuffix(suffix) for name in found if name.endswith(suffix)] == counted


class TestStorage:
    @pytest.mark.parametrize(
        ("asked", "whole_bytes"),
        [("1500m", 2), ("1", 1), ("1n", 1), ("0", 0), (3, 3), ("1Gi", 2**30), ("1G", 10**9), (None, 0)],
    )
    def test_it_is_rounded_up_to_whole_bytes(self, asked: QuantityText | None, whole_bytes: int) -> None:
        assert amounts(volume_claim(storage=asked))["requests.storage"] == whole_bytes * NANO

    def test_each_claim_is_rounded_on_its_own(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({"requests.storage"})))
        ledger.put(use("a", storage="1500m"))
        ledger.put(use("b", storage="500m"))
        assert ledger.usage("team-a", "q").used == nano(**{"requests.storage": "3"})

    @pytest.mark.parametrize(
        ("asked", "allocated", "counted"),
        [
            pytest.param("1Gi", "2Gi", 2 * GIB, id="an expansion that was granted and then lowered"),
            pytest.param("2Gi", "1Gi", 2 * GIB, id="an expansion that was not granted yet"),
            pytest.param("1Gi", "1Gi", GIB, id="equal"),
            pytest.param("1", "1500m", 2 * NANO, id="rounded up as well"),
        ],
    )
    def test_the_larger_of_asked_and_allocated_counts(self, asked: str, allocated: str, counted: int) -> None:
        assert storage(storage=asked, allocated=allocated) == counted

    def test_an_amount_that_does_not_parse_is_an_error(self) -> None:
        with pytest.raises(QuantityError):
            amounts(volume_claim(storage="lots"))


class TestFacts:
    @pytest.mark.parametrize(
        ("spec", "current", "target", "names"),
        [
            (None, None, None, set()),
            ("gold", None, None, {"gold"}),
            ("gold", "silver", None, {"gold", "silver"}),
            ("gold", "silver", "bronze", {"gold", "silver", "bronze"}),
            (None, None, "bronze", {"bronze"}),
            ("gold", "gold", "gold", {"gold"}),
            ("", "", "", set()),
        ],
    )
    def test_every_attributes_class_that_is_asked_for_in_force_or_on_its_way_counts(
        self, spec: str | None, current: str | None, target: str | None, names: set[str]
    ) -> None:
        claim = volume_claim(attributes_class=spec, current_attributes_class=current, target_attributes_class=target)
        assert volume_claim_use(claim, Shapes()).shape.facts == ClaimFacts(frozenset(names))


def test_the_api_servers_json_is_read_and_the_rest_skipped() -> None:
    encoded = b"""{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
      "metadata": {"name": "data", "namespace": "n", "uid": "u", "resourceVersion": "7", "deletionTimestamp": null,
        "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": {"volume.beta.kubernetes.io/storage-class": "old", "pv.kubernetes.io/bind-completed": "yes"}},
      "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "new", "volumeName": "pv",
        "resources": {"requests": {"storage": "1Gi"}}, "volumeAttributesClassName": "gold"},
      "status": {"phase": "Bound", "capacity": {"storage": "9Gi"}, "allocatedResources": {"storage": "2Gi"},
        "currentVolumeAttributesClassName": "silver",
        "modifyVolumeStatus": {"status": "Pending", "targetVolumeAttributesClassName": "bronze"}}}"""
    record = volume_claim_use(msgspec.json.decode(encoded, type=VolumeClaim), Shapes())
    assert (record.uid, record.namespace, record.name, record.resource_version) == ("u", "n", "data", 7)
    assert (record.shape.resource, record.holder) == ("persistentvolumeclaims", "PersistentVolumeClaim/data")
    assert record.shape.amounts == {
        "count/persistentvolumeclaims": NANO,
        "requests.storage": 2 * GIB,
        "old.storageclass.storage.k8s.io/persistentvolumeclaims": NANO,
        "old.storageclass.storage.k8s.io/requests.storage": 2 * GIB,
    }
    assert record.shape.facts == ClaimFacts(frozenset({"gold", "silver", "bronze"}))
