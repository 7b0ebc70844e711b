"""A CapacityBuffer's size follows its inputs, and says how it came about or what is missing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.objects import (
    SETTLE_SECONDS,
    Object,
    buffer,
    condition,
    deployment,
    pod,
    pod_spec,
    pod_template,
    sizing,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.cluster.recorded import written
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster, KubectlError
from tests.controlplane.waiting import wait_for

pytestmark = pytest.mark.usefixtures("operator")

WEB = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
UNIT = {"name": "unit"}


def test_two_pods_a_second_with_30s_and_90s_take_60_active_and_120_standby(crds: Cluster, namespace: str) -> None:
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, sizing=sizing()), namespace=namespace)
    status = wait_for_status(
        crds, namespace, "cbuf/buffer", {"replicas": 180, "active": {"replicas": 60}, "standby": {"replicas": 120}}
    )
    assert status["sizing"]["explanation"] == "active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60"
    assert status["sizing"]["unit"] == {"cpu": "100m", "memory": "64Mi"}
    assert status["observedGeneration"] == 1
    assert condition(status, "Ready")["status"] == "True"


def test_a_changed_rate_changes_the_size(crds: Cluster, namespace: str) -> None:
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, sizing=sizing()), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 180})
    crds.apply(buffer(podTemplateRef=UNIT, sizing=sizing(rate="0.07", resume="100s", cold="200s")), namespace=namespace)
    expected = {"observedGeneration": 2, "active": {"replicas": 7}, "standby": {"replicas": 7}}
    wait_for_status(crds, namespace, "cbuf/buffer", expected)


def test_a_percentage_follows_the_workload_as_it_scales(crds: Cluster, namespace: str) -> None:
    crds.apply(deployment(replicas=10), buffer(scalableRef=WEB, percentage=25), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3, "sizing": {"workloadReplicas": 10}})
    crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=2")
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 1, "sizing": {"workloadReplicas": 2}})


def test_a_workload_without_its_group_is_found_among_the_builtin_ones(crds: Cluster, namespace: str) -> None:
    ref = {"kind": "Deployment", "name": "web"}
    crds.apply(deployment(replicas=4), buffer(scalableRef=ref, percentage=50), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2})


def test_a_job_counts_by_its_parallelism(crds: Cluster, namespace: str) -> None:
    spec = {"parallelism": 6, "completions": 60, "template": {"spec": pod_spec(restartPolicy="Never")}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "crunch"}, "spec": spec}
    ref = {"apiGroup": "batch", "kind": "Job", "name": "crunch"}
    crds.apply(job, buffer(scalableRef=ref, percentage=50), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3, "sizing": {"unit": {"cpu": "100m"}}})
    crds.kubectl("patch", "job", "-n", namespace, "crunch", "-p", '{"spec": {"parallelism": 11}}')
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 6})


def test_limits_cap_the_sum_of_requests_as_the_shape_changes(crds: Cluster, namespace: str) -> None:
    crds.apply(
        pod_template(cpu="1500m"), buffer(podTemplateRef=UNIT, replicas=9, limits={"cpu": 10}), namespace=namespace
    )
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 6, "sizing": {"cap": 6}})
    crds.apply(pod_template(cpu="4"), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2, "sizing": {"cap": 2, "unit": {"cpu": "4"}}})


def test_a_missing_template_is_named_and_heals_by_itself(crds: Cluster, namespace: str) -> None:
    crds.apply(buffer(podTemplateRef=UNIT, replicas=3), namespace=namespace)
    ready = wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "TemplateNotFound")
    assert ready["message"] == f"there is no PodTemplate unit in namespace {namespace}"
    assert "replicas" not in status_of(crds, namespace, "cbuf/buffer")
    crds.apply(pod_template(), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3})
    crds.kubectl("delete", "podtemplate", "-n", namespace, "unit")
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "TemplateNotFound")


def test_a_missing_workload_is_named_and_heals_by_itself(crds: Cluster, namespace: str) -> None:
    crds.apply(buffer(scalableRef=WEB, percentage=50), namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "WorkloadNotFound")
    crds.apply(deployment(replicas=4), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2})


def test_a_kind_without_scale_is_named(crds: Cluster, namespace: str) -> None:
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()},
    }
    daemon_set = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
    ref = {"apiGroup": "apps", "kind": "DaemonSet", "name": "agent"}
    crds.apply(daemon_set, buffer(scalableRef=ref, percentage=50), namespace=namespace)
    ready = wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "ScaleUnsupported")
    assert "daemonsets.apps have no /scale" in ready["message"]
    assert "spec.selector" in ready["message"]


class TestPodsByTheirLabels:
    """For workloads whose kind has no /scale."""

    SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}

    def test_their_number_and_the_newest_of_them_make_the_size(self, crds: Cluster, namespace: str) -> None:
        web = buffer(selector=self.SELECTOR, percentage=50, limits={"cpu": 1})
        crds.apply(deployment(replicas=4, cpu="200m"), web, namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2, "sizing": {"workloadReplicas": 4, "cap": 5}})
        crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=6")
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3, "sizing": {"workloadReplicas": 6}})
        crds.apply(deployment("other", replicas=3), namespace=namespace)
        crds.kubectl("delete", "deployment/web", "-n", namespace, "--cascade=orphan")
        crds.apply(pod(cpu="300m"), namespace=namespace)
        crds.kubectl("label", "pod", "pod", "app=web", "-n", namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"sizing": {"unit": {"cpu": "300m"}, "cap": 3}})

    def test_without_any_left_the_shape_stays(self, crds: Cluster, namespace: str) -> None:
        crds.apply(deployment(replicas=2, cpu="200m"), namespace=namespace)
        crds.apply(buffer(selector=self.SELECTOR, replicas=9, limits={"cpu": 1}), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5, "sizing": {"workloadReplicas": 2}})
        crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=0")
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5, "sizing": {"workloadReplicas": 0}}, timeout=60)

    def test_before_there_is_one_limits_have_nothing_to_go_by(self, crds: Cluster, namespace: str) -> None:
        crds.apply(buffer(selector=self.SELECTOR, replicas=9, limits={"cpu": 1}), namespace=namespace)
        wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "ShapeUnknown")
        crds.apply(deployment(replicas=1, cpu="200m"), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5})


class TestAWorkloadAtZero:
    """Scale from zero: what rates and replicas ask for stays."""

    @pytest.mark.parametrize(
        ("spec", "before", "after"),
        [
            pytest.param({"sizing": sizing(), "percentage": 50}, 180, 180, id="rates"),
            pytest.param({"replicas": 3, "percentage": 50}, 5, 3, id="replicas"),
            pytest.param({"percentage": 50}, 5, 0, id="percentage alone"),
            pytest.param({"percentage": 50, "limits": {"cpu": 9}}, 5, 0, id="limits do not take its place"),
        ],
    )
    def test_keeps_its_buffer(
        self, crds: Cluster, namespace: str, spec: dict[str, Any], before: int, after: int
    ) -> None:
        crds.apply(deployment(replicas=10), buffer(scalableRef=WEB, **spec), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": before, "sizing": {"workloadReplicas": 10}})
        crds.kubectl("scale", "-n", namespace, "deployment/web", "--replicas=0")
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": after, "sizing": {"workloadReplicas": 0}})


def test_a_scale_is_followed_within_two_seconds(
    crds: Cluster, namespace: str, rest: Rest, figure: Callable[[str], None]
) -> None:
    crds.apply(deployment(replicas=10), buffer(scalableRef=WEB, percentage=50), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5})
    took = []
    for replicas in (20, 2, 60, 8, 40):
        began = time.time()
        changes = {"spec": {"replicas": replicas}}
        rest.patch(namespace, "Deployment", "web", changes, version="apps/v1", sub="scale").require()

        def followed(wanted: int = replicas // 2) -> Object | None:
            found = rest.get(namespace, "CapacityBuffer", "buffer", "moorage.dev/v1alpha1").require()
            return found if found["status"]["replicas"] == wanted else None

        found = wait_for(followed, timeout=SETTLE_SECONDS, message=f"half of {replicas}")
        seen = time.time() - began
        figure(f"a scale to {replicas} was seen in the buffer's status after {seen:.2f} s")
        took.append(written(found, part="status") - began)
    # A machine without time to spare delays some of them. An operator that looks now and then, in place of following,
    # would be late for all but the first: each scale comes right after it has looked.
    figure(
        "scales were written to the buffer's status after " + ", ".join(f"{max(each, 0):.1f}" for each in took) + " s"
    )
    assert min(took[1:]) <= 2, took


def test_a_kind_that_is_not_served_is_named_and_found_once_it_is(crds: Cluster, namespace: str) -> None:
    ref = {"apiGroup": "demo.moorage.dev", "kind": "Fleet", "name": "red"}
    crds.apply(buffer(scalableRef=ref, percentage=50), namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "KindNotServed")
    crds.apply(_fleets())
    try:
        crds.wait_until_served("fleets.demo.moorage.dev")
        fleet = {"apiVersion": "demo.moorage.dev/v1", "kind": "Fleet", "metadata": {"name": "red"}, "spec": {"size": 7}}
        crds.apply(fleet, namespace=namespace)
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 4}, timeout=30)
        assert "unit" not in status["sizing"], "this kind has no pod template, and no pods yet"
        told = json.dumps({"status": {"size": 7, "selector": "fleet=red"}})
        crds.kubectl("patch", "fleet", "red", "-n", namespace, "--subresource=status", "--type=merge", "-p", told)
        ship = {**pod(cpu="350m"), "metadata": {"name": "ship", "labels": {"fleet": "red"}}}
        crds.apply(ship, pod("stranger", cpu="2"), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 4, "sizing": {"unit": {"cpu": "350m"}}})
    finally:
        crds.kubectl("delete", "crd", "fleets.demo.moorage.dev")


def test_no_reference_and_no_size_are_accepted_and_named(crds: Cluster, namespace: str) -> None:
    crds.apply(buffer("nothing"), deployment(), buffer("sizeless", scalableRef=WEB), namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/nothing", "Ready", "False", "NoReference")
    ready = wait_for_condition(crds, namespace, "cbuf/sizeless", "Ready", "False", "NoSize")
    assert "spec.sizing, spec.replicas, spec.percentage" in ready["message"]


def test_limits_that_name_nothing_the_unit_requests_are_named(crds: Cluster, namespace: str) -> None:
    limits = {"nvidia.com/gpu": 4}
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=3, limits=limits), namespace=namespace)
    ready = wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "LimitsMatchNothing")
    assert "spec.limits names nvidia.com/gpu, but a unit requests cpu, memory" in ready["message"]


def test_a_resume_that_is_not_faster_is_accepted_with_a_condition(crds: Cluster, namespace: str) -> None:
    slow = sizing(resume="2m", cold="90s")
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, sizing=slow), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"active": {"replicas": 180}, "standby": {"replicas": 0}})
    told = wait_for_condition(crds, namespace, "cbuf/buffer", "StandbyUnsupported", "True", "ResumeNotFaster")
    assert "standbyResumeLatency (120s) is not below coldNodeLatency (90s)" in told["message"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("buffer.x-k8s.io/active-capacity", {"active": {"replicas": 180}, "standby": {"replicas": 0}}),
        ("buffer.gke.io/standby-capacity", {"active": {"replicas": 0}, "standby": {"replicas": 120}}),
    ],
)
def test_a_strategy_puts_all_units_into_its_tier(
    crds: Cluster, namespace: str, strategy: str, expected: Object
) -> None:
    one = buffer(podTemplateRef=UNIT, sizing=sizing(), provisioningStrategy=strategy)
    crds.apply(pod_template(), one, namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {**expected, "provisioningStrategy": strategy})


def test_an_unknown_strategy_is_named(crds: Cluster, namespace: str) -> None:
    one = buffer(podTemplateRef=UNIT, replicas=1, provisioningStrategy="example.com/frozen")
    crds.apply(pod_template(), one, namespace=namespace)
    wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "UnsupportedStrategy")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"sizing": sizing(resume="-1s")}, "must not be negative"),
        ({"sizing": sizing(cold="0s")}, "must be more than zero"),
        ({"sizing": sizing(rate="fast")}, "is not a rate"),
        ({"replicas": -1}, "should be greater than or equal to 0"),
        ({"replicas": 2**31}, "less than or equal to 2147483647"),
        ({"limits": {"cpu": "much"}}, "is not a quantity"),
    ],
)
def test_bad_input_is_refused_and_disturbs_no_other_buffer(
    crds: Cluster, namespace: str, spec: dict[str, Any], complaint: str
) -> None:
    crds.apply(pod_template(), buffer("good", podTemplateRef=UNIT, replicas=2), namespace=namespace)
    with pytest.raises(KubectlError, match=complaint):
        crds.apply(buffer("bad", podTemplateRef=UNIT, **spec), namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/good", {"replicas": 2})


def test_scale_moves_the_size_and_with_sizing_the_floor(crds: Cluster, namespace: str) -> None:
    crds.apply(
        pod_template(),
        buffer("fixed", podTemplateRef=UNIT, replicas=2),
        buffer("sized", podTemplateRef=UNIT, replicas=2, sizing=sizing()),
        namespace=namespace,
    )
    for name in ("fixed", "sized"):
        crds.kubectl("scale", "-n", namespace, f"cbuf/{name}", "--replicas=200")
    wait_for_status(crds, namespace, "cbuf/fixed", {"replicas": 200})
    status = wait_for_status(crds, namespace, "cbuf/sized", {"replicas": 200, "active": {"replicas": 60}})
    assert status["sizing"]["floor"] == 200
    scale = json.loads(
        crds.kubectl("get", "--raw", f"/apis/moorage.dev/v1alpha1/namespaces/{namespace}/capacitybuffers/sized/scale")
    )
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (200, 200)
    assert scale["status"]["selector"] == "moorage.dev/buffer=sized"


def test_an_autoscaler_takes_a_buffer_as_its_target(crds: Cluster, namespace: str) -> None:
    """It asks /scale for a selector and gives up without one; that no metric is served is all that is missing here."""
    target = {"apiVersion": "moorage.dev/v1alpha1", "kind": "CapacityBuffer", "name": "buffer"}
    wanted = {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": 1}}
    spec = {
        "scaleTargetRef": target,
        "minReplicas": 4,
        "maxReplicas": 9,
        "metrics": [{"type": "External", "external": wanted}],
    }
    meta = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "night"}}
    crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=2), meta | {"spec": spec}, namespace=namespace)
    wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 4}, timeout=60)
    wait_for_condition(crds, namespace, "hpa/night", "ScalingActive", "False", "FailedGetExternalMetric", timeout=60)


def test_a_template_that_cannot_be_read_leaves_open_what_is_there(crds: Cluster, namespace: str) -> None:
    """A custom kind may hold anything where others have a pod template."""
    unit = {"metadata": {"labels": {"app": "unit"}}, "spec": pod_spec(tolerations="all")}
    ref = {"apiGroup": "demo.moorage.dev", "kind": "Fleet", "name": "red"}
    fleet = {"apiVersion": "demo.moorage.dev/v1", "kind": "Fleet", "metadata": {"name": "red"}}
    crds.apply(_fleets())
    try:
        crds.wait_until_served("fleets.demo.moorage.dev")
        crds.apply(fleet | {"spec": {"size": 7, "template": unit}}, namespace=namespace)
        crds.apply(buffer(scalableRef=ref, replicas=3), namespace=namespace)
        wait_for_condition(crds, namespace, "cbuf/buffer", "UnitAdmitted", "False", "Refused")
        told = wait_for_condition(crds, namespace, "cbuf/buffer", "Provisioned", "Unknown", "UnitUnreadable")
        assert told["message"].startswith("the pod template of a unit cannot be read: ")
        assert told["message"].endswith("at `$.spec.tolerations`")
        wait_for_condition(crds, namespace, "cbuf/buffer", "Infeasible", "Unknown", "UnitUnreadable")
        whole = {"metadata": unit["metadata"], "spec": pod_spec()}
        crds.apply(fleet | {"spec": {"size": 7, "template": whole}}, namespace=namespace)
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3})

        def is_read() -> bool:
            found = condition(status_of(crds, namespace, "cbuf/buffer"), "Provisioned")
            return bool(found["reason"] != "UnitUnreadable")

        wait_for(is_read, timeout=SETTLE_SECONDS, message=f"the template to be read; {status}")
    finally:
        crds.kubectl("delete", "crd", "fleets.demo.moorage.dev")


def _fleets() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
                "labelSelectorPath": ".status.selector",
            },
        },
    }
    names = {"kind": "Fleet", "plural": "fleets", "singular": "fleet"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "fleets.demo.moorage.dev"},
        "spec": {"group": "demo.moorage.dev", "names": names, "scope": "Namespaced", "versions": [version]},
    }
