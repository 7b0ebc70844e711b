"""`moorage usage` counts every kind that a quota can name, from what `kubectl get ... -o yaml` prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Moorage

GPU = "requests.example.com/gpu"
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"


def meta(name: str, *, owner: str = "", **more: Any) -> dict[str, Any]:
    """Return the metadata of an object of a cluster; `owner` is `Kind/name` of its controller."""
    kind, _, owner_name = owner.partition("/")
    owners = [{"kind": kind, "name": owner_name, "uid": f"uid-{owner_name}", "controller": True}] if owner else []
    return {
        "name": name,
        "namespace": "a",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "ownerReferences": owners,
        **more,
    }


def item(kind: str, name: str, api_version: str = "v1", *, owner: str = "", **more: Any) -> dict[str, Any]:
    labels = more.pop("labels", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta(name, owner=owner, labels=labels), **more}


def web_pod(name: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": "500m"}}}
    labels = {"app": "web", "pod-template-hash": "6c9f"}
    return item("Pod", name, owner="ReplicaSet/web-6c9f", labels=labels, spec={"containers": [container]})


DUMP = [
    web_pod("web-1"),
    web_pod("web-2"),
    item("Pod", "train", owner="Job/train", spec={"containers": [{"resources": {"limits": {"example.com/gpu": 2}}}]}),
    item("Pod", "alone", spec={"containers": [{"resources": {"requests": {"cpu": 2}}}]}, status={"phase": "Running"}),
    item("Pod", "done", owner="Job/train", spec={"containers": [{}]}, status={"phase": "Succeeded"}),
    item(
        "PersistentVolumeClaim",
        "data",
        spec={"storageClassName": "gold", "resources": {"requests": {"storage": "3Gi"}}},
    ),
    item("PersistentVolumeClaim", "scratch", owner="Pod/train", spec={"resources": {"requests": {"storage": "1500m"}}}),
    item("Service", "web", spec={"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 443}]}),
    item("Service", "db", spec={"ports": [{"port": 5432}]}),
    item("Secret", "token", data={"password": "aHVudGVyMg=="}),
    item("ConfigMap", "kube-root-ca.crt"),
    item("ReplicationController", "old", spec={"replicas": 3}),
    item("ResourceQuota", "theirs", spec={"hard": {"pods": "9"}}),
    item("Deployment", "web", "apps/v1", spec={"replicas": 2, "template": {}}),
    item("ReplicaSet", "web-6c9f", "apps/v1", owner="Deployment/web"),
    item("ReplicaSet", "web-5d8f", "apps/v1", owner="Deployment/web"),
    item("Endpoints", "web"),
    item("NetworkPolicy", "deny", "networking.k8s.io/v1"),
    item("Gateway", "edge", "gateway.networking.k8s.io/v1"),
    item("DeviceClass", "gpu.example.com", "resource.k8s.io/v1", spec={"extendedResourceName": "example.com/gpu"}),
    item(
        "ResourceClaim",
        "gpus",
        "resource.k8s.io/v1",
        spec={"devices": {"requests": [{"exactly": {"deviceClassName": "gpu.example.com", "count": 4}}]}},
    ),
    item("Widget", "w", "example.com/v1"),
]
USED = {
    "requests.cpu": "3",
    "pods": "4",
    "count/pods": "5",
    GPU: "6",
    DEVICES: "4",
    "count/resourceclaims.resource.k8s.io": "1",
    "requests.storage": "3221225474",
    "persistentvolumeclaims": "2",
    "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    "services": "2",
    "services.loadbalancers": "1",
    "services.nodeports": "2",
    "secrets": "1",
    "configmaps": "1",
    "replicationcontrollers": "1",
    "resourcequotas": "1",
    "count/deployments.apps": "1",
    "count/replicasets.apps": "2",
    "count/endpoints": "1",
    "count/networkpolicies.networking.k8s.io": "1",
    "count/gateways.gateway.networking.k8s.io": "1",
    "count/widgets.example.com": "1",
    "count/gadgets.example.com": "0",
}
QUOTA = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "NamespaceQuota",
    "metadata": {"name": "q", "namespace": "a"},
    "spec": {"hard": dict.fromkeys(USED, "1000") | {"example.com/gpu": "1", "count/deployments": "1"}},
}


@pytest.fixture
def quota_file(tmp_path: Any) -> str:
    path = tmp_path / "quota.yaml"
    path.write_text(yaml.safe_dump(QUOTA))
    return str(path)


def listed(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def holders(found: dict[str, Any]) -> dict[str, list[tuple[str, str, int]]]:
    return {
        line["resource"]: [(each["workload"], each["used"], each["pods"]) for each in line["top"]]
        for line in found["holders"]
    }


def test_every_kind_is_counted(moorage: Moorage, quota_file: str) -> None:
    answer = moorage("usage", "-f", "-", "--quota", quota_file, "-o", "json", stdin=listed(*DUMP))
    assert answer.code == 0, answer.err
    (found,) = answer.json["quotas"]
    assert found["used"] == USED
    assert found["untracked"] == ["count/deployments", "example.com/gpu"]


def test_all_that_hold_something_are_told_by_workload(moorage: Moorage, quota_file: str) -> None:
    answer = moorage("usage", "-f", "-", "--quota", quota_file, "-o", "json", stdin=listed(*DUMP))
    found = holders(answer.json["quotas"][0])
    assert found["requests.cpu"] == [("Pod/alone", "2", 1), ("Deployment/web", "1", 2)]
    assert found["pods"] == [("Deployment/web", "2", 2), ("Job/train", "1", 1), ("Pod/alone", "1", 1)]
    assert found["count/pods"] == [("Deployment/web", "2", 2), ("Job/train", "2", 1), ("Pod/alone", "1", 1)]
    assert found[GPU] == [("ResourceClaim/gpus", "4", 0), ("Job/train", "2", 1)]
    assert found["requests.storage"] == [("PersistentVolumeClaim/data", "3Gi", 0), ("Job/train", "2", 1)]
    assert found["count/replicasets.apps"] == [("Deployment/web", "2", 2)]
    assert found["services.nodeports"] == [("Service/web", "2", 0)]
    assert found["secrets"] == [("Secret/token", "1", 0)]
    assert "count/gadgets.example.com" not in found


def test_more_than_five_are_told_too(moorage: Moorage, quota_file: str) -> None:
    many = [item("Secret", f"s{number}") for number in range(12)]
    answer = moorage("usage", "-f", "-", "--quota", quota_file, "-o", "json", stdin=listed(*many))
    assert len(holders(answer.json["quotas"][0])["secrets"]) == 12


def test_yaml_is_the_same_as_json(moorage: Moorage, quota_file: str) -> None:
    arguments = ["usage", "-f", "-", "--quota", quota_file, "-o"]
    as_json = moorage(*arguments, "json", stdin=listed(*DUMP)).json
    assert yaml.safe_load(moorage(*arguments, "yaml", stdin=listed(*DUMP)).out) == as_json


def test_the_table_names_each_resource_once_and_what_is_not_counted(moorage: Moorage, tmp_path: Any) -> None:
    hard = {"requests.cpu": 4, "services.nodeports": 5, "secrets": 1, "example.com/gpu": 1}
    path = tmp_path / "quota.json"
    path.write_text(json.dumps(QUOTA | {"spec": {"hard": hard}}))
    answer = moorage("usage", "-f", "-", "--quota", str(path), stdin=listed(*DUMP))
    assert answer.out == (
        "NamespaceQuota a/q\n"
        "  requests.cpu        3 of 4   75%\n"
        "  secrets             1 of 1  100%\n"
        "  services.nodeports  2 of 5   40%\n"
        "  not counted: example.com/gpu is never counted; write requests.example.com/gpu\n"
        "  held by\n"
        "    requests.cpu        Pod/alone       2  1 pod\n"
        "                        Deployment/web  1  2 pods\n"
        "    secrets             Secret/token    1\n"
        "    services.nodeports  Service/web     2\n"
    )


def test_a_typed_list_passes_its_kind_and_version_on(moorage: Moorage, quota_file: str) -> None:
    widgets = [{"metadata": meta(name)} for name in "ab"]
    text = json.dumps({"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": {}, "items": widgets})
    answer = moorage("usage", "-f", "-", "--quota", quota_file, "-o", "json", stdin=text)
    assert answer.json["quotas"][0]["used"]["count/widgets.example.com"] == "2"


def test_an_object_that_is_in_two_dumps_counts_once(moorage: Moorage, quota_file: str) -> None:
    answer = moorage("usage", "-f", "-", "--quota", quota_file, "-o", "json", stdin=listed(*DUMP, *DUMP))
    assert answer.json["quotas"][0]["used"] == USED


def test_definitions_name_the_plurals_that_nobody_could_guess(moorage: Moorage, tmp_path: Any) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "geese.example.com"},
        "spec": {"group": "example.com", "names": {"kind": "Goose", "plural": "geese", "singular": "goose"}},
    }
    path = tmp_path / "quota.json"
    path.write_text(
        json.dumps(QUOTA | {"spec": {"hard": {"count/geese.example.com": 5, "count/gooses.example.com": 5}}})
    )
    arguments = ["usage", "-f", "-", "--quota", str(path), "-o", "json"]
    gander = item("Goose", "gander", "example.com/v1")
    found = moorage(*arguments, stdin=listed(definition, gander)).json["quotas"][0]["used"]
    assert found == {"count/geese.example.com": "1", "count/gooses.example.com": "0"}
    found = moorage(*arguments, stdin=listed(gander)).json["quotas"][0]["used"]
    assert found == {"count/geese.example.com": "0", "count/gooses.example.com": "1"}


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Lease", "leases"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Endpoints", "endpoints"),
        ("Elasticsearch", "elasticsearches"),
        ("Mailbox", "mailboxes"),
    ],
)
def test_without_a_definition_the_plural_is_guessed(moorage: Moorage, tmp_path: Any, kind: str, plural: str) -> None:
    path = tmp_path / "quota.json"
    path.write_text(json.dumps(QUOTA | {"spec": {"hard": {f"count/{plural}.example.com": 5}}}))
    text = listed(item(kind, "it", "example.com/v1"))
    answer = moorage("usage", "-f", "-", "--quota", str(path), "-o", "json", stdin=text)
    assert answer.json["quotas"][0]["used"] == {f"count/{plural}.example.com": "1"}


@pytest.mark.parametrize(("given", "counted"), [([], "4"), ([DUMP[19]], "4"), ([item("DeviceClass", "other")], "0")])
def test_a_device_class_is_taken_to_exist_unless_others_are_given_and_it_is_not(
    moorage: Moorage, tmp_path: Any, given: list[dict[str, Any]], counted: str
) -> None:
    name = "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
    path = tmp_path / "quota.json"
    path.write_text(json.dumps(QUOTA | {"spec": {"hard": {name: 9}}}))
    answer = moorage("usage", "-f", "-", "--quota", str(path), "-o", "json", stdin=listed(*given, DUMP[20]))
    assert answer.json["quotas"][0]["used"] == {name: counted}


def test_scopes_of_volumes_are_counted(moorage: Moorage, tmp_path: Any) -> None:
    terms = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    spec = {"hard": {"persistentvolumeclaims": 5}, "scopeSelector": {"matchExpressions": [terms]}}
    path = tmp_path / "quota.json"
    path.write_text(json.dumps(QUOTA | {"spec": spec}))
    claims = [
        item("PersistentVolumeClaim", "a", spec={"volumeAttributesClassName": "gold"}),
        item("PersistentVolumeClaim", "b", spec={}, status={"currentVolumeAttributesClassName": "gold"}),
        item("PersistentVolumeClaim", "c", spec={"volumeAttributesClassName": "silver"}),
    ]
    answer = moorage("usage", "-f", "-", "--quota", str(path), "-o", "json", stdin=listed(*claims))
    assert answer.json["quotas"][0]["used"] == {"persistentvolumeclaims": "2"}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        pytest.param(
            item("PersistentVolumeClaim", "d", spec={"resources": {"requests": {"storage": "big"}}}),
            "standard input: PersistentVolumeClaim d: 'big' is not a quantity",
            id="storage",
        ),
        pytest.param(
            item("Service", "s", spec={"ports": 80}),
            "standard input: Service s: spec.ports: Expected `array | null`, got `int`",
            id="ports",
        ),
        pytest.param(
            item(
                "ResourceClaim",
                "c",
                "resource.k8s.io/v1",
                spec={"devices": {"requests": [{"exactly": {"count": "2"}}]}},
            ),
            "ResourceClaim c: spec.devices.requests[0].exactly.count: Expected `int | null`, got `str`",
            id="device count",
        ),
        pytest.param(
            item("DeviceClass", "gpu", "resource.k8s.io/v1", spec={"extendedResourceName": 3}),
            "DeviceClass gpu: spec.extendedResourceName: Expected `str | null`, got `int`",
            id="extended resource",
        ),
        pytest.param(
            {"kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "spec": {"group": "x"}},
            "CustomResourceDefinition x: spec: Object missing required field `names`",
            id="definition",
        ),
        pytest.param(
            {"kind": "CustomResourceDefinition", "metadata": {"name": "x"}},
            "CustomResourceDefinition x: Object missing required field `spec`",
            id="definition without a spec",
        ),
        pytest.param(
            {"kind": "Secret", "metadata": {"name": 3}}, "Secret 3: metadata.name: Expected `str`, got `int`", id="name"
        ),
        pytest.param(
            {"kind": "Secret", "metadata": {"name": "s", "ownerReferences": "x"}},
            "Secret s: metadata.ownerReferences: Expected `array | null`, got `str`",
            id="owners",
        ),
        pytest.param({"kind": "Pod", "spec": 3}, "Pod: spec: Expected `object`, got `int`", id="spec"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(
    moorage: Moorage, quota_file: str, document: dict[str, Any], complaint: str
) -> None:
    answer = moorage("usage", "-f", "-", "--quota", quota_file, stdin=listed(document))
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert answer.err.count("\n") == 1
