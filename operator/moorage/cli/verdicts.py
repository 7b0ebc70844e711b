"""What quotas say of manifests, one after another, as the API server and its controllers would take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from moorage.cli.convert import convert
from moorage.cli.documents import Document
from moorage.cli.errors import BadInput
from moorage.cli.manifests import Manifests
from moorage.cli.objects import Reader, count_objects
from moorage.cli.quotas import Quota, read_limit_range
from moorage.objects import ResourceRequirements
from moorage.quota.admission import QuotaState, judge_claim, judge_object, judge_pod
from moorage.quota.ledger import Ledger
from moorage.quota.names import PODS
from moorage.quota.replicas import Rollout, after, judge_replicas, judge_rollout, rolling_update, scaled, together
from moorage.quota.verdict import Failure, Verdict, in_order

WORKLOADS = {
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("", "ReplicationController"),
    ("batch", "Job"),
    ("batch", "CronJob"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one manifest."""

    kind: str
    name: str
    namespace: str
    failures: tuple[Failure, ...]
    audited: tuple[Failure, ...]
    defaulted: Mapping[str, ResourceRequirements]
    fits: int | None
    """How many such objects or, of a workload, replicas fit; None when nothing limits their number."""
    replicas: int | None = None
    """How many a workload wants."""
    rollout: Rollout | None = None

    @property
    def admitted(self) -> bool:
        """Whether it is stored and, of a workload, all its replicas are."""
        return not self.failures


class _Strategy(msgspec.Struct, frozen=True, rename="camel"):
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None


class _DeploymentStrategy(msgspec.Struct, frozen=True, rename="camel"):
    type: str | None = None
    rolling_update: _Strategy | None = None


class _DeploymentSpec(msgspec.Struct, frozen=True):
    strategy: _DeploymentStrategy | None = None


