"""Workloads whose pods will not fit are told so when they are applied or scaled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.admission.workloads import Replicated, WorkloadObject, replicated
from tests.builders import limits, pod_spec
from tests.unit.admission.judging import Object, container, knowing, known, of_deployment, request

ROOM_FOR_TEN = {"hard": {"pods": "10", "requests.cpu": "100"}}
TARGETS = {
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicaSet": "replicasets.apps",
    "Job": "jobs.batch",
}


def workload(
    kind: str = "Deployment",
    replicas: int | None = None,
    *,
    cpu: str | None = "100m",
    owner: Object | None = None,
    **spec: Any,
) -> Object:
    """A workload named `web`."""
    one = container(requests=None if cpu is None else {"cpu": cpu})
    meta: Object = {"name": "web", "namespace": "team-a"}
    if owner is not None:
        meta["ownerReferences"] = [owner | {"controller": True}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [one]}}
    return {"kind": kind, "metadata": meta, "spec": {"template": template, "replicas": replicas} | spec}


def surging(surge: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 0}}


def warned(*quotas: Any, of: Object, **options: Any) -> list[str]:
    answer = knowing(*quotas).ask(request(TARGETS[of["kind"]], of, **options))
    assert answer.allowed
    return list(answer.warnings)


@pytest.mark.parametrize(
    ("applied", "says"),
    [
        pytest.param(workload(replicas=12), "only 10 of the 12 replicas of Deployment/web fit", id="Deployment"),
        pytest.param(workload("StatefulSet", 12), "only 10 of the 12 replicas of StatefulSet/web", id="StatefulSet"),
        pytest.param(workload("ReplicaSet", 11), "only 10 of the 11 replicas of ReplicaSet/web", id="ReplicaSet"),
        pytest.param(workload("Job", parallelism=12, completions=40), "10 of the 12 replicas of Job/web", id="Job"),
        pytest.param(workload("Job", parallelism=12), "10 of the 12 replicas of Job/web", id="Job without completions"),
        pytest.param(
            workload(replicas=9, strategy=surging("25%")),
            "9 replicas of Deployment/web fit, but of the 3 pods more of a rolling update (maxSurge) only 1: pods",
            id="the surge, rounded up",
        ),
        pytest.param(workload(replicas=9), "of the 3 pods more", id="the surge that is not written"),
        pytest.param(workload(replicas=9, strategy=surging(2)), "of the 2 pods more", id="a surge in pods"),
        pytest.param(
            workload(replicas=10, strategy=surging(2)),
            "only 0, and it will be stuck, since maxUnavailable is 0: pods",
            id="a rollout that will be stuck",
        ),
    ],
)
def test_pods_that_will_not_fit_are_told(applied: Object, says: str) -> None:
    [warning] = warned(known("team", **ROOM_FOR_TEN), of=applied)
    assert says in warning
    assert warning.startswith("NamespaceQuota team: ")
    assert warning.endswith("pods has 10 for them, and each takes 1")


@pytest.mark.parametrize(
    "applied",
    [
        pytest.param(workload(), id="one replica, which is the default"),
        pytest.param(workload(replicas=8), id="replicas with their surge"),
        pytest.param(workload(replicas=10, strategy={"type": "Recreate"}), id="no surge"),
        pytest.param(workload(replicas=10, strategy=surging(0)), id="a surge of 0"),
        pytest.param(workload("StatefulSet", 10), id="StatefulSets have none"),
        pytest.param(workload("Job", parallelism=40, completions=10), id="few completions"),
        pytest.param(workload("Job", parallelism=40, suspend=True), id="a Job that waits"),
        pytest.param(workload("ReplicaSet", 40, owner=of_deployment()), id="a Deployment's ReplicaSet"),
    ],
)
def test_what_fits_is_not_warned_of(applied: Object) -> None:
    assert warned(known("team", **ROOM_FOR_TEN), of=applied) == []


def test_the_limit_that_lets_fewest_in_is_named() -> None:
    small = known("small", hard={"requests.cpu": "1"}, used={"requests.cpu": "400m"})
    [warning] = warned(known("team", **ROOM_FOR_TEN), small, of=workload(replicas=4, cpu="250m"))
    assert warning == (
        "NamespaceQuota small: only 2 of the 4 replicas of Deployment/web fit: requests.cpu has 600m for them, and "
        "each takes 250m"
    )


@pytest.mark.parametrize(("replicas", "warnings"), [(10, 0), (11, 1)])
def test_what_the_workload_holds_already_is_its_own_room(replicas: int, warnings: int) -> None:
    team = known(hard={"pods": "10"}, used={"pods": "10"}, held={"pods": [("Deployment/web", "10", 10)]})
    applied = workload(replicas=replicas, strategy=surging(0))
    assert len(warned(team, of=applied, operation="UPDATE", old=workload(replicas=10))) == warnings


@pytest.mark.parametrize(
    ("quota", "says"),
    [
        pytest.param(
            known("team", limits(max={"cpu": "50m"})),
            "no pod of Deployment/web will be admitted: maximum cpu per Container is 50m",
            id="a bound",
        ),
        pytest.param(known(hard={"requests.memory": "1Gi"}), "must specify requests.memory", id="a missing amount"),
    ],
)
def test_a_template_that_no_pod_of_can_be_admitted_is_told(quota: Any, says: str) -> None:
    [warning] = warned(quota, of=workload())
    assert says in warning


def test_defaults_fill_in_the_template() -> None:
    team = known("team", limits(default_request={"cpu": "1"}), hard={"requests.cpu": "3"})
    [warning] = warned(team, of=workload(replicas=4, cpu=None))
    assert "only 3 of the 4 replicas of Deployment/web fit" in warning


def test_quotas_in_audit_mode_do_not_warn() -> None:
    assert warned(known(audit=True, **ROOM_FOR_TEN), of=workload(replicas=40)) == []


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize(("replicas", "warnings"), [(7, 0), (12, 1)])
def test_a_change_of_scale_is_looked_at_with_the_template_that_is_stored(
    kind: str, replicas: int, warnings: int
) -> None:
    bench = knowing(known("team", **ROOM_FOR_TEN))
    bench.workloads[kind, "web"] = Replicated(kind, "team-a", "web", pod_spec(cpu="100m"), 1)
    scale = {"kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": replicas}}
    answer = bench.ask(request(f"{TARGETS[kind]}/scale", scale, operation="UPDATE", name="web"))
    assert (answer.allowed, len(answer.warnings)) == (True, warnings)


def test_a_change_of_scale_of_an_unknown_workload_is_let_go() -> None:
    scale = {"spec": {"replicas": 99}}
    answer = knowing(known("team", **ROOM_FOR_TEN)).ask(request("deployments.apps/scale", scale, operation="UPDATE"))
    assert answer.warnings == ()


def test_what_a_job_has_done_needs_no_pods_any_more() -> None:
    job = workload("Job", parallelism=12, completions=12) | {"status": {"succeeded": 5}}
    assert replicated("Job", msgspec.convert(job, WorkloadObject)).replicas == 7
