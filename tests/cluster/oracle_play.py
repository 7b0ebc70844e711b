"""Plays a workload in a namespace, and lets both quotas settle now and then to see that they say the same."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.quantity import NANO, canonical
from tests.cluster.case_objects import completed
from tests.cluster.crds import OURS
from tests.cluster.native import (
    NSQ,
    RQ,
    ask_for_recount,
    is_recounted,
    native_quota,
    new_namespace,
    our_quota,
    remove_namespace,
    used,
)
from tests.cluster.oracle_operations import API_VERSIONS, FINALIZER, Operation, let_go
from tests.cluster.oracle_others import RESOURCES
from tests.cluster.oracle_workload import workload
from tests.cluster.rest import Answer, Object, Rest
from tests.controlplane.waiting import wait_for

SETTLE_SECONDS = 60.0
"""Most of it is for the native controller, which looks for new kinds every 30 seconds."""
PATIENCE_SECONDS = 60.0

COUNTED = {
    **{kind: f"count/{resource}" for kind, resource in RESOURCES.items()},
    "Pod": "count/pods",
    "Service": "count/services",
    "PersistentVolumeClaim": "count/persistentvolumeclaims",
    "ResourceClaim": "count/resourceclaims.resource.k8s.io",
}
"""The name in `hard` that counts the objects of each kind, in a quota without scopes."""
_NOISE = {
    *("managedFields", "resourceVersion", "generation", "selfLink", "namespace", "creationTimestamp"),
    *("volumes", "volumeMounts", "tolerations", "schedulerName", "image", "imagePullPolicy", "dnsPolicy", "data"),
    *("terminationMessagePath", "terminationMessagePolicy", "securityContext", "serviceAccount", "serviceAccountName"),
    *("enableServiceLinks", "preemptionPolicy", "restartCount", "imageID", "ready", "lastTransitionTime", "template"),
}


_Used = Mapping[str, Mapping[str, int]]
"""What each quota says is used, in nano-units."""


@dataclass
class Tally:
    """What was done and compared."""

    operations: int = 0
    refused: int = 0
    gone: int = 0
    """Operations on what a controller had taken away meanwhile."""
    settled: int = 0
    comparisons: int = 0
    held: set[tuple[str, str]] = field(default_factory=set)
    """Quotas with their resources that were not 0 at some settle point."""

    def add(self, quotas: Mapping[str, Object], used: _Used) -> None:
        """Note what both agreed on."""
        self.settled += 1
        for quota, spec in quotas.items():
            self.comparisons += len(spec["hard"])
            self.held.update((quota, resource) for resource, amount in used[quota].items() if amount)


@dataclass(frozen=True)
class Mismatch:
    """A number that the two do not agree on, in nano-units; None where one has none."""

    quota: str
    resource: str
    ours: int | None
    right: int | None
    said_by: str = "native"

    def __str__(self) -> str:
        ours, right = ("nothing" if each is None else canonical(each) for each in (self.ours, self.right))
        return f"quota {self.quota}, {self.resource}: ours {ours}, {self.said_by} {right}"


class Play:
    """One namespace with quotas, each by its name and twice, one native and one ours.

    `limited`: the native ones stand all the while; else they are made anew at each settle point.
    """

    def __init__(
        self, rest: Rest, seed: str, quotas: Mapping[str, Object], *, limited: bool, operations: int, every: int
    ) -> None:
        self.tally = Tally()
        self._rest = rest
        self._quotas = quotas
        self._limited = limited
        self._operations = itertools.islice(workload(seed, limited=limited), operations)
        self._every = every
        self._uids: dict[str, str] = {}
        self._volumes: list[str] = []
        self._recent: list[Operation] = []
        """What was done since the numbers were compared last."""

    def run(self) -> Tally:
        """Play it from start to end.

        Raises AssertionError, with all that tells how it came about, when the two do not come to agree or the API
        server gives another answer than expected.
        """
        self._ns = new_namespace(self._rest)
        try:
            self._make_quotas()
            while batch := list(itertools.islice(self._operations, self._every)):
                for operation in batch:
                    self._recent.append(operation)
                    self._do(operation)
                self._settle()
            self._settle()
        finally:
            self._clean_up()
        return self.tally

    # What is done

    def _make_quotas(self) -> None:
        for name, spec in self._quotas.items():
            self._rest.create(self._ns, our_quota(name, spec)).require()
        if self._limited:
            self._make_native_quotas()
            self._wait_until_recounted()

    def _make_native_quotas(self) -> None:
        for name, spec in self._quotas.items():
            self._rest.create(self._ns, native_quota(name, spec)).require()

    def _do(self, operation: Operation) -> None:
        if operation.bound:
            self._wait_until_bound(operation.name)
        answer = self._send_until_it_counts(operation)
        self.tally.operations += 1
        # Nodes that are not there lose their pods to the pod garbage collector, and what pods own goes with them.
        if answer.code == 404 and operation.verb != "create":
            self.tally.gone += 1
        elif operation.refused is not None:
            self.tally.refused += 1
            assert answer.code == operation.refused, f"{operation}\nanswer: {answer.code} {answer.message}"
        else:
            assert answer.ok, f"{operation}\nanswer: {answer.code} {answer.message}"
        if answer.ok and operation.verb == "create":
            self._uids[f"$UID:{operation.kind}/{operation.name}"] = answer.body["metadata"]["uid"]

    def _send_until_it_counts(self, operation: Operation) -> Answer:
        """Send it, anew as long as the answer depends on how far the API server and the native controller are."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self._send(operation)
            unknown = "status unknown for quota" in answer.message
            removed = not self._limited and answer.code == 403 and "quota" in answer.message
            conflict = answer.code == 409 and answer.body.get("reason") == "Conflict"
            if not (unknown or removed or conflict) or time.monotonic() > deadline:
                return answer
            if unknown:
                ask_for_recount(self._rest, self._ns, "objects")
            time.sleep(0.02 if conflict else 0.5)

    def _send(self, operation: Operation) -> Answer:
        words = {"$NS": self._ns} | self._uids
        name = operation.name.replace("$NS", self._ns)
        cluster_wide = operation.kind == "PersistentVolume"
        namespace = "" if cluster_wide else self._ns
        match operation.verb:
            case "create":
                if cluster_wide:
                    self._volumes.append(name)
                used_words = {word: value for word, value in words.items() if word in json.dumps(operation.body)}
                return self._rest.create(namespace, completed(operation.body, used_words))
            case "patch":
                return self._rest.patch(
                    namespace, operation.kind, name, operation.body,
                    version=operation.version, sub=operation.sub, how=operation.how,
                )  # fmt: skip
            case "delete":
                return self._rest.delete(namespace, operation.kind, name, operation.version, grace=operation.grace)

    def _wait_until_bound(self, claim: str) -> None:
        def phase() -> Any:
            return self._rest.get(self._ns, "PersistentVolumeClaim", claim).body.get("status", {}).get("phase")

        wait_for(lambda: phase() == "Bound", timeout=PATIENCE_SECONDS, message=f"claim {claim} to be bound")

    # What is compared

    def _settle(self) -> None:
        """Have the native controller count anew until both agree, and agree with how many objects there are."""
        if not self._limited:
            self._make_native_quotas()
        deadline = time.monotonic() + SETTLE_SECONDS
        late = set(self._quotas)
        while True:
            for name in late:
                ask_for_recount(self._rest, self._ns, name)
            self._wait_until_recounted()
            ours, native = self._used(NSQ, OURS), self._used(RQ, "v1")
            found = _mismatches(self._quotas, ours, native) or self._miscounts(ours)
            if not found:
                break
            assert time.monotonic() < deadline, self._report(found)
            late = {each.quota for each in found}
            time.sleep(0.1)
        self.tally.add(self._quotas, ours)
        self._recent.clear()
        if not self._limited:
            for name in self._quotas:
                self._rest.delete(self._ns, RQ, name).require()

    def _miscounts(self, ours: _Used) -> list[Mismatch]:
        """Compare with how many objects there are, lest both be as late as each other."""
        there = {name: len(self._items(kind)) * NANO for kind, name in COUNTED.items()}
        return [
            Mismatch(quota, resource, amount, there[resource], "there are")
            for quota, spec in self._quotas.items()
            for resource, amount in ours[quota].items()
            if spec.keys() == {"hard"} and there.get(resource, amount) != amount
        ]

    def _used(self, kind: str, version: str) -> dict[str, dict[str, int]]:
        found = self._rest.items(self._ns, kind, version)
        return {each["metadata"]["name"]: used(each.get("status") or {}) for each in found}

    def _wait_until_recounted(self) -> None:
        wait_for(
            lambda: all(is_recounted(each) for each in self._rest.items(self._ns, RQ)),
            timeout=PATIENCE_SECONDS,
            message=lambda: f"the native controller to have counted all quotas: {self._rest.items(self._ns, RQ)}",
        )

    def _report(self, found: list[Mismatch]) -> str:
        quotas = [f"quota {name}: {json.dumps(self._quotas[name])}" for name in sorted({each.quota for each in found})]
        return "\n".join(
            [
                f"they do not agree after {self.tally.operations} operations in namespace {self._ns}",
                *map(str, found),
                *quotas,
                "since they agreed last:",
                *(f"  {each}" for each in self._recent),
                "the objects of the namespace:",
                *(f"  {each}" for each in self._objects()),
            ]
        )

    def _objects(self) -> Iterator[str]:
        for kind in COUNTED:
            for each in self._items(kind):
                yield f"{kind} {json.dumps(_without_noise(each))}"

    def _items(self, kind: str) -> list[Object]:
        return self._rest.items(self._ns, kind, API_VERSIONS.get(kind, "v1"))

    def _clean_up(self) -> None:
        for kind in COUNTED:
            for each in self._items(kind):
                if FINALIZER in each["metadata"].get("finalizers", ()):
                    self._send(let_go(kind, each["metadata"]["name"]))
        for name in self._volumes:
            self._rest.delete("", "PersistentVolume", name)
        remove_namespace(self._rest, self._ns)


def _mismatches(quotas: Mapping[str, Object], ours: _Used, native: _Used) -> list[Mismatch]:
    return [
        Mismatch(quota, resource, ours[quota].get(resource), native[quota].get(resource))
        for quota, spec in quotas.items()
        for resource in spec["hard"]
        if ours[quota].get(resource) != native[quota].get(resource)
    ]


def _without_noise(value: Any) -> Object | Any:
    if isinstance(value, dict):
        return {key: _without_noise(each) for key, each in value.items() if key not in _NOISE}
    return [_without_noise(each) for each in value] if isinstance(value, list) else value
