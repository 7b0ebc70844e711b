"""What users and tools see of our kinds: names, explain, columns, status, scale."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from moorage.api import (
    HYBRID_STRATEGY,
    CapacityBufferDisplay,
    CapacityBufferStatus,
    Condition,
    NamespaceQuotaDisplay,
    NamespaceQuotaStatus,
    SizingStatus,
    Tier,
)
from moorage.api.namespacequota import AuditCount, DefaultsInForce, HolderStatus, NativeDifference, ResourceHolders
from moorage.api.presence import NodesStatus
from moorage.api.provisioning import BackendStatus, RefillStatus
from tests.cluster.crds import OURS, ApiServer
from tests.controlplane.cluster import Cluster
from tests.controlplane.waiting import wait_for

QUOTA_SPEC = {"hard": {"requests.cpu": "20", "requests.memory": "64Gi", "pods": 100}}
BUFFER_SPEC = {
    "scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"},
    "sizing": {"scaleUpRate": 2, "standbyResumeLatency": "30s", "coldNodeLatency": "90s"},
}
READY = Condition(
    type="Ready",
    status="True",
    reason="Reconciled",
    message="all is counted",
    last_transition_time="2026-01-02T03:04:05Z",
    observed_generation=1,
)
ENFORCED = msgspec.structs.replace(READY, type="Enforced", reason="Proved", message="proved on the API server")
QUOTA_STATUS = NamespaceQuotaStatus(
    observed_generation=1,
    hard={"requests.cpu": "20", "pods": "100"},
    used={"requests.cpu": "7", "pods": "31"},
    buffered={"requests.cpu": "2", "pods": "4"},
    remaining={"requests.cpu": "13", "pods": "69"},
    utilization={"requests.cpu": "35%", "pods": "31%"},
    summary=("requests.cpu   7 of 20   35%", "pods   31 of 100   31%"),
    display=NamespaceQuotaDisplay(cpu="7/20", memory="18Gi/64Gi", pods="31/100", fullest="cpu 35%"),
    holders=(ResourceHolders(resource="pods", top=(HolderStatus(workload="Deployment/web", used="30", pods=30),)),),
    native=(
        NativeDifference(resource_quota="old", resource="pods", used="33", counted="31", since="2026-01-31T12:00:00Z"),
    ),
    defaults=DefaultsInForce(default={"memory": "512Mi"}),
    would_refuse=(AuditCount(reason="total", objects=3),),
    conditions=(READY, ENFORCED),
)
BUFFER_STATUS = CapacityBufferStatus(
    observed_generation=1,
    replicas=180,
    selector="moorage.dev/buffer=web",
    ready_replicas=172,
    active=Tier(replicas=60, ready_replicas=52, consumed=8, refilling=8),
    standby=Tier(replicas=120, ready_replicas=120),
    nodes=NodesStatus(group="c4", units_per_node=27, bound_by="pods", active=3, standby=4),
    pod_template_generation=2,
    provisioning_strategy=HYBRID_STRATEGY,
    sizing=SizingStatus(
        method="Mean",
        scale_up_rate="2",
        standby_resume_latency="30s",
        cold_node_latency="90s",
        workload_replicas=50,
        unit={"cpu": "1", "memory": "2Gi"},
        floor=10,
        cap=400,
        room=250,
        explanation="active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60",
    ),
    backend=BackendStatus(name="Autoscaler", controller="GKE", reason="it is served and GKE answers"),
    refill=RefillStatus(withheld=3, next_time="2026-01-02T03:04:05Z"),
    display=CapacityBufferDisplay(strategy="Hybrid", active="60", standby="120", rate="2/s"),
    conditions=(READY,),
)


@pytest.fixture
def quota(api_server: ApiServer, namespace: str) -> str:
    """A NamespaceQuota with a status, in the test's namespace."""
    api_server.create("NamespaceQuota", namespace, "team-a", QUOTA_SPEC)
    api_server.patch("NamespaceQuota", namespace, "team-a", {"status": msgspec.to_builtins(QUOTA_STATUS)})
    return "team-a"


@pytest.fixture
def buffer(api_server: ApiServer, namespace: str) -> str:
    """A CapacityBuffer with a status, in the test's namespace."""
    api_server.create("CapacityBuffer", namespace, "web", BUFFER_SPEC)
    api_server.patch("CapacityBuffer", namespace, "web", {"status": msgspec.to_builtins(BUFFER_STATUS)})
    return "web"


