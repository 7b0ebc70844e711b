"""After any events in any order, the ledger's totals are those counted from the pods that are left."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from moorage.quantity import NANO
from moorage.quota import counting
from moorage.quota.ledger import Ledger, Terms, Usage
from moorage.quota.names import counted
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import ObjectUse, Shapes
from tests.builders import pod, pod_use
from tests.strategies import pod_specs, statuses_of

NAMESPACES = ("team-a", "team-b")
NAMES = ("pods", "count/pods", "cpu", "requests.cpu", "limits.cpu", "requests.memory", "requests.x.com/gpu", "services")
SCOPES = (
    (),
    (Requirement("Terminating"),),
    (Requirement("NotBestEffort"),),
    (Requirement("PriorityClass", "In", frozenset({"high"})), Requirement("NotTerminating")),
    (Requirement("PriorityClass", "NotIn", frozenset({"high"})),),
)


@dataclass
class World:
    """What a reader of all events knows, kept the plainest way."""

    ledger: Ledger = field(default_factory=Ledger)
    pods: dict[str, ObjectUse] = field(default_factory=dict)
    quotas: dict[tuple[str, str], Terms] = field(default_factory=dict)
    now: float = 0.0

    def put(self, record: ObjectUse) -> None:
        self.ledger.put(record)
        self.pods[record.uid] = record

    def delete(self, uid: str) -> None:
        self.ledger.delete(uid)
        self.pods.pop(uid, None)

    def relist(self, records: list[ObjectUse], namespace: str | None) -> None:
        listed = {each.uid: each for each in records if namespace in (None, each.namespace)}
        self.ledger.replace(listed.values(), namespace=namespace)
        kept = {uid: each for uid, each in self.pods.items() if namespace not in (None, each.namespace)}
        self.pods = kept | listed

    def set_quota(self, key: tuple[str, str], terms: Terms) -> None:
        self.ledger.set_quota(*key, terms)
        self.quotas[key] = terms

    def remove_quota(self, key: tuple[str, str]) -> None:
        self.ledger.remove_quota(*key)
        self.quotas.pop(key, None)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def counted(self) -> dict[tuple[str, str], Usage]:
        self.ledger.release_due(self.now)
        return {key: count(self.pods.values(), key[0], terms, self.now) for key, terms in self.quotas.items()}

    def told(self) -> dict[tuple[str, str], Usage]:
        return {key: self.ledger.usage(*key) for key in self.quotas}


def count(pods: Iterable[ObjectUse], namespace: str, terms: Terms, now: float) -> Usage:
    """Count a quota from a plain list of pods."""
    own = [each for each in pods if each.namespace == namespace and selects(terms.requirements, each.shape.facts)]
    live = [each for each in own if each.released_at is None or each.released_at >= now]
    used = {}
    for name in terms.names:
        what = counted(name)
        if what is not None and what.source == "count/pods":
            used[name] = len(own) * NANO
        elif what is not None:
            used[name] = sum(each.shape.amounts.get(what.source, 0) for each in live)
    return Usage(used, sum("pods" in each.shape.amounts for each in live))


RECORDS = st.builds(
    lambda at, **shape: pod_use(f"uid-{at}", namespace=NAMESPACES[at % 2], **shape),
    at=st.integers(0, 5),
    cpu=st.sampled_from([None, "0", "100m", "1", "3"]),
    memory=st.sampled_from([None, "1Gi"]),
    limits=st.sampled_from([None, {"cpu": "2"}, {"x.com/gpu": "1"}]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    priority_class=st.sampled_from([None, "high", "low"]),
    deadline=st.sampled_from([None, 600]),
    released_at=st.sampled_from([None, None, 1.0, 5.0, 9.0]),
)
"""Records of a few pods, each of which stays in its namespace."""

QUOTAS = st.tuples(st.sampled_from(NAMESPACES), st.sampled_from(["q1", "q2"]))
TERMS = st.builds(Terms, st.frozensets(st.sampled_from(NAMES)), st.sampled_from(SCOPES))


def call(method: Callable[..., None], *arguments: st.SearchStrategy) -> st.SearchStrategy[Callable[[World], None]]:
    return st.tuples(*arguments).map(lambda given: lambda world: method(world, *given))


EVENTS = st.one_of(
    call(World.put, RECORDS),
    call(World.put, RECORDS),
    call(World.delete, st.integers(0, 5).map("uid-{}".format)),
    call(World.relist, st.lists(RECORDS, max_size=5), st.sampled_from([None, *NAMESPACES])),
    call(World.set_quota, QUOTAS, TERMS),
    call(World.remove_quota, QUOTAS),
    call(World.wait, st.sampled_from([0.5, 4.0])),
)


@given(st.lists(EVENTS, max_size=25))
def test_totals_are_those_of_the_final_list_after_any_events(events: list[Callable[[World], None]]) -> None:
    world = World()
    for event in events:
        event(world)
    counted = world.counted()
    assert world.told() == counted
    assert world.ledger.recount() == counted
    assert world.ledger.objects() == world.pods
    for namespace in NAMESPACES:
        assert set(world.ledger.objects(namespace=namespace)) == {
            uid for uid, each in world.pods.items() if each.namespace == namespace
        }


@given(st.lists(EVENTS, max_size=15))
def test_totals_are_right_after_every_single_event(events: list[Callable[[World], None]]) -> None:
    world = World()
    for event in events:
        event(world)
        counted = world.counted()
        assert world.told() == counted


@given(st.lists(EVENTS, max_size=15))
def test_every_quota_whose_usage_changed_is_told(events: list[Callable[[World], None]]) -> None:
    world = World()
    before = world.counted()
    for event in events:
        event(world)
        after = world.counted()
        changed = {key for key in after if after[key] != before.get(key)}
        told = world.ledger.take_changed()
        assert changed <= told <= set(world.quotas)
        before = after


@given(st.lists(RECORDS, max_size=8), TERMS, st.randoms())
def test_the_order_in_which_pods_arrive_does_not_matter(records: list[ObjectUse], terms: Terms, random: object) -> None:
    last = list({each.uid: each for each in records}.values())
    shuffled = list(last)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = Ledger(), Ledger()
    one.set_quota("team-a", "q", terms)
    for record in last:
        one.put(record)
    for record in shuffled:
        other.put(record)
    other.set_quota("team-a", "q", terms)
    assert one.usage("team-a", "q") == other.usage("team-a", "q")


@given(st.lists(RECORDS, max_size=8), TERMS)
def test_what_is_taken_back_leaves_nothing_behind(records: list[ObjectUse], terms: Terms) -> None:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", terms)
    empty = ledger.usage("team-a", "q")
    for record in records:
        ledger.put(record)
    for record in records:
        ledger.delete(record.uid)
    assert ledger.usage("team-a", "q") == empty
    assert len(ledger) == 0


@given(st.data())
def test_pods_of_every_shape_add_up(data: st.DataObject) -> None:
    shapes, ledger = Shapes(), Ledger()
    names = {"pods", "count/pods", "requests.cpu", "limits.memory", "hugepages-2Mi", "requests.example.com/gpu"}
    ledger.set_quota("team-a", "q", Terms(frozenset(names)))
    specs = data.draw(st.lists(pod_specs(), max_size=4))
    records = [
        counting.pod_use(pod(f"uid-{at}", spec=spec, status=data.draw(statuses_of(spec))), shapes)
        for at, spec in enumerate(specs)
    ]
    for record in records:
        ledger.put(record)
    assert ledger.usage("team-a", "q") == count(records, "team-a", Terms(frozenset(names)), 0.0)