class Judge:
    """Judges manifests by the quotas of their namespaces, and takes in what is admitted.

    `objects` are what is there already; `namespace` is that of documents which name none; `moment` is the time in
    seconds since the epoch, for pods that are being deleted. Everything here raises BadInput.
    """

    def __init__(
        self,
        quotas: Iterable[Quota],
        objects: Iterable[Document],
        manifests: Iterable[Document],
        *,
        namespace: str,
        moment: float,
    ) -> None:
        there = list(objects)
        known = [*there, *manifests]
        self._namespace = namespace
        self._manifests = Manifests(known, namespace)
        self._reader = Reader(known, self._manifests, namespace)
        self._there = {self._place(each): each for each in there}
        self._ledger = Ledger()
        count_objects(there, self._ledger, namespace=namespace)
        self._ledger.release_due(moment)
        self._quotas: dict[str, list[QuotaState]] = {}
        for quota in quotas:
            self._quotas.setdefault(quota.namespace, []).append(self._state(quota))
        for each in known:
            if (each.group, each.kind) == ("", "LimitRange"):
                named = QuotaState(f"LimitRange/{each.name}", limits=read_limit_range(each), is_native=True)
                self._quotas.setdefault(each.namespace(namespace), []).append(named)

    def judge(self, document: Document, replicas: int | None = None) -> Answer:
        """Judge a manifest; `replicas` takes the place of the number that a workload asks for."""
        manifest = _unstored(document)
        if (document.group, document.kind) in WORKLOADS:
            return self._workload(manifest, replicas)
        verdict = self._object(manifest)
        self._take(manifest, verdict, 1 if verdict.admitted else 0)
        return self._answer(manifest, verdict)

    def _state(self, quota: Quota) -> QuotaState:
        key = (quota.namespace, f"{quota.kind}/{quota.name}")
        self._ledger.set_quota(*key, quota.rules.terms)
        native = quota.kind == "ResourceQuota"
        used = self._ledger.usage(*key)
        return QuotaState(
            f"ResourceQuota/{quota.name}" if native else quota.name,
            hard=quota.rules.hard,
            used=(used if native else used.without_placeholders()).used,
            requirements=quota.rules.terms.requirements,
            limits=quota.rules.limits,
            is_enforced=quota.rules.is_enforced,
            is_native=native,
        )

    def _states(self, document: Document) -> list[QuotaState]:
        return self._quotas.get(document.namespace(self._namespace), [])

    def _take(self, document: Document, verdict: Verdict, times: int) -> None:
        self._quotas[document.namespace(self._namespace)] = after(self._states(document), verdict.growth, times)

    def _place(self, document: Document) -> tuple[str, str, str, str]:
        return (document.group, document.kind, document.namespace(self._namespace), document.name)

    def _answer(self, document: Document, verdict: Verdict) -> Answer:
        return Answer(
            document.kind,
            document.name,
            document.namespace(self._namespace),
            verdict.failures,
            verdict.audited,
            verdict.defaulted,
            verdict.fits,
        )

    # Single objects

    def _object(self, document: Document) -> Verdict:
        """Judge an object; one that is there already is changed by its manifest, and keeps its status."""
        quotas, stored = self._states(document), self._there.get(self._place(document))
        if stored is not None:
            document = replace(document, body={**document.body, "status": stored.body.get("status") or {}})
        match (document.group, document.kind):
            case ("", "Pod"):
                pod = self._reader.pod(document)
                return judge_pod(pod, quotas, old=None if stored is None else self._reader.pod(stored))
            case ("", "PersistentVolumeClaim"):
                claim = self._reader.claim(document)
                return judge_claim(claim, quotas, old=None if stored is None else self._reader.claim(stored))
        use = self._reader.read(document)
        return judge_object(use, quotas, old=None if stored is None else self._reader.read(stored))

    # Workloads

    def _workload(self, document: Document, replicas: int | None) -> Answer:
        """Judge a workload, all its pods, and what is made with them.

        The pods that it has already are to be replaced, so that they leave room for those that are judged.
        """
        own = self._object(document)
        wanted = self._replicas(document) if replicas is None else replicas
        old = self._growth_of_pods(document)
        before = after(self._states(document), old.growth, -1)
        beside, pod, claims = self._made_once(document)
        pods = judge_replicas(pod, wanted, before)
        volumes, have = self._volumes(document, claims, wanted)
        fits = _fewest(pods.fits, None if volumes.fits is None else volumes.fits + have)
        failures = [*own.failures, *pods.failures, *volumes.failures]
        if wanted:
            failures += beside.failures
        if own.admitted:
            made = min(wanted, fits) if fits is not None else wanted
            self._quotas[document.namespace(self._namespace)] = before
            self._take(document, own, 1)
            self._take(document, beside, 1 if wanted else 0)
            self._take(document, pod, made)
            self._take(document, claims, max(made - have, 0))
        return replace(
            self._answer(document, pod),
            failures=in_order(failures),
            audited=in_order([*own.audited, *beside.audited, *pods.audited, *volumes.audited]),
            fits=fits,
            replicas=wanted,
            rollout=None if failures else self._rollout(document, pod, old, before=before, wanted=wanted),
        )

    def _replicas(self, document: Document) -> int:
        if document.kind == "CronJob":
            return 0 if _spec(document).get("suspend") else self._manifests.replicas(_job_of(document))
        if document.kind == "DaemonSet":
            return max(sum(1 for _ in self._pods(document)), 1)
        return self._manifests.replicas(document)

    def _pods(self, document: Document) -> Iterator[Any]:
        """Yield the records of the pods that a workload has now."""
        owner = f"{document.kind}/{document.name}"
        held = self._ledger.objects(PODS, document.namespace(self._namespace))
        return (use for use in held.values() if use.owner == owner)

    def _growth_of_pods(self, document: Document) -> Verdict:
        quotas = self._states(document)
        return together(judge_object(use, quotas) for use in self._pods(document))

    def _made_once(self, document: Document) -> tuple[Verdict, Verdict, Verdict]:
        """Judge what is made for a workload once, one pod, and the claims that come with each pod."""
        quotas = self._states(document)
        beside, pods, claims = [], [], []
        for made in self._manifests.made_by(_with_one_pod(document)):
            match made.kind:
                case "Pod":
                    pods.append(judge_pod(self._reader.pod(made), quotas))
                case "PersistentVolumeClaim":
                    claims.append(judge_claim(self._reader.claim(made), quotas))
                case "ResourceClaim":
                    claims.append(judge_object(self._reader.read(made), quotas))
                case _ if self._place(document) not in self._there:
                    beside.append(judge_object(self._reader.read(made), quotas))
        if document.kind == "CronJob":
            beside.append(judge_object(self._reader.read(_job_of(document)), quotas))
        return together(beside), pods[0], together(claims)

    def _volumes(self, document: Document, claims: Verdict, wanted: int) -> tuple[Verdict, int]:
        """Judge the claims of all replicas; those of a StatefulSet may be there already, as many as is returned."""
        have = 0
        if document.kind == "StatefulSet":
            names = [
                made.name.rsplit("-", 1)[0]
                for made in self._manifests.made_by(_with_one_pod(document))
                if made.kind == "PersistentVolumeClaim"
            ]
            namespace = document.namespace(self._namespace)
            have = sum(
                all(("", "PersistentVolumeClaim", namespace, f"{name}-{number}") in self._there for name in names)
                for number in range(wanted if names else 0)
            )
        return judge_replicas(claims, wanted - have, self._states(document)), have

    def _rollout(
        self, document: Document, pod: Verdict, old: Verdict, *, before: list[QuotaState], wanted: int
    ) -> Rollout | None:
        """Judge the rollout of a Deployment from the pods that it has, or else from as many as it wants."""
        if document.kind != "Deployment" or not wanted:
            return None
        strategy = convert(document, _DeploymentSpec, _spec(document)).strategy or _DeploymentStrategy()
        if strategy.type == "Recreate":
            return None
        rolling = strategy.rolling_update or _Strategy()
        try:
            update = rolling_update(wanted, rolling.max_surge, rolling.max_unavailable)
        except ValueError as error:
            raise BadInput(f"{document.label}: spec.strategy.rollingUpdate: {error}") from error
        present = old.growth if any(True for _ in self._pods(document)) else scaled(pod.growth, wanted)
        return judge_rollout(update, pod, present, before, pods=wanted)