def columns(text: str) -> list[dict[str, str]]:
    """Read the table that kubectl prints; its columns start where their heads do."""
    head, *rows = text.splitlines()
    names, starts = zip(*[(found[0], found.start()) for found in re.finditer(r"\S+", head)], strict=True)
    ends = [*starts[1:], None]
    return [
        {name: row[start:end].strip() for name, start, end in zip(names, starts, ends, strict=True)} for row in rows
    ]


def test_kubectl_get_shows_usage_of_a_quota(crds: Cluster, namespace: str, quota: str) -> None:
    (row,) = columns(crds.kubectl("get", "nsq", "-n", namespace))
    assert row.pop("AGE")
    assert row == {
        "NAME": quota,
        "CPU": "7/20",
        "MEMORY": "18Gi/64Gi",
        "PODS": "31/100",
        "FULLEST": "cpu 35%",
        "ENFORCED": "True",
        "READY": "True",
    }


def test_kubectl_get_shows_the_size_of_a_buffer(crds: Cluster, namespace: str, buffer: str) -> None:
    (row,) = columns(crds.kubectl("get", "cbuf", "-n", namespace))
    assert row.pop("AGE")
    assert row == {
        "NAME": buffer,
        "STRATEGY": "Hybrid",
        "ACTIVE": "60",
        "STANDBY": "120",
        "RATE": "2/s",
        "BACKEND": "Autoscaler",
        "READY": "True",
    }


@pytest.mark.parametrize("short", ["nsq", "cbuf"])
def test_the_wide_form_adds_the_reason(crds: Cluster, namespace: str, quota: str, buffer: str, short: str) -> None:
    (row,) = columns(crds.kubectl("get", short, "-n", namespace, "-o", "wide"))
    assert row["REASON"] == "Reconciled"


def test_an_object_without_status_shows_empty_columns(crds: Cluster, api_server: ApiServer, namespace: str) -> None:
    api_server.create("NamespaceQuota", namespace, "new", QUOTA_SPEC)
    assert crds.kubectl("get", "nsq", "-n", namespace, "--no-headers").split()[0] == "new"


@pytest.mark.usefixtures("quota", "buffer")
def test_the_category_lists_both_kinds_and_all_lists_neither(crds: Cluster, namespace: str) -> None:
    ours = crds.kubectl("get", "moorage", "-n", namespace, "-o", "name").split()
    assert ours == ["capacitybuffer.moorage.dev/web", "namespacequota.moorage.dev/team-a"]
    assert crds.kubectl("get", "all", "-n", namespace, "-o", "name") == ""


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("nsq", "how much a namespace may use"),
        ("nsq.spec.hard", "names are those of a ResourceQuota"),
        ("nsq.spec.hard", 'Quote fractions ("0.5")'),
        ("nsq.spec.scopeSelector.matchExpressions.operator", "Scopes other than PriorityClass"),
        ("nsq.status.used", "What is used of each resource in hard"),
        ("cbuf", "cbuf and capacitybuffers.moorage.dev mean this one"),
        ("cbuf.spec.sizing", "2 pods per second with 30s and 90s is 180 units, 60 active and 120 standby"),
        ("cbuf.spec.sizing.scaleUpRate", '"120/m" is 2'),
        ("cbuf.spec.limits", "rounded down"),
        ("cbuf.status.conditions.observedGeneration", "The metadata.generation of the spec"),
    ],
)
def test_kubectl_explain_is_the_manual(crds: Cluster, field: str, words: str) -> None:
    def explanation() -> str:
        return " ".join(crds.kubectl("explain", field, f"--api-version={OURS}").split())

    wait_for(lambda: words in explanation(), timeout=15, message=lambda: f"{words!r} in: {explanation()}")


