"""After any events in any order, the ledger's totals and holders are those counted from the objects that are left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.quantity import NANO
from moorage.quota import counting
from moorage.quota.ledger import Ledger, Terms, Usage
from moorage.quota.names import counted
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import ObjectUse, Shapes
from tests.builders import (
    container,
    device_claim_use,
    devices,
    object_use,
    owned_by,
    pod,
    pod_spec,
    pod_status,
    pod_use,
    service_use,
    volume_claim_use,
)
from tests.strategies import pod_specs, statuses_of

NAMESPACES = ("team-a", "team-b")
GPU, IMPLICIT = "requests.example.com/gpu", "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
GHOST = "requests.deviceclass.resource.kubernetes.io/ghost"
CLAIMS = "count/resourceclaims.resource.k8s.io"
NAMES = (
    "pods",
    "count/pods",
    "cpu",
    "requests.cpu",
    "limits.cpu",
    "requests.memory",
    GPU,
    IMPLICIT,
    GHOST,
    CLAIMS,
    "services",
    "services.nodeports",
    "secrets",
    "count/secrets",
    "requests.storage",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims",
    "x.com/gpu",
)
SCOPES = (
    (),
    (),
    (Requirement("Terminating"),),
    (Requirement("NotBestEffort"),),
    (Requirement("PriorityClass", "In", frozenset({"high"})), Requirement("NotTerminating")),
    (Requirement("PriorityClass", "NotIn", frozenset({"high"})),),
    (Requirement("VolumeAttributesClass", "NotIn", frozenset({"gold"})),),
)
Key = tuple[str, str]
"""Resource and uid of an object, or namespace and name of a quota."""


@dataclass(frozen=True)
class Count:
    """What one quota uses, and who: by name, then by workload, without zeros."""

    usage: Usage
    held: dict[str, dict[str, int]]
    pods_of: dict[str, int]


@dataclass
class World:
    """What a reader of all events knows, kept the plainest way."""

    ledger: Ledger = field(default_factory=Ledger)
    objects: dict[Key, ObjectUse] = field(default_factory=dict)
    quotas: dict[Key, Terms] = field(default_factory=dict)
    now: float = 0.0

    def put(self, record: ObjectUse) -> None:
        self.ledger.put(record)
        self.objects[key_of(record)] = record

    def delete(self, key: Key) -> None:
        resource, uid = key
        self.ledger.delete(uid, resource)
        self.objects.pop(key, None)

    def relist(self, records: list[ObjectUse], resource: str, namespace: str | None) -> None:
        listed = {
            key_of(each): each
            for each in records
            if each.shape.resource == resource and namespace in (None, each.namespace)
        }
        self.ledger.replace(listed.values(), resource=resource, namespace=namespace)
        kept = {
            key: each
            for key, each in self.objects.items()
            if key[0] != resource or namespace not in (None, each.namespace)
        }
        self.objects = kept | listed

    def set_quota(self, key: Key, terms: Terms) -> None:
        self.ledger.set_quota(*key, terms)
        self.quotas[key] = terms

    def remove_quota(self, key: Key) -> None:
        self.ledger.remove_quota(*key)
        self.quotas.pop(key, None)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def counted(self) -> dict[Key, Count]:
        self.ledger.release_due(self.now)
        return {key: count(self.objects.values(), key[0], terms, self.now) for key, terms in self.quotas.items()}

    def told(self) -> dict[Key, Count]:
        return {key: told(self.ledger, *key, terms) for key, terms in self.quotas.items()}


def key_of(record: ObjectUse) -> Key:
    return record.shape.resource, record.uid


def told(ledger: Ledger, namespace: str, name: str, terms: Terms) -> Count:
    """Return what the ledger says."""
    held, pods_of = {}, {}
    for resource in terms.names:
        if counted(resource) is not None:
            holders = ledger.holders(namespace, name, resource, None)
            held[resource] = {each.workload: each.used for each in holders}
            pods_of |= {each.workload: each.pods for each in holders}
    return Count(ledger.usage(namespace, name), held, pods_of)


def count(objects: Iterable[ObjectUse], namespace: str, terms: Terms, now: float) -> Count:
    """Count a quota from a plain list of objects."""
    everything = list(objects)
    held: dict[str, dict[str, int]] = {name: defaultdict(int) for name in terms.names if counted(name) is not None}
    pods_of: dict[str, int] = defaultdict(int)
    for each in everything:
        if each.namespace != namespace or not selects(terms.requirements, each.shape.facts):
            continue
        amounts, holder = amounts_of(each, everything, now), holder_of(each, everything)
        pods_of[holder] += "pods" in amounts
        for name, of_holders in held.items():
            if amount := amount_under(name, terms, amounts):
                of_holders[holder] += amount
    return Count(
        Usage({name: sum(of_holders.values()) for name, of_holders in held.items()}, sum(pods_of.values())),
        {name: dict(of_holders) for name, of_holders in held.items()},
        {holder: pods_of[holder] for of_holders in held.values() for holder in of_holders},
    )


def amount_under(name: str, terms: Terms, amounts: dict[str, int]) -> int:
    what = counted(name)
    assert what is not None
    missing = amounts.get(f"missing-class:{what.source}", 0) if CLAIMS in terms.names else 0
    return amounts.get(what.source, 0) + missing


def amounts_of(use: ObjectUse, everything: list[ObjectUse], now: float) -> dict[str, int]:
    """Return what an object counts for: a pod past its grace as an object only, a claim beside its pod."""
    if use.released_at is not None and use.released_at < now:
        return {"count/pods": NANO}
    own = dict(use.shape.amounts)
    pod = pod_of(use, everything)
    if pod is None or use.claim is None:
        return own
    rivals = [each for each in everything if each.claim is not None and each.pod == pod.uid]
    rivals = [each for each in rivals if each.namespace == pod.namespace]
    if pod.claim is not None:
        first = next((each for each in rivals if each.name == pod.claim.name), None)
    else:
        first = sorted(rivals, key=lambda each: (each.claim.created, each.name))[0]
    if first is not use:
        return own
    asked = amounts_of(pod, everything, now)
    for source in use.claim.shared:
        own[source] = max(own[source] - asked.get(source.removeprefix("missing-class:"), 0), 0)
    return own


def holder_of(use: ObjectUse, everything: list[ObjectUse]) -> str:
    pod = pod_of(use, everything)
    return use.holder if pod is None else pod.holder


def pod_of(use: ObjectUse, everything: list[ObjectUse]) -> ObjectUse | None:
    """Return the pod that an object belongs to, if it is there."""
    pods = (each for each in everything if each.shape.resource == "pods" and each.namespace == use.namespace)
    return next((each for each in pods if use.pod and each.uid == use.pod), None)


OWNERS = st.sampled_from([None, None, owned_by("StatefulSet/db"), owned_by("Job/import")])
PLACES = st.sampled_from(NAMESPACES)


def gpu_pod_use(at: int, gpus: int, names_claim: str | None, **keywords: Any) -> ObjectUse:
    """Return a pod that asks for devices by their extended resource, and for a device of a class that is gone."""
    requests = {"example.com/gpu": gpus, "deviceclass.resource.kubernetes.io/ghost": 1}
    spec = pod_spec(containers=[container(requests=requests)])
    status = pod_status(phase=keywords.pop("phase"), device_claim=names_claim)
    return pod_use(f"pod-{at}", namespace=NAMESPACES[at % 2], spec=spec, status=status, **keywords)


PODS = st.builds(
    lambda at, **shape: pod_use(f"pod-{at}", namespace=NAMESPACES[at % 2], **shape),
    at=st.integers(0, 5),
    cpu=st.sampled_from([None, "0", "100m", "1", "3"]),
    memory=st.sampled_from([None, "1Gi"]),
    limits=st.sampled_from([None, {"cpu": "2"}, {"x.com/gpu": "1"}]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    priority_class=st.sampled_from([None, "high", "low"]),
    deadline=st.sampled_from([None, 600]),
    released_at=st.sampled_from([None, None, 1.0, 5.0, 9.0]),
    owner=OWNERS,
)
"""Records of a few pods, each of which stays in its namespace."""

GPU_PODS = st.builds(
    gpu_pod_use,
    at=st.integers(0, 3),
    gpus=st.integers(0, 4),
    names_claim=st.sampled_from([None, None, "claim-0", "claim-2"]),
    phase=st.sampled_from(["Running", "Running", "Failed"]),
    released_at=st.sampled_from([None, None, 5.0]),
    owner=OWNERS,
)

DEVICE_CLAIMS = st.builds(
    lambda at, device_class, count, pod, age: device_claim_use(
        f"claim-{at}",
        devices(device_class, count),
        devices("ghost", 2),
        namespace=NAMESPACES[at % 2],
        made_for_pod=pod,
        created=datetime(2030, 1, 1, 12, age, tzinfo=UTC),
    ),
    at=st.integers(0, 4),
    device_class=st.sampled_from(["gpu.example.com", "gpu.example.com", "nic.example.com"]),
    count=st.integers(1, 4),
    pod=st.sampled_from([None, "pod-0", "pod-0", "pod-2", "pod-3"]),
    age=st.integers(0, 2),
)
"""Claims, most of them made for a pod of theirs or another namespace."""

OTHERS = st.one_of(
    st.builds(
        lambda at, owner: object_use(f"secret-{at}", namespace=NAMESPACES[at % 2], owner=owner),
        at=st.integers(0, 3),
        owner=OWNERS | st.just(owned_by("Pod/pod-0", "pod-0")),
    ),
    st.builds(
        lambda at, type, ports: service_use(f"service-{at}", namespace=NAMESPACES[at % 2], type=type, ports=ports),
        at=st.integers(0, 3),
        type=st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]),
        ports=st.integers(0, 3),
    ),
    st.builds(
        lambda at, **shape: volume_claim_use(f"volume-{at}", namespace=NAMESPACES[at % 2], **shape),
        at=st.integers(0, 3),
        storage=st.sampled_from(["0", "1Gi", "1500m"]),
        storage_class=st.sampled_from([None, "gold"]),
        attributes_class=st.sampled_from([None, "gold"]),
        owner=OWNERS | st.just(owned_by("Pod/pod-2", "pod-2")),
    ),
)

RECORDS = st.one_of(PODS, PODS, GPU_PODS, DEVICE_CLAIMS, OTHERS)
RESOURCES = ("pods", "pods", "resourceclaims.resource.k8s.io", "secrets", "services", "persistentvolumeclaims")
KEYS = st.one_of(
    st.tuples(st.just("pods"), st.integers(0, 5).map("pod-{}".format)),
    st.tuples(st.just("resourceclaims.resource.k8s.io"), st.integers(0, 4).map("claim-{}".format)),
    st.tuples(st.just("secrets"), st.integers(0, 3).map("secret-{}".format)),
    st.tuples(st.just("persistentvolumeclaims"), st.integers(0, 3).map("volume-{}".format)),
)
QUOTAS = st.tuples(PLACES, st.sampled_from(["q1", "q2"]))
TERMS = st.builds(Terms, st.frozensets(st.sampled_from(NAMES)), st.sampled_from(SCOPES))
ALL = Terms(frozenset(NAMES))


def call(method: Callable[..., None], *arguments: st.SearchStrategy) -> st.SearchStrategy[Callable[[World], None]]:
    return st.tuples(*arguments).map(lambda given: lambda world: method(world, *given))


EVENTS = st.one_of(
    call(World.put, RECORDS),
    call(World.put, RECORDS),
    call(World.put, GPU_PODS | DEVICE_CLAIMS),
    call(World.delete, KEYS),
    call(
        World.relist,
        st.lists(RECORDS, max_size=5),
        st.sampled_from(RESOURCES),
        st.sampled_from([None, *NAMESPACES]),
    ),
    call(World.set_quota, QUOTAS, TERMS | st.just(ALL)),
    call(World.remove_quota, QUOTAS),
    call(World.wait, st.sampled_from([0.5, 4.0])),
)


def new_world() -> World:
    """Return a world with a quota that counts everything."""
    world = World()
    world.set_quota(("team-a", "all"), ALL)
    return world


@given(st.lists(EVENTS, max_size=25))
def test_totals_and_holders_are_those_of_the_final_list_after_any_events(
    events: list[Callable[[World], None]],
) -> None:
    world = new_world()
    for event in events:
        event(world)
    counted = world.counted()
    assert world.told() == counted
    assert world.ledger.recount() == {key: each.usage for key, each in counted.items()}
    assert len(world.ledger) == len(world.objects)
    for resource in RESOURCES:
        held = {uid: each for (kind, uid), each in world.objects.items() if kind == resource}
        assert world.ledger.objects(resource) == held
        for namespace in NAMESPACES:
            own = {uid: each for uid, each in held.items() if each.namespace == namespace}
            assert world.ledger.objects(resource, namespace) == own


@given(st.lists(EVENTS, max_size=15))
def test_totals_and_holders_are_right_after_every_single_event(events: list[Callable[[World], None]]) -> None:
    world = new_world()
    for event in events:
        event(world)
        counted = world.counted()
        assert world.told() == counted


@given(st.lists(EVENTS, max_size=15))
def test_every_quota_whose_usage_changed_is_told(events: list[Callable[[World], None]]) -> None:
    world = new_world()
    before = world.counted()
    for event in events:
        event(world)
        after = world.counted()
        changed = {key for key in after if after[key] != before.get(key)}
        told = world.ledger.take_changed()
        assert changed <= told <= set(world.quotas)
        before = after


@given(st.lists(RECORDS, max_size=8), TERMS, st.randoms())
def test_the_order_in_which_objects_arrive_does_not_matter(
    records: list[ObjectUse], terms: Terms, random: object
) -> None:
    last = list({key_of(each): each for each in records}.values())
    shuffled = list(last)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = Ledger(), Ledger()
    one.set_quota("team-a", "q", terms)
    for record in last:
        one.put(record)
    for record in shuffled:
        other.put(record)
    other.set_quota("team-a", "q", terms)
    assert told(one, "team-a", "q", terms) == told(other, "team-a", "q", terms)


@given(st.lists(RECORDS, max_size=8), TERMS | st.just(ALL))
def test_what_is_taken_back_leaves_nothing_behind(records: list[ObjectUse], terms: Terms) -> None:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", terms)
    empty = told(ledger, "team-a", "q", terms)
    for record in records:
        ledger.put(record)
    ledger.release_due(6.0)
    for record in records:
        ledger.delete(record.uid, record.shape.resource)
    assert told(ledger, "team-a", "q", terms) == empty
    assert len(ledger) == 0
    assert (ledger._objects, ledger._by_namespace, ledger._dependents._by_pod, ledger._released) == ({}, {}, {}, set())


@given(st.data())
def test_pods_of_every_shape_add_up(data: st.DataObject) -> None:
    shapes, ledger = Shapes(), Ledger()
    names = {"pods", "count/pods", "requests.cpu", "limits.memory", "hugepages-2Mi", "requests.example.com/gpu"}
    terms = Terms(frozenset(names))
    ledger.set_quota("team-a", "q", terms)
    specs = data.draw(st.lists(pod_specs(), max_size=4))
    records = [
        counting.pod_use(pod(f"uid-{at}", spec=spec, status=data.draw(statuses_of(spec))), shapes)
        for at, spec in enumerate(specs)
    ]
    for record in records:
        ledger.put(record)
    assert told(ledger, "team-a", "q", terms) == count(records, "team-a", terms, 0.0)
