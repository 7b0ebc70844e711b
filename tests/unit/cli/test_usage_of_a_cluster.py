"""`moorage usage` without files reads what the quotas count from a live cluster, and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.unit.cli.conftest import Answer, Moorage
from tests.unit.small_server import SmallServer, small_server

QUOTAS, SECRETS, PODS = "/apis/moorage.dev/v1alpha1/namespacequotas", "/api/v1/secrets", "/api/v1/pods"
GATEWAYS, ROUTES = "/apis/gateway.example.com/v1/gateways", "/apis/gateway.example.com/v1alpha2/tcproutes"
Usage = Callable[..., Awaitable[Answer]]


@pytest.fixture
async def server() -> AsyncIterator[SmallServer]:
    async with small_server() as (server, _):
        server.serve("", "v1", pods="v1", secrets="v1", endpoints="v1", resourcequotas="v1")
        server.serve("moorage.dev", "v1alpha1", namespacequotas="v1alpha1")
        server.serve("gateway.example.com", "v1", "v1alpha2", gateways="v1", tcproutes="v1alpha2")
        # A kind's own name tells little of its plural.
        for path, kind in (("/api/v1", "Endpoints"), ("/apis/moorage.dev/v1alpha1", "NamespaceQuota")):
            for entry in server.documents[path]["resources"]:
                if entry["name"] in ("endpoints", "namespacequotas"):
                    entry["kind"] = kind
        yield server


@pytest.fixture
def usage(server: SmallServer, moorage: Moorage, tmp_path: Path) -> Usage:
    """Run the command in a thread, so that the server can answer."""
    config = {
        "clusters": [{"name": "it", "cluster": {"server": server.url}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    async def run(*arguments: str) -> Answer:
        return await asyncio.to_thread(moorage, "usage", "--kubeconfig", str(path), "-o", "json", *arguments)

    return run


def quota(server: SmallServer, *names: str) -> None:
    server.put(QUOTAS, "q", spec={"hard": dict.fromkeys(names, 9)})


async def test_every_resource_is_counted_under_the_clusters_own_name_for_it(server: SmallServer, usage: Usage) -> None:
    names = (
        "pods",
        "secrets",
        "count/endpoints",
        "count/gateways.gateway.example.com",
        "count/tcproutes.gateway.example.com",
    )
    quota(server, *names)
    for path in (PODS, SECRETS, "/api/v1/endpoints", GATEWAYS, ROUTES):
        server.put(path, "one")
    answer = await usage()
    assert answer.code == 0, answer.err
    (found,) = answer.json["quotas"]
    assert found["used"] == dict.fromkeys(names, "1")
    assert [line["top"][0]["workload"] for line in found["holders"]] == [
        "Pod/one",
        "Endpoints/one",
        "Gateway/one",
        "Tcproute/one",
        "Secret/one",
    ]


async def test_only_what_quotas_count_is_read_and_metadata_alone_where_that_is_enough(
    server: SmallServer, usage: Usage
) -> None:
    quota(server, "secrets")
    server.put(SECRETS, "one", data={"password": "aHVudGVyMg=="})
    await usage()
    assert server.accepted.keys() == {SECRETS, QUOTAS, "/api/v1/resourcequotas"}
    assert "PartialObjectMetadata" in server.accepted[SECRETS]
    assert "PartialObjectMetadata" not in server.accepted[QUOTAS]


async def test_a_kind_without_objects_counts_nothing(server: SmallServer, usage: Usage) -> None:
    quota(server, "secrets", "pods")
    answer = await usage()
    assert answer.json["quotas"][0]["used"] == {"pods": "0", "secrets": "0"}


async def test_an_object_of_a_cluster_makes_nothing(server: SmallServer, usage: Usage) -> None:
    server.serve("apps", "v1", deployments="v1")
    quota(server, "pods", "count/deployments.apps")
    server.put("/apis/apps/v1/deployments", "web", spec={"replicas": 3, "template": {}})
    answer = await usage()
    assert answer.json["quotas"][0]["used"] == {"pods": "0", "count/deployments.apps": "1"}


async def test_a_kind_that_is_not_served_has_no_objects(server: SmallServer, usage: Usage) -> None:
    quota(server, "count/widgets.example.com", "count/nosuch")
    answer = await usage()
    assert answer.json["quotas"][0]["used"] == {"count/widgets.example.com": "0", "count/nosuch": "0"}


async def test_a_kind_that_we_may_not_read_is_one_clear_line(server: SmallServer, usage: Usage) -> None:
    quota(server, "secrets")
    server.refusals[SECRETS] = 403
    answer = await usage()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "moorage usage: secrets cannot be read: refused with 403\n"


async def test_a_cluster_without_quotas_is_one_clear_line(usage: Usage) -> None:
    answer = await usage()
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "there is no NamespaceQuota or ResourceQuota" in answer.err