@pytest.mark.parametrize(
    ("kind", "spec", "status"),
    [("NamespaceQuota", QUOTA_SPEC, QUOTA_STATUS), ("CapacityBuffer", BUFFER_SPEC, BUFFER_STATUS)],
    ids=["NamespaceQuota", "CapacityBuffer"],
)
def test_every_status_field_of_the_models_is_kept(
    api_server: ApiServer, namespace: str, kind: str, spec: dict[str, Any], status: msgspec.Struct
) -> None:
    api_server.create(kind, namespace, "whole", spec)
    written = msgspec.to_builtins(status)
    missing = [field for field in type(status).__struct_encode_fields__ if field not in written]
    assert missing == [], "the example above must give every field"
    assert api_server.patch(kind, namespace, "whole", {"status": written})["status"] == json.loads(
        msgspec.json.encode(status)
    )


def test_nothing_is_filled_in_that_the_user_left_out(api_server: ApiServer, namespace: str) -> None:
    assert api_server.create("CapacityBuffer", namespace, "plain", BUFFER_SPEC)["spec"] == BUFFER_SPEC
    assert api_server.create("NamespaceQuota", namespace, "plain", QUOTA_SPEC)["spec"] == QUOTA_SPEC


def test_unknown_fields_are_pruned_where_validation_is_off(api_server: ApiServer, namespace: str) -> None:
    spec = QUOTA_SPEC | {"hrad": {}}
    stored = api_server.create("NamespaceQuota", namespace, "odd", spec, fieldValidation="Ignore")
    assert stored["spec"] == QUOTA_SPEC


def test_a_spec_change_raises_the_generation_and_a_status_change_does_not(
    api_server: ApiServer, namespace: str, quota: str
) -> None:
    status = {"status": {"observedGeneration": 7}}
    assert api_server.patch("NamespaceQuota", namespace, quota, status)["metadata"]["generation"] == 1
    both = {"spec": {"scopes": ["NotTerminating"]}, "status": {"observedGeneration": 9}}
    stored = api_server.patch("NamespaceQuota", namespace, quota, {**both, "metadata": {}})
    assert (stored["metadata"]["generation"], stored["status"]["observedGeneration"]) == (2, 7)


def test_scopes_can_be_changed_later(api_server: ApiServer, namespace: str) -> None:
    api_server.create("NamespaceQuota", namespace, "scoped", {"scopes": ["Terminating"]})
    stored = api_server.patch("NamespaceQuota", namespace, "scoped", {"spec": {"scopes": ["NotTerminating"]}})
    assert stored["spec"]["scopes"] == ["NotTerminating"]


def test_conditions_of_two_writers_live_side_by_side(crds: Cluster, namespace: str, quota: str) -> None:
    other = msgspec.to_builtins(READY) | {"type": "Audited"}
    body = {
        "apiVersion": OURS,
        "kind": "NamespaceQuota",
        "metadata": {"name": quota, "namespace": namespace},
        "status": {"conditions": [other]},
    }
    crds.kubectl("apply", "--server-side", "--subresource=status", "--field-manager=auditor", "-f", "-", stdin=body)
    status = crds.get("nsq", quota, "-n", namespace)["status"]
    assert sorted(each["type"] for each in status["conditions"]) == ["Audited", "Enforced", "Ready"]


def test_kubectl_scale_writes_the_replicas_of_a_buffer(crds: Cluster, namespace: str, buffer: str) -> None:
    crds.kubectl("scale", "cbuf", buffer, "-n", namespace, "--replicas=12")
    stored = crds.get("cbuf", buffer, "-n", namespace)
    assert stored["spec"]["replicas"] == 12
    assert stored["metadata"]["generation"] == 2


def test_the_scale_of_a_buffer_tells_what_is_wanted_and_what_is_sized(
    crds: Cluster, api_server: ApiServer, namespace: str, buffer: str
) -> None:
    api_server.patch("CapacityBuffer", namespace, buffer, {"spec": {"replicas": 10}})
    scale = json.loads(
        crds.kubectl("get", "--raw", f"/apis/{OURS}/namespaces/{namespace}/capacitybuffers/{buffer}/scale")
    )
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (10, 180)
    assert scale["status"]["selector"] == "moorage.dev/buffer=web"


def test_the_api_server_has_nothing_to_say_against_the_definitions(crds: Cluster) -> None:
    for name in ("namespacequotas.moorage.dev", "capacitybuffers.moorage.dev"):
        conditions = crds.get("crd", name)["status"]["conditions"]
        assert {each["type"]: each["status"] for each in conditions} == {"NamesAccepted": "True", "Established": "True"}
