"""What tests of the judge need: quotas as it knows them, and requests as the API server sends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from moorage.admission.counters import AdmissionCounters
from moorage.admission.judge import Judge
from moorage.admission.review import Answer, Kind, Resource, ReviewRequest
from moorage.admission.view import KnownQuota, NamespaceView
from moorage.admission.workloads import Replicated
from moorage.cluster.event_series import Happening, Regarding
from moorage.quantity import parse_nano
from moorage.quota.admission import QuotaState
from moorage.quota.bounds import Limits
from moorage.quota.ledger import Holder
from tests.builders import quota_state

Object = dict[str, Any]
NAMESPACE = "team-a"


def known(
    name: str = "team",
    *entries: Limits,
    hard: Mapping[str, str] | None = None,
    used: Mapping[str, str] | None = None,
    held: Mapping[str, list[tuple[str, str, int]]] | None = None,
    audit: bool = False,
    policies_proved: bool = True,
    current: bool = True,
    native_used: Mapping[str, str] | None = None,
    native_hard: Mapping[str, str] | None = None,
    projected: bool = True,
) -> KnownQuota:
    """A quota; `held` are workload, amount and pods by resource; the projected quota says the same unless told."""
    state = quota_state(name, *entries, hard=hard, used=used, audit=audit)
    native = quota_state(f"moorage-{name}", hard=native_hard or hard, used=used if native_used is None else native_used)
    holders = {
        resource: [Holder(workload, parse_nano(amount), pods) for workload, amount, pods in each]
        for resource, each in (held or {}).items()
    }
    return KnownQuota(
        state=state,
        uid=f"uid of {name}",
        holders=lambda resource, most: holders.get(resource, [])[:most],
        policies_proved=policies_proved,
        current=frozenset(state.hard) if current else frozenset(),
        projections=(native,) if projected else (),
    )


def view(*quotas: KnownQuota, others: Iterable[QuotaState] = ()) -> NamespaceView:
    return NamespaceView(quotas, tuple(others))


def container(name: str = "app", requests: Object | None = None, limits: Object | None = None) -> Object:
    given = {"requests": requests, "limits": limits}
    return {"name": name, "image": "app", "resources": {side: each for side, each in given.items() if each is not None}}


def pod(name: str = "web-0", *containers: Object, owner: Object | None = None, **requests: str) -> Object:
    """A pod with these containers, or one that requests this."""
    meta: Object = {"name": name} if name else {"generateName": "web-"}
    if owner is not None:
        meta["ownerReferences"] = [{"apiVersion": "apps/v1", "controller": True} | owner]
    spec = {"containers": [*containers] or [container(requests=requests)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"namespace": NAMESPACE}, "spec": spec}


def of_deployment(name: str = "web") -> Object:
    """The owner of a Deployment's pod."""
    return {"kind": "ReplicaSet", "name": f"{name}-5d4f", "uid": f"uid of {name}-5d4f"}


def request(
    target: str = "pods",
    object: Object | None = None,
    *,
    old: Object | None = None,
    operation: str = "CREATE",
    dry_run: bool = False,
    name: str = "",
) -> ReviewRequest:
    resource, _, sub = target.partition("/")
    plural, _, group = resource.partition(".")
    return ReviewRequest(
        uid="7f",
        kind=Kind(),
        resource=Resource(group, "v1", plural),
        sub_resource=sub,
        operation=operation,
        namespace=NAMESPACE,
        name=name,
        dry_run=dry_run,
        object=msgspec.Raw(msgspec.json.encode(object)),
        old_object=msgspec.Raw(msgspec.json.encode(old)),
    )


@dataclass
class Bench:
    """A judge, what it knows, and what it has told and counted."""

    view: NamespaceView | None = None
    workloads: dict[tuple[str, str], Replicated] = field(default_factory=dict)
    told: list[Happening] = field(default_factory=list)
    counters: AdmissionCounters = field(default_factory=AdmissionCounters)

    def look(self, namespace: str) -> NamespaceView | None:
        return self.view if namespace == NAMESPACE else None

    def workload(self, kind: str, namespace: str, name: str) -> Replicated | None:
        return self.workloads.get((kind, name))

    def regarding(self, kind: str, namespace: str, name: str) -> Regarding | None:
        found = self.workload(kind, namespace, name)
        return None if found is None else Regarding("apps/v1", kind, namespace, name, f"uid of {name}")

    def ask(self, review: ReviewRequest) -> Answer:
        return Judge(self, self.counters, self.told.append)(review)

    def create(self, object: Object | None = None, **options: Any) -> Answer:
        return self.ask(request(object=object or pod(), **options))


def knowing(*quotas: KnownQuota, **options: Any) -> Bench:
    return Bench(view(*quotas, **options))


def counted(counter: Counter[Any]) -> dict[Any, int]:
    return dict(counter)
