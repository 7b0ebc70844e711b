"""What each request to the API server is answered: from memory, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from moorage.admission import words
from moorage.admission.counters import AdmissionCounters
from moorage.admission.decision import Decision, decide
from moorage.admission.policies.cel import PROBE
from moorage.admission.policies.defaults import DEFAULTED
from moorage.admission.review import Answer, ReviewRequest, read_object
from moorage.admission.view import NamespaceView
from moorage.admission.workloads import (
    KINDS,
    Replicated,
    replicated,
    scale_decoder,
    warnings_for,
    workload_decoder,
)
from moorage.cluster.event_series import Happening, Regarding
from moorage.objects import ObjectMeta, OwnerReference, Pod
from moorage.quota.usage import owner_of
from moorage.quota.verdict import Failure, Verdict

API_VERSION = "moorage.dev/v1alpha1"


class _Owner(OwnerReference, frozen=True):
    api_version: str = ""


class _Annotations(msgspec.Struct, frozen=True, gc=False):
    defaulted: str | None = msgspec.field(default=None, name=DEFAULTED)
    probe: str | None = msgspec.field(default=None, name=PROBE)


class _Meta(ObjectMeta, frozen=True):
    generate_name: str = ""
    annotations: _Annotations | None = None
    owner_references: list[_Owner] | None = None  # type: ignore[assignment]  # one that says more

    @property
    def label(self) -> str:
        return self.name or f"{self.generate_name}..."


class _ReviewedPod(Pod, frozen=True):
    metadata: _Meta = _Meta()


_pod_decoder = msgspec.json.Decoder(_ReviewedPod)
_ADMITTED = Answer()
_PODS, _RESIZES = "pods", "pods/resize"
_SCALE = "/scale"


class Memory(Protocol):
    """What the judge knows without asking anybody."""

    def look(self, namespace: str) -> NamespaceView | None:
        """Return the quotas of a namespace; None when there are none, or nothing is known yet."""
        ...

    def workload(self, kind: str, namespace: str, name: str) -> Replicated | None:
        """Return a workload that is stored, if it is known."""
        ...

    def regarding(self, kind: str, namespace: str, name: str) -> Regarding | None:
        """Return how an event names a workload, if it is known."""
        ...


class Judge:
    """Answers reviews. `tell` has an event written; dry runs are answered alike, but neither told nor counted."""

    def __init__(self, memory: Memory, counters: AdmissionCounters, tell: Callable[[Happening], None]) -> None:
        self._memory = memory
        self._counters = counters
        self._tell = tell

    def __call__(self, request: ReviewRequest) -> Answer:
        """Answer a request. Raises MalformedReviewError when an object cannot be read."""
        view = self._memory.look(request.namespace)
        if view is None or request.operation not in ("CREATE", "UPDATE"):
            return _ADMITTED
        try:
            if request.target in (_PODS, _RESIZES):
                return self._pod(request, view)
            return self._workload(request, view)
        except ValueError:  # a quantity or a percentage that is none
            return _ADMITTED  # the API server says so itself

    def _pod(self, request: ReviewRequest, view: NamespaceView) -> Answer:
        pod = read_object(request.object, _pod_decoder, "the pod")
        old = read_object(request.old_object, _pod_decoder, "the old pod") if request.target == _RESIZES else None
        if (request.operation == "UPDATE") != (old is not None) or _is_probe(request, pod):
            return _ADMITTED  # other updates of pods move nothing
        decision = decide(pod, view, old=old)
        if not request.dry_run:
            self._count(request.namespace, pod, decision, view, is_new=old is None)
            self._tell_of(request.namespace, pod, decision, view)
        warnings = [*words.audited(decision.verdict.audited)]
        if decision.refused:
            what = f"pod {pod.metadata.label}" if old is None else f"this resize of pod {pod.metadata.label}"
            return Answer(False, words.refusal(decision, view, what), tuple(warnings))
        if old is None and pod.metadata.controller is None:  # nobody reads what a controller is warned of
            warnings += _near(view, decision.verdict)
        return Answer(warnings=tuple(warnings))

    def _workload(self, request: ReviewRequest, view: NamespaceView) -> Answer:
        workload = self._requested(request)
        return _ADMITTED if workload is None else Answer(warnings=tuple(warnings_for(workload, view)))

    def _requested(self, request: ReviewRequest) -> Replicated | None:
        """Return the workload as it will be, if it is one whose pods are its own."""
        kind = KINDS.get(request.target.removesuffix(_SCALE))
        if kind is None:
            return None
        if request.target.endswith(_SCALE):
            scale = read_object(request.object, scale_decoder, "the scale")
            known = self._memory.workload(kind, request.namespace, request.name)
            return None if known is None else known.scaled(scale.spec.replicas or 0)
        found = read_object(request.object, workload_decoder, f"the {kind}")
        if found.metadata.controller is not None:
            return None  # its owner was looked at
        return replicated(kind, found)

    def _count(
        self, namespace: str, pod: _ReviewedPod, decision: Decision, view: NamespaceView, *, is_new: bool
    ) -> None:
        counters, verdict = self._counters, decision.verdict
        counters.unsure += decision.unsure
        for quota, step in _reasons(decision.refused):
            counters.refused[namespace, quota, step] += 1
        for quota, step in _reasons(verdict.audited):
            counters.would_refuse[namespace, quota, step] += 1
        if decision.refused or not is_new:
            return
        for each in view.quotas:
            if each.state.limits or verdict.growth.get(each.name):
                counters.admitted[namespace, each.name] += 1
        annotations = pod.metadata.annotations
        if verdict.defaulted or (annotations is not None and annotations.defaulted is not None):
            counters.defaulted[namespace] += 1

    def _tell_of(self, namespace: str, pod: _ReviewedPod, decision: Decision, view: NamespaceView) -> None:
        failures = decision.refused or decision.verdict.audited
        if not failures:
            return
        verb = "Refused" if decision.refused else "WouldRefuse"
        owner, what = owner_of(pod.metadata), f"pod {pod.metadata.label}"
        for quota in dict.fromkeys(each.quota for each in failures):
            ours = [each for each in failures if each.quota == quota]
            whose = f"{what} of {owner}" if owner else what
            regarding = Regarding(API_VERSION, "NamespaceQuota", namespace, quota, view.of(quota).uid)
            self._tell(_happening(regarding, verb, f"{_past(verb)} {whose}", ours, alike=owner))
        if (workload := self._owner(namespace, pod)) is not None:
            words_ = f"{_past(verb)} {what} by NamespaceQuota {', '.join(dict.fromkeys(f.quota for f in failures))}"
            self._tell(_happening(workload, f"Pod{verb}", words_, failures))

    def _owner(self, namespace: str, pod: _ReviewedPod) -> Regarding | None:
        """Return the workload that a pod belongs to: of a ReplicaSet the Deployment, when that is known."""
        kind, _, name = owner_of(pod.metadata).partition("/")
        if not name:
            return None
        if (known := self._memory.regarding(kind, namespace, name)) is not None:
            return known
        owner = next(each for each in pod.metadata.owner_references or () if each.controller)
        return Regarding(owner.api_version, owner.kind, namespace, owner.name, owner.uid)


def _near(view: NamespaceView, verdict: Verdict) -> Iterable[str]:
    """Yield warnings of quotas that have little room after this pod, but for those that said more already."""
    said = {each.quota for each in (*verdict.failures, *verdict.audited)}
    for each in view.quotas:
        if each.name not in said and (warning := words.near_limit(each, verdict.growth.get(each.name, {}))):
            yield warning


def _reasons(failures: Iterable[Failure]) -> dict[tuple[str, str], None]:
    """Return each quota and step once."""
    return dict.fromkeys((each.quota, str(each.step)) for each in failures)


def _happening(
    regarding: Regarding, reason: str, what: str, failures: Iterable[Failure], *, alike: str = ""
) -> Happening:
    told = [*failures]
    key = f"{alike} {sorted({(each.quota, each.step, each.resource) for each in told})}"
    return Happening(regarding=regarding, reason=reason, action="Admission", note=words.note(told, what), alike=key)


def _past(verb: str) -> str:
    return "refused" if verb == "Refused" else "would have refused"


def _is_probe(request: ReviewRequest, pod: _ReviewedPod) -> bool:
    """Whether this is a dry run in which our policies are proved: they alone shall answer it."""
    annotations = pod.metadata.annotations
    return bool(request.dry_run) and annotations is not None and annotations.probe is not None
