"""What every other object counts for: itself, from nothing but its metadata."""

import msgspec
import pytest

from moorage.objects import AnyObject
from moorage.quota.counting import object_use
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import Requirement
from moorage.quota.usage import Shapes
from tests.builders import any_object, nano
from tests.builders import object_use as use

PARTIAL = b"""{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
  "metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"},
    "annotations": {"a": "b"}, "finalizers": ["x"], "deletionTimestamp": "2030-01-01T12:00:00Z",
    "managedFields": [{"fieldsV1": {"f:data": {}}}]}}"""
WHOLE = b"""{"kind": "Secret", "apiVersion": "v1", "type": "Opaque", "data": {"password": "aHVudGVyMg=="},
  "metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "7"}}"""


@pytest.mark.parametrize("encoded", [PARTIAL, WHOLE], ids=["metadata only", "whole"])
def test_metadata_is_enough_and_all_that_is_read(encoded: bytes) -> None:
    record = object_use(msgspec.json.decode(encoded, type=AnyObject), "secrets", "Secret", Shapes())
    assert (record.uid, record.namespace, record.name, record.resource_version) == ("u", "n", "s", 7)
    assert (record.shape.resource, record.shape.facts, record.holder) == ("secrets", None, "Secret/s")
    assert record.shape.amounts == nano(**{"count/secrets": "1"})
    assert b"aHVudGVyMg" not in msgspec.json.encode(msgspec.json.decode(encoded, type=AnyObject))


def test_an_object_that_is_being_deleted_counts_until_it_is_gone() -> None:
    record = object_use(msgspec.json.decode(PARTIAL, type=AnyObject), "secrets", "Secret", Shapes())
    assert record.released_at is None


def test_all_objects_of_a_resource_share_one_shape() -> None:
    shapes = Shapes()
    one, other = (object_use(any_object(name), "widgets.example.com", "Widget", shapes) for name in "ab")
    assert one.shape is other.shape


@pytest.mark.parametrize("version", ["", "v7", "2030-01-01"])
def test_a_version_that_is_no_number_as_aggregated_apis_have_it_is_no_error(version: str) -> None:
    assert use("a", version=version).resource_version == 0


@pytest.mark.parametrize("scope", ["Terminating", "NotTerminating", "BestEffort", "VolumeAttributesClass"])
def test_they_match_no_scope(scope: str) -> None:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", Terms(frozenset({"count/secrets"}), (Requirement(scope),)))
    ledger.put(use("a"))
    assert ledger.usage("team-a", "q").used == {"count/secrets": 0}
