"""Whether the pods of a workload will fit: said when it is applied or scaled, not by a ReplicaSet that stays silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from moorage.admission.view import NamespaceView, fitting
from moorage.admission.words import cut
from moorage.objects import ObjectMeta, Pod, PodSpec, PodTemplate
from moorage.quantity import canonical
from moorage.quota.admission import judge_pod
from moorage.quota.counting import pod_use
from moorage.quota.names import is_binary
from moorage.quota.usage import Shapes
from moorage.quota.verdict import Step
from moorage.status.findings import plural

KINDS = {
    "deployments.apps": "Deployment",
    "statefulsets.apps": "StatefulSet",
    "replicasets.apps": "ReplicaSet",
    "jobs.batch": "Job",
}
"""The workloads that are looked at, by resource."""

_DEFAULT_SURGE = "25%"


@dataclass(frozen=True, slots=True)
class Workload:
    """As much of a workload as decides how many pods it will have."""

    kind: str
    namespace: str
    name: str
    template: PodSpec
    replicas: int
    max_surge: int | str = 0
    """As written: how many pods more a rolling update may start, or a share of the replicas such as `25%`."""

    @property
    def surge(self) -> int:
        """How many pods a rolling update starts beyond the replicas."""
        if isinstance(self.max_surge, int):
            return self.max_surge
        percent = self.max_surge.removesuffix("%")
        return -(-self.replicas * int(percent) // 100) if percent.isdecimal() else 0

    def scaled(self, replicas: int) -> Workload:
        """Return it with another number of replicas."""
        return replace(self, replicas=replicas)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    pass


class _RollingUpdate(_Object, frozen=True):
    max_surge: int | str = _DEFAULT_SURGE


class _Strategy(_Object, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: _RollingUpdate | None = None


class _Spec(_Object, frozen=True):
    template: PodTemplate = PodTemplate()
    replicas: int | None = None
    strategy: _Strategy | None = None
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool | None = None


class _Status(_Object, frozen=True):
    succeeded: int | None = None


class WorkloadObject(_Object, frozen=True):
    """A workload of any of the kinds, as stored or sent."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class _ScaleSpec(_Object, frozen=True):
    replicas: int | None = None


class Scale(_Object, frozen=True):
    """What is written to `/scale`."""

    spec: _ScaleSpec = _ScaleSpec()


workload_decoder = msgspec.json.Decoder(WorkloadObject)
scale_decoder = msgspec.json.Decoder(Scale)


def workload_of(kind: str, found: WorkloadObject) -> Workload:
    """Return what a workload will run."""
    spec, meta = found.spec, found.metadata
    template = spec.template.spec
    if kind == "Job":
        return Workload(kind, meta.namespace, meta.name, template, _parallel(spec, found.status))
    replicas = 1 if spec.replicas is None else spec.replicas
    return Workload(kind, meta.namespace, meta.name, template, replicas, _surge(spec) if kind == "Deployment" else 0)


def _parallel(spec: _Spec, status: _Status) -> int:
    if spec.suspend:
        return 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return parallelism
    return max(min(parallelism, spec.completions - (status.succeeded or 0)), 0)


def _surge(spec: _Spec) -> int | str:
    strategy = spec.strategy or _Strategy()
    if strategy.type != "RollingUpdate":
        return 0
    return (strategy.rolling_update or _RollingUpdate()).max_surge


def warnings_for(workload: Workload, view: NamespaceView) -> Iterator[str]:
    """Yield warnings when pods of a workload will be refused.

    What it holds already counts as its own room: pods that stay need none, and a rolling update replaces the others.
    Raises QuantityError when an amount of its template does not parse.
    """
    pod = Pod(metadata=ObjectMeta(namespace=workload.namespace), spec=workload.template)
    verdict = judge_pod(pod, view.states)
    if alone := [each for each in verdict.failures if each.step in (Step.SPECIFY, Step.BOUNDS)]:
        for each in alone:
            yield cut(f"NamespaceQuota {each.quota}: no pod of {workload} will be admitted: {each.message}")
        return
    stored = replace_spec(pod, verdict.spec)
    quotas = [each.without(str(workload)) for each in view.quotas if each.state.is_enforced]
    shape = pod_use(stored, Shapes()).shape
    found = fitting(quotas, shape)
    if found is None:
        return
    fits, quota, name = found
    left = f"{name} leaves room for {fits} of its pods"
    if fits < workload.replicas:
        short = f"{plural(workload.replicas - fits, 'pod')} of {workload} will not be admitted"
        room = canonical(max(quota.room(name), 0), binary=is_binary(name))
        yield cut(f"NamespaceQuota {quota.name}: {short}: {left} ({room}), and it wants {workload.replicas}")
    elif fits < workload.replicas + workload.surge:
        more = plural(workload.surge, "pod")
        yield cut(
            f"NamespaceQuota {quota.name}: all {workload.replicas} replicas of {workload} fit, but not the {more} more "
            f"that a rolling update starts (maxSurge {workload.max_surge}): {left}"
        )


def replace_spec(pod: Pod, spec: PodSpec | None) -> Pod:
    """Return a pod with the spec that it is stored with."""
    return pod if spec is None else msgspec.structs.replace(pod, spec=spec)
