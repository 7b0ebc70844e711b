"""From the feeds of counted objects to the ledger."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.cluster.client import JSON, METADATA_ONLY
from moorage.cluster.discovery import Resource
from moorage.handlers.counting import LedgerSink, accepted, decoder
from moorage.quantity import QuantityError
from moorage.quota.ledger import Ledger
from moorage.quota.usage import ObjectUse, Shapes
from tests.builders import DEVICE_CLASSES, object_use

PODS, SERVICES, SECRETS = (
    Resource("", "v1", "pods", "Pod"),
    Resource("", "v1", "services", "Service"),
    Resource("", "v1", "secrets", "Secret"),
)
VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
DEVICE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
OTHER_PODS = Resource("example.com", "v1", "pods", "Pod")


def read(resource: Resource, **body: Any) -> ObjectUse:
    meta = {"name": "it", "namespace": "team-a", "uid": "u", "resourceVersion": "7"}
    return decoder(resource, Shapes(), DEVICE_CLASSES)(msgspec.json.encode({"metadata": meta, **body}))


@pytest.mark.parametrize(
    ("resource", "asked_for"),
    [
        (PODS, JSON),
        (SERVICES, JSON),
        (VOLUME_CLAIMS, JSON),
        (DEVICE_CLAIMS, JSON),
        (SECRETS, METADATA_ONLY),
        (WIDGETS, METADATA_ONLY),
        (OTHER_PODS, METADATA_ONLY),
    ],
    ids=lambda each: each.label if isinstance(each, Resource) else "",
)
def test_whole_objects_are_asked_for_only_where_more_than_metadata_counts(resource: Resource, asked_for: str) -> None:
    assert accepted(resource) == asked_for


@pytest.mark.parametrize(
    ("resource", "body", "source"),
    [
        (PODS, {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}, "requests.cpu"),
        (SERVICES, {"spec": {"type": "LoadBalancer"}}, "services.loadbalancers"),
        (VOLUME_CLAIMS, {"spec": {"resources": {"requests": {"storage": "1"}}}}, "requests.storage"),
        (
            DEVICE_CLAIMS,
            {"spec": {"devices": {"requests": [{"exactly": {"deviceClassName": "gpu.example.com"}}]}}},
            "requests.example.com/gpu",
        ),
        (SECRETS, {}, "count/secrets"),
        (WIDGETS, {}, "count/widgets.example.com"),
        (OTHER_PODS, {}, "count/pods.example.com"),
    ],
    ids=lambda each: each.label if isinstance(each, Resource) else "",
)
def test_each_resource_has_its_own_decoder(resource: Resource, body: dict[str, Any], source: str) -> None:
    record = read(resource, **body)
    assert record.shape.resource == resource.label
    assert record.shape.amounts[source] == 10**9
    assert (record.uid, record.name, record.resource_version) == ("u", "it", 7)
    assert record.holder == f"{resource.kind}/it"


@pytest.mark.parametrize(
    ("resource", "body", "error"),
    [
        (PODS, {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}, QuantityError),
        (VOLUME_CLAIMS, {"spec": {"resources": {"requests": {"storage": "lots"}}}}, QuantityError),
        (SERVICES, {"spec": {"ports": 3}}, msgspec.MsgspecError),
        (WIDGETS, {"metadata": 3}, msgspec.MsgspecError),
    ],
    ids=["pod", "claim", "service", "any"],
)
def test_what_cannot_be_read_is_an_error_of_its_own(
    resource: Resource, body: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        read(resource, **body)


class TestSink:
    @pytest.fixture
    def ledger(self) -> Ledger:
        return Ledger()

    def sink(self, ledger: Ledger, resource: str = "secrets", namespace: str | None = None) -> LedgerSink:
        self.told = 0

        def changed() -> None:
            self.told += 1

        return LedgerSink(ledger, resource, namespace=namespace, changed=changed)

    def test_objects_are_held_changed_and_dropped_and_each_is_told(self, ledger: Ledger) -> None:
        sink = self.sink(ledger)
        sink.put(object_use("a"))
        sink.put(object_use("b"))
        sink.delete(object_use("a"))
        assert (sink.get("a"), sink.get("b"), self.told) == (None, object_use("b"), 3)
        assert dict(sink.snapshot()) == {"b": object_use("b")}

    def test_a_list_takes_the_place_of_what_this_feed_holds_and_of_nothing_else(self, ledger: Ledger) -> None:
        ledger.put(object_use("w", resource="widgets.example.com"))
        ledger.put(object_use("elsewhere", namespace="team-b"))
        sink = self.sink(ledger, namespace="team-a")
        sink.put(object_use("a"))
        sink.replace({"b": object_use("b")})
        assert dict(sink.snapshot()) == {"b": object_use("b")}
        assert set(ledger.objects("secrets")) == {"b", "elsewhere"}
        assert len(ledger) == 3

    def test_objects_of_other_resources_are_none_of_its_business(self, ledger: Ledger) -> None:
        ledger.put(object_use("w", resource="widgets.example.com"))
        sink = self.sink(ledger)
        assert sink.get("w") is None
        sink.delete(object_use("w"))
        assert len(ledger) == 1
