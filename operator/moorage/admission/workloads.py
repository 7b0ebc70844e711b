"""Whether the pods of a workload will fit: said when it is applied or scaled, not by a ReplicaSet that stays silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from moorage.admission.view import NamespaceView
from moorage.admission.words import cut
from moorage.objects import ObjectMeta, Pod, PodSpec, PodTemplate
from moorage.quota.admission import QuotaState, judge_pod
from moorage.quota.replicas import RollingUpdate, judge_replicas, rolling_update
from moorage.quota.verdict import Failure, Step, Verdict
from moorage.status.findings import plural

KINDS = {
    "deployments.apps": "Deployment",
    "statefulsets.apps": "StatefulSet",
    "replicasets.apps": "ReplicaSet",
    "jobs.batch": "Job",
}
"""The workloads that are looked at, by resource."""


@dataclass(frozen=True, slots=True)
class Replicated:
    """As much of a workload as decides how many pods it will have."""

    kind: str
    namespace: str
    name: str
    template: PodSpec
    replicas: int
    rolls: bool = False
    """Whether it replaces its pods by a rolling update."""
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None

    @property
    def update(self) -> RollingUpdate:
        """How it replaces its pods. Raises ValueError when what it says of that is no number."""
        if not self.rolls:
            return RollingUpdate(0, 0)
        return rolling_update(self.replicas, self.max_surge, self.max_unavailable)

    def scaled(self, replicas: int) -> Replicated:
        """Return it with another number of replicas."""
        return replace(self, replicas=replicas)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class _Object(msgspec.Struct, frozen=True, rename="camel"):
    pass


class _RollingUpdate(_Object, frozen=True):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


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


def replicated(kind: str, found: WorkloadObject) -> Replicated:
    """Return what a workload will run."""
    spec, meta = found.spec, found.metadata
    template = spec.template.spec
    if kind == "Job":
        return Replicated(kind, meta.namespace, meta.name, template, _parallel(spec, found.status))
    strategy = spec.strategy or _Strategy()
    rolling = strategy.rolling_update or _RollingUpdate()
    return Replicated(
        kind,
        meta.namespace,
        meta.name,
        template,
        1 if spec.replicas is None else spec.replicas,
        kind == "Deployment" and strategy.type == "RollingUpdate",
        rolling.max_surge,
        rolling.max_unavailable,
    )


def _parallel(spec: _Spec, status: _Status) -> int:
    if spec.suspend:
        return 0
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return parallelism
    return max(min(parallelism, spec.completions - (status.succeeded or 0)), 0)


def warnings_for(workload: Replicated, view: NamespaceView) -> Iterator[str]:
    """Yield warnings when pods of a workload will be refused.

    What it holds already counts as its own room: pods that stay need none, and a rolling update replaces the others.
    Raises QuantityError when an amount of its template does not parse, ValueError for a surge that is no number.
    """
    quotas = [each.without(str(workload)) for each in view.quotas if each.state.is_enforced]
    one = judge_pod(Pod(metadata=ObjectMeta(namespace=workload.namespace), spec=workload.template), quotas)
    if alone := [each for each in one.failures if each.step in (Step.SPECIFY, Step.BOUNDS)]:
        for each in alone:
            yield cut(f"NamespaceQuota {each.quota}: no pod of {workload} will be admitted: {each.message}")
        return
    judged = judge_replicas(one, workload.replicas, quotas)
    if judged.failures:
        yield cut(
            f"NamespaceQuota {judged.failures[0].quota}: only {judged.fits} of the {workload.replicas} replicas of "
            f"{workload} fit: {_shortage(judged.failures[0], quotas)}"
        )
    else:
        yield from _surge_warnings(workload, one, quotas)


def _surge_warnings(workload: Replicated, one: Verdict, quotas: list[QuotaState]) -> Iterator[str]:
    update = workload.update
    judged = judge_replicas(one, workload.replicas + update.surge, quotas)
    if not judged.failures or judged.fits is None:
        return
    room = judged.fits - workload.replicas
    stuck = ", and it will be stuck, since maxUnavailable is 0" if room == 0 and update.unavailable == 0 else ""
    yield cut(
        f"NamespaceQuota {judged.failures[0].quota}: {plural(workload.replicas, 'replica')} of {workload} fit, but of "
        f"the {plural(update.surge, 'pod')} more of a rolling update (maxSurge) only {room}{stuck}: "
        f"{_shortage(judged.failures[0], quotas)}"
    )


def _shortage(failure: Failure, quotas: list[QuotaState]) -> str:
    """Say how much of a resource there is for the whole workload, and how much each pod takes."""
    quota = next(each for each in quotas if each.name == failure.quota)
    room = failure.text(max(quota.room(failure.resource), 0))
    return f"{failure.resource} has {room} for them, and each takes {failure.text(failure.requested or 0)}"