def _spec(document: Document) -> dict[str, Any]:
    return document.spec if isinstance(document.spec, dict) else {}


def _fewest(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)


def _unstored(document: Document) -> Document:
    """Return a document as a manifest: one that comes from a cluster shall be judged as if it were made anew."""
    metadata = {name: value for name, value in document.metadata.items() if name not in ("uid", "resourceVersion")}
    body = {name: value for name, value in document.body.items() if name != "status"}
    return replace(document, body={**body, "metadata": metadata})


def _job_of(document: Document) -> Document:
    """Return the Job that a CronJob makes at each of its times."""
    template = _spec(document).get("jobTemplate")
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise BadInput(f"{document.label}: spec.jobTemplate.spec is missing")
    return replace(document, body={**document.body, "kind": "Job", "spec": template["spec"]})


def _with_one_pod(document: Document) -> Document:
    """Return the workload with a single pod."""
    if document.kind == "CronJob":
        return _with_one_pod(_job_of(document))
    # A DaemonSet's pods are as many as nodes take them; but for that it is like a ReplicaSet.
    kind = "ReplicaSet" if document.kind == "DaemonSet" else document.kind
    one = {"replicas": 1, "parallelism": 1, "completions": None, "suspend": False, "paused": False}
    return replace(document, body={**document.body, "kind": kind, "spec": {**_spec(document), **one}})
