"""What pods take of their nodes follows every event, at the cost of nothing while no buffer needs it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.handlers.residents import PodSink, Residents
from moorage.quota.ledger import Ledger
from moorage.quota.usage import ObjectUse, Shapes
from tests.builders import nano, owned_by, pod_use

HOLDERS = ("team-a", "Deployment/spare")


class Place:
    """A ledger, its pods' places, and the sink in front of both."""

    def __init__(self, *, watched: bool = True, namespace: str | None = None) -> None:
        self.ledger = Ledger()
        self.residents = Residents(self.ledger)
        self.sink = PodSink(self.ledger, self.residents, namespace=namespace, changed=lambda: None)
        if watched:
            self.residents.watch([HOLDERS])

    def put(self, *pods: ObjectUse) -> Place:
        for each in pods:
            self.sink.put(each)
        return self

    def loads(self) -> dict[str, Any]:
        loads = self.residents.occupancy.loads
        return {name: (each.used, each.daemons, each.kinds) for name, each in loads.items() if each.used}

    def arrivals(self, node: str) -> int:
        return self.residents.occupancy.loads[node].arrivals


def used(**amounts: str) -> tuple[dict[str, int], dict[str, int], dict[Any, int]]:
    return nano(**amounts), {}, {}


def test_a_pod_takes_room_once_it_has_a_node() -> None:
    place = Place().put(pod_use("a", cpu="1"))
    assert place.loads() == {}
    place.put(pod_use("a", cpu="1", node="n1", version=2))
    assert place.loads() == {"n1": used(cpu="1", pods="1")}
    assert place.arrivals("n1") == 1


def test_a_pod_that_ends_gives_its_room_back() -> None:
    place = Place().put(pod_use("a", cpu="1", node="n1"), pod_use("b", cpu="2", node="n1"))
    place.put(pod_use("a", cpu="1", node="n1", version=2, phase="Succeeded"))
    place.sink.delete(pod_use("b", cpu="2", node="n1"))
    assert place.loads() == {}
    assert place.arrivals("n1") == 2


def test_a_pod_that_is_resized_takes_more_but_does_not_arrive_again() -> None:
    place = Place().put(pod_use("a", cpu="1", node="n1"), pod_use("a", cpu="3", node="n1", version=2))
    assert place.loads() == {"n1": used(cpu="3", pods="1")}
    assert place.arrivals("n1") == 1


def test_a_pod_that_is_being_deleted_takes_room_until_it_is_gone() -> None:
    place = Place().put(pod_use("a", cpu="1", node="n1"), pod_use("a", cpu="1", node="n1", version=2, released_at=1.0))
    place.ledger.release_due(2.0)
    assert place.loads() == {"n1": used(cpu="1", pods="1")}


def test_daemons_are_counted_apart_and_do_not_arrive() -> None:
    daemon = pod_use("a", cpu="100m", node="n1", owner=owned_by("DaemonSet/agent"))
    static = pod_use("b", cpu="200m", node="n1", owner=owned_by("Node/n1"))
    place = Place().put(daemon, static)
    assert place.loads() == {"n1": (nano(cpu="300m", pods="2"), nano(cpu="300m", pods="2"), {})}
    assert place.arrivals("n1") == 0


def test_pods_that_hold_places_are_found_and_do_not_arrive() -> None:
    owner = owned_by("ReplicaSet/spare-5f6")
    pods = [pod_use(name, cpu="1", node="n1", owner=owner, template_hash="5f6") for name in "ab"]
    place = Place().put(*pods, pod_use("c", cpu="1", node="n1"), pod_use("d", owner=owner, template_hash="5f6"))
    assert place.residents.places(HOLDERS) == {"n1": 2}
    assert place.arrivals("n1") == 1
    place.sink.delete(pods[0])
    assert place.residents.places(HOLDERS) == {"n1": 1}
    assert place.residents.places(("team-b", "Deployment/spare")) == {}


def test_nothing_is_kept_while_nobody_looks_and_all_is_there_once_somebody_does() -> None:
    place = Place(watched=False).put(pod_use("a", cpu="1", node="n1"))
    assert place.residents.occupancy.loads == {}
    place.residents.watch([])
    assert place.loads() == {"n1": used(cpu="1", pods="1")}
    assert place.arrivals("n1") == 0, "it was there before"
    place.residents.stop()
    place.put(pod_use("b", cpu="1", node="n1"))
    assert place.residents.occupancy.loads == {}


def test_what_arrived_is_not_forgotten_when_other_workloads_hold_places() -> None:
    place = Place().put(pod_use("a", cpu="1", node="n1"))
    place.residents.watch([HOLDERS, ("team-b", "Deployment/spare")])
    assert place.arrivals("n1") == 1


def test_labels_are_kept_only_where_somebody_looks_at_them() -> None:
    shapes = Shapes()
    labels = {"app": "web", "statefulset.kubernetes.io/pod-name": "web-0"}
    assert pod_use("a", labels=labels, shapes=shapes).labels is None
    shapes.label_keys = frozenset({"app", "zone"})
    one, other = (pod_use(name, labels=labels, shapes=shapes) for name in "ab")
    assert one.labels == (("app", "web"),)
    assert one.labels is other.labels, "pods that are alike share them"
    assert pod_use("c", shapes=shapes).labels == ()


def test_pods_are_counted_by_their_labels_on_each_node() -> None:
    shapes = Shapes()
    shapes.label_keys = frozenset({"app"})
    pods = [pod_use(name, labels={"app": "web"}, node="n1", shapes=shapes) for name in "ab"]
    place = Place().put(*pods)
    assert place.residents.occupancy.loads["n1"].kinds == {("team-a", (("app", "web"),)): 2}


PODS = st.builds(
    pod_use,
    st.sampled_from("abcd"),
    namespace=st.sampled_from(["team-a", "team-b"]),
    cpu=st.sampled_from(["1", "250m"]),
    node=st.sampled_from([None, "n1", "n2"]),
    phase=st.sampled_from(["Running", "Succeeded"]),
    owner=st.sampled_from([None, owned_by("DaemonSet/agent")]),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), PODS),
    st.tuples(st.just("delete"), PODS),
    st.tuples(st.just("replace"), st.lists(PODS, max_size=4)),
)


@given(steps=st.lists(STEPS, max_size=12))
def test_after_any_events_the_loads_are_those_of_the_pods_that_are_held(steps: list[tuple[str, Any]]) -> None:
    place = Place()
    for what, argument in steps:
        if what == "put":
            place.sink.put(argument)
        elif what == "replace":
            place.sink.replace({each.uid: each for each in argument})
        elif place.sink.get(argument.uid) is not None:
            place.sink.delete(argument)
    recounted = Place(watched=False)
    recounted.put(*place.ledger.objects().values())
    recounted.residents.watch([])
    assert place.loads() == recounted.loads()
