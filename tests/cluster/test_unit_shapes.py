"""A unit is what the API server would store for a pod of the template: found by trials that store nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from moorage.cluster.client import Client
from moorage.cluster.credentials import Credentials
from moorage.cluster.unit_shape import Shape, TrialPace, UnitShape
from moorage.resources import pod_resources
from tests.builders import nano
from tests.cluster.objects import (
    Object,
    buffer,
    deployment,
    pod_spec,
    pod_template,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane.cluster import Cluster
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.waiting import wait_for_async

UNIT = {"name": "unit"}
QUICK = TrialPace(least=0.1, again=0.3, retry=0.3)
SETTLE_SECONDS = 20.0


def limit_range(cpu: str = "200m", memory: str = "256Mi") -> Object:
    limits = [{"type": "Container", "defaultRequest": {"cpu": cpu, "memory": memory}}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"}, "spec": {"limits": limits}}


def resource_quota(**hard: str | int) -> Object:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": hard}}


def bare_template(**metadata: object) -> Object:
    """A PodTemplate whose container asks for nothing."""
    template = {"metadata": metadata, "spec": {"containers": [{"name": "app", "image": "app"}]}}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "unit"}, "template": template}


@pytest.mark.usefixtures("operator")
class TestWhatABufferShows:
    def test_a_limit_range_fills_in_what_the_template_leaves_out(self, crds: Cluster, namespace: str) -> None:
        crds.apply(limit_range(), namespace=namespace)
        crds.apply(bare_template(), buffer(podTemplateRef=UNIT, replicas=9, limits={"cpu": "1"}), namespace=namespace)
        unit = {"cpu": "200m", "memory": "256Mi"}
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5, "sizing": {"unit": unit}})
        wait_for_condition(crds, namespace, "cbuf/buffer", "UnitAdmitted", "True", "Admitted")
        assert crds.get("pods", "-n", namespace) == [], "a trial stores nothing"

    def test_a_changed_template_is_tried_anew(self, crds: Cluster, namespace: str) -> None:
        crds.apply(limit_range(), pod_template(cpu="100m"), namespace=namespace)
        crds.apply(buffer(podTemplateRef=UNIT, replicas=2), namespace=namespace)
        first = wait_for_status(crds, namespace, "cbuf/buffer", {"sizing": {"unit": {"cpu": "100m"}}})
        crds.apply(pod_template(cpu="300m"), namespace=namespace)
        second = wait_for_status(crds, namespace, "cbuf/buffer", {"sizing": {"unit": {"cpu": "300m"}}})
        assert first["podTemplateGeneration"] == 1
        assert second["podTemplateGeneration"] == 2, "row KP-S18: it must not go back"

    def test_a_workload_is_tried_as_well(self, crds: Cluster, namespace: str) -> None:
        spec = pod_spec()
        del spec["containers"][0]["resources"]
        web = deployment(replicas=0)
        web["spec"]["template"]["spec"] = spec
        crds.apply(limit_range(cpu="70m"), namespace=namespace)
        ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
        crds.apply(web, buffer(scalableRef=ref, replicas=2), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"sizing": {"unit": {"cpu": "70m"}}})

    def test_a_full_namespace_refuses_the_trial_and_the_buffer_is_sized_all_the_same(
        self, crds: Cluster, namespace: str
    ) -> None:
        crds.apply(resource_quota(pods=0), namespace=namespace)
        crds.kubectl("wait", "-n", namespace, "--for=jsonpath={.status.hard.pods}=0", "resourcequota/full")
        crds.apply(pod_template(cpu="1"), buffer(podTemplateRef=UNIT, replicas=2), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 0, "sizing": {"unit": {"cpu": "1"}}})
        told = wait_for_condition(crds, namespace, "cbuf/buffer", "UnitAdmitted", "False", "QuotaExceeded")
        assert "exceeded quota: full" in told["message"]
        assert told["message"].endswith("a unit counts as the template says, with the API's own defaults")
        wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "True", "Reconciled")

    def test_a_template_whose_pods_would_be_refused_says_so(self, crds: Cluster, namespace: str) -> None:
        crds.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        crds.apply(pod_template(hostNetwork=True), buffer(podTemplateRef=UNIT, replicas=2), namespace=namespace)
        told = wait_for_condition(crds, namespace, "cbuf/buffer", "UnitAdmitted", "False", "Refused")
        assert 'violates PodSecurity "restricted' in told["message"]
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 2})


# One template by itself, tried more often than the operator does


class Followed:
    """A shape that is followed, and what it was on the way."""

    def __init__(self, client: Client, namespace: str, pace: TrialPace) -> None:
        self.seen: list[Shape] = []
        self.shape = UnitShape(client, namespace, turns=asyncio.Semaphore(1), on_change=self._changed, pace=pace)

    def _changed(self) -> None:
        if self.shape.known is not None:
            self.seen.append(self.shape.known)

    async def until(self, condition: Callable[[Shape], bool], what: str) -> Shape:
        def settled() -> Shape | None:
            known = self.shape.known
            return known if known is not None and condition(known) else None

        return await wait_for_async(settled, timeout=SETTLE_SECONDS, message=lambda: f"{what}; seen: {self.seen[-1:]}")


@asynccontextmanager
async def following(kubeconfig: Path, namespace: str, pace: TrialPace = QUICK) -> AsyncIterator[Followed]:
    async with Client(Credentials.load(kubeconfig)) as client:
        followed = Followed(client, namespace, pace)
        running = asyncio.create_task(followed.shape.run())
        yield followed
        running.cancel()


def template(cpu: str = "", **metadata: object) -> bytes:
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    container = {"name": "app", "image": "app", **resources}
    return msgspec.json.encode({"metadata": metadata, "spec": {"containers": [container]}})


def reason(shape: Shape) -> str:
    return shape.admission.reason if shape.admission is not None else ""


def cpu(shape: Shape) -> int:
    assert shape.spec is not None
    return pod_resources(shape.spec).requests.get("cpu", 0)


async def test_what_changes_without_the_template_is_noticed(control_plane: Cluster, namespace: str) -> None:
    async with following(control_plane.kubeconfig, namespace) as followed:
        followed.shape.want(template())
        await followed.until(lambda shape: reason(shape) == "Admitted" and cpu(shape) == 0, "a unit without requests")
        control_plane.apply(limit_range(cpu="250m"), namespace=namespace)
        await followed.until(lambda shape: cpu(shape) == nano(cpu="250m")["cpu"], "the request of the LimitRange")


async def test_a_namespace_that_fills_up_keeps_the_shape_and_one_with_room_again_is_tried_again(
    control_plane: Cluster, namespace: str
) -> None:
    control_plane.apply(limit_range(cpu="250m"), namespace=namespace)
    async with following(control_plane.kubeconfig, namespace) as followed:
        followed.shape.want(template())
        admitted = await followed.until(lambda shape: reason(shape) == "Admitted" and cpu(shape) > 0, "the first trial")
        control_plane.apply(resource_quota(pods=0), namespace=namespace)
        kept = await followed.until(lambda shape: reason(shape) == "QuotaExceeded", "a full namespace")
        assert (kept.spec, kept.encoded) == (admitted.spec, admitted.encoded)
        assert kept.admission is not None
        assert kept.admission.message.endswith("a unit counts as it was last admitted")

        followed.shape.want(template(cpu="1"))
        new = await followed.until(lambda shape: cpu(shape) == nano(cpu="1")["cpu"], "another template")
        assert reason(new) == "QuotaExceeded"

        control_plane.kubectl("delete", "resourcequota", "full", "-n", namespace)
        await followed.until(lambda shape: reason(shape) == "Admitted", "room again")


async def test_a_template_that_changes_all_the_time_is_tried_at_a_bounded_rate(
    own_control_plane: ControlPlane, namespace: str
) -> None:
    before = _trials(own_control_plane)
    began = asyncio.get_running_loop().time()
    async with following(own_control_plane.kubeconfig, namespace, TrialPace(least=0.5)) as followed:
        for number in range(100):
            followed.shape.want(template(cpu=f"{number + 1}m"))
            await asyncio.sleep(0.02)
        await followed.until(lambda shape: cpu(shape) == nano(cpu="100m")["cpu"], "the last template")
    seconds = asyncio.get_running_loop().time() - began
    assert 2 <= _trials(own_control_plane) - before <= seconds / 0.5 + 2


async def test_without_the_right_a_unit_counts_as_the_template_says(
    own_control_plane: ControlPlane, namespace: str
) -> None:
    nobody = own_control_plane.service_account_kubeconfig(namespace, "default")
    async with following(nobody, namespace) as followed:
        followed.shape.want(template(cpu="1"))
        shape = await followed.until(lambda shape: reason(shape) == "Forbidden", "the missing right")
        assert cpu(shape) == nano(cpu="1")["cpu"]
        assert shape.admission is not None
        assert 'create on pods in API group ""' in shape.admission.message


async def test_what_is_of_one_pod_alone_is_not_in_the_shape(control_plane: Cluster, namespace: str) -> None:
    """Else each trial would give another one, and whoever makes units of it would make them all anew."""
    async with following(control_plane.kubeconfig, namespace) as followed:
        followed.shape.want(template(cpu="1", labels={"app": "web"}, annotations={"note": "kept"}))
        first = await followed.until(lambda shape: reason(shape) == "Admitted", "the first trial")
        assert b"kube-api-access" not in first.encoded
        decoded = msgspec.json.decode(first.encoded)
        assert decoded["metadata"] == {"labels": {"app": "web"}, "annotations": {"note": "kept"}}
        assert decoded["spec"]["schedulerName"] == "default-scheduler", "as the API server stores it"
        followed.shape.want(b"")
        followed.shape.want(template(cpu="1", labels={"app": "web"}, annotations={"note": "kept"}))
        again = await followed.until(lambda shape: reason(shape) == "Admitted", "another trial")
        assert again.encoded == first.encoded


def _trials(cluster: Cluster) -> int:
    """Return how many pods the API server has been asked to create on trial."""
    metrics = cluster.kubectl("get", "--raw", "/metrics")
    lines = re.findall(r"^apiserver_request_total\{(.*)\} (\d+)$", metrics, flags=re.MULTILINE)
    wanted = ('dry_run="All"', 'resource="pods"', 'verb="POST"')
    return sum(int(count) for labels, count in lines if all(each in labels for each in wanted))
