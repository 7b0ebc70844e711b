"""From the name of a resource to where the API server serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource, find_kind, find_resource, is_aggregated
from moorage.cluster.errors import ApiError
from tests.unit.small_server import SmallServer, small_server


@pytest.fixture
async def both() -> AsyncIterator[tuple[SmallServer, Client]]:
    async with small_server() as both:
        both[0].serve("", "v1", secrets="v1", pods="v1")
        both[0].serve(
            "example.com",
            "v1",
            "v1beta1",
            "v1alpha1",
            widgets="v1 v1beta1",
            gadgets="v1beta1",
            trinkets="v1beta1 v1alpha1",
        )
        yield both


@pytest.mark.parametrize(
    ("label", "path"),
    [
        pytest.param("secrets", "/api/v1/secrets", id="core"),
        pytest.param("widgets.example.com", "/apis/example.com/v1/widgets", id="the preferred version"),
        pytest.param("gadgets.example.com", "/apis/example.com/v1beta1/gadgets", id="one that it is not in"),
        pytest.param("trinkets.example.com", "/apis/example.com/v1beta1/trinkets", id="the first that it is in"),
    ],
)
async def test_a_resource_is_found_in_the_preferred_version_or_the_next_that_has_it(
    both: tuple[SmallServer, Client], label: str, path: str
) -> None:
    found = await find_resource(both[1], label)
    assert found is not None
    assert (found.path(None), found.label) == (path, label)


@pytest.mark.parametrize("label", ["widgets", "nosuch", "nosuch.example.com", "secrets.example.com", "x.nosuch.io"])
async def test_one_that_is_not_served_is_none(both: tuple[SmallServer, Client], label: str) -> None:
    assert await find_resource(both[1], label) is None


@pytest.mark.parametrize(
    "change",
    [{"namespaced": False}, {"verbs": ["get", "list"]}, {"verbs": ["create"]}, {"verbs": None}],
    ids=["of the cluster", "cannot be watched", "cannot be listed", "says nothing of verbs"],
)
async def test_neither_is_one_that_cannot_be_counted(
    both: tuple[SmallServer, Client], change: dict[str, object]
) -> None:
    server, client = both
    for entry in server.documents["/api/v1"]["resources"]:
        entry.update(change)
    assert await find_resource(client, "secrets") is None


async def test_a_kind_is_found_in_the_same_way_and_knows_whether_it_scales(both: tuple[SmallServer, Client]) -> None:
    server, client = both
    resources = server.documents["/apis/example.com/v1beta1"]["resources"]
    resources.append({"name": "gadgets/scale", "kind": "Scale", "namespaced": True, "verbs": ["get"]})
    assert await find_kind(client, "example.com", "Gadget") == Resource(
        "example.com", "v1beta1", "gadgets", "Gadget", has_scale=True
    )


async def test_a_version_that_fails_is_an_error_and_not_an_answer(both: tuple[SmallServer, Client]) -> None:
    server, client = both
    server.refusals["/apis/example.com/v1"] = 503
    with pytest.raises(ApiError):
        await find_resource(client, "gadgets.example.com")


async def test_a_version_that_is_just_gone_is_skipped(both: tuple[SmallServer, Client]) -> None:
    server, client = both
    server.refusals["/apis/example.com/v1"] = 404
    found = await find_resource(client, "widgets.example.com")
    assert found is not None
    assert found.version == "v1beta1"


@pytest.mark.parametrize(
    ("spec", "aggregated"),
    [({"service": {"name": "s", "namespace": "n"}}, True), ({"group": "example.com"}, False), (None, False)],
    ids=["by a service", "by the API server itself", "nobody knows"],
)
async def test_an_aggregated_resource_is_one_that_a_service_serves(
    both: tuple[SmallServer, Client], spec: dict[str, object] | None, aggregated: bool
) -> None:
    server, client = both
    if spec is not None:
        server.documents["/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com"] = {"spec": spec}
    assert await is_aggregated(client, Resource("example.com", "v1", "widgets", "Widget")) is aggregated


async def test_nothing_of_the_core_group_is_aggregated(both: tuple[SmallServer, Client]) -> None:
    assert not await is_aggregated(both[1], Resource("", "v1", "pods", "Pod"))
