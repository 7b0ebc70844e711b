"""A gauge learns from the pods of a synthetic cluster what was put into it, and a restart loses nothing."""

from __future__ import annotations

import base64
import json
import math
import zlib
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from moorage.buffer.newcomers import Newcomers
from moorage.cluster.arrivals import Arrival, NodeBirths, read_arrival, read_birth
from moorage.cluster.gauge import Gauge, Memory

BEGAN = 1_770_000_000
RESUME, COLD, READY = 30, 90, 7


def stamp(second: int) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def encoded(uid: str, created: int, **more: Any) -> bytes:
    """A pod as the API server sends it; `scheduled`, `ready`, `deleted` are seconds."""
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": stamp(more[name])}
        for name, kind in (("scheduled", "PodScheduled"), ("ready", "Ready"))
        if more.get(name)
    ]
    if more.get("evicted"):
        conditions.append({"type": "DisruptionTarget", "status": "True", "lastTransitionTime": stamp(created)})
    meta: dict[str, Any] = {
        "uid": uid,
        "resourceVersion": "1",
        "creationTimestamp": stamp(created),
        "labels": {"pod-template-hash": more.get("template", "a"), "app": "web"},
        "ownerReferences": [{"kind": "ReplicaSet", "controller": True}],
    }
    if more.get("deleted"):
        meta |= {"deletionTimestamp": stamp(more["deleted"] + 30), "deletionGracePeriodSeconds": 30}
    containers = [{"restartCount": more.get("restarts", 0)}]
    status = {"phase": more.get("phase", "Running"), "conditions": conditions, "containerStatuses": containers}
    return json.dumps({"metadata": meta, "spec": {"nodeName": more.get("node", "")}, "status": status}).encode()


def arrival(uid: str, created: int, **more: Any) -> Arrival:
    return read_arrival(encoded(uid, created, **more))


def node(name: str, created: int, suspended: str = "", since: int = 0) -> bytes:
    told = {"lastTransitionTime": stamp(since)} if since else {}
    conditions = [{"type": "Suspended", "status": suspended, **told}] if suspended else []
    meta = {"name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": stamp(created)}
    return json.dumps({"metadata": meta, "status": {"conditions": conditions}}).encode()


def gauge(nodes: NodeBirths | None, memory: Memory | None = None, **counting: bool) -> Gauge:
    found = Gauge(memory or Memory.new(Fraction(30), Fraction(90), BEGAN), nodes, newcomers=Newcomers(**counting))
    found.replace({})
    return found


def test_what_is_read_of_a_pod() -> None:
    found = arrival("a", BEGAN, scheduled=BEGAN + 9, ready=BEGAN + 12, node="n", deleted=BEGAN + 50)
    assert (found.created, found.scheduled, found.ready, found.deleted) == (
        BEGAN,
        BEGAN + 9,
        BEGAN + 12,
        BEGAN + 50,
    )
    assert (found.template, found.owner_kind, found.node) == ("a", "ReplicaSet", "n")
    assert arrival("a", BEGAN, ready=BEGAN + 3, restarts=1).ready is None
    assert arrival("a", BEGAN, phase="Failed").failed


def test_latencies_of_a_synthetic_cluster_are_found_by_what_the_pods_waited_for() -> None:
    random, births = Random(3), NodeBirths()
    found, colds, resumes = gauge(births), [], []
    for at in range(300):
        created = BEGAN + 10 + at
        kind = at % 3
        wait = 0 if kind == 0 else round(random.lognormvariate(3.4 if kind == 1 else 4.5, 0.3))
        if kind == 1:
            births.put(read_birth(node(f"n{at}", BEGAN - 9999, "True", BEGAN - 999)))
            births.put(read_birth(node(f"n{at}", BEGAN - 9999, "False", created + wait)))
            resumes.append(wait)
        elif kind == 2:
            births.put(read_birth(node(f"n{at}", created + wait - 2)))
            colds.append(wait)
        else:
            births.put(read_birth(node(f"n{at}", BEGAN - 9999)))
        scheduled = created + wait
        found.put(arrival(f"p{at}", created, scheduled=scheduled, ready=scheduled + READY, node=f"n{at}"))
    found.advance(BEGAN + 2000)
    measured = found.measured(BEGAN + 2000)
    assert measured.resume is not None
    assert measured.cold is not None
    assert measured.after is not None
    assert (measured.resume.samples, measured.cold.samples, measured.after.samples) == (100, 100, 300)
    assert measured.resume.p95 == sorted(resumes)[94]
    assert measured.cold.p95 == sorted(colds)[94]
    assert measured.after.p50 == READY
    assert measured.pods == 300
    assert measured.rate is not None
    assert float(measured.rate.per_second) == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("since", [BEGAN, None], ids=["left as it was", "left out"])
def test_a_resume_whose_time_is_not_told_counts_from_when_it_is_seen(since: int | None) -> None:
    births = NodeBirths(lambda: BEGAN + 41.5)
    found = gauge(births)
    told = {} if since is None else {"since": since}
    births.put(read_birth(node("n", BEGAN - 99, "True", **told)))
    births.put(read_birth(node("n", BEGAN - 99, "False", **told)))
    found.put(arrival("p", BEGAN + 10, scheduled=BEGAN + 42, node="n"))
    found.advance(BEGAN + 60)
    resume = found.measured(BEGAN + 60).resume
    assert resume is not None
    assert (resume.samples, resume.p50) == (1, 32)


def test_a_node_that_was_never_suspended_was_never_resumed() -> None:
    births = NodeBirths()
    births.put(read_birth(node("n", BEGAN - 99)))
    births.put(read_birth(node("n", BEGAN - 99)))
    assert births.resumed("n") is None


def test_pods_that_still_wait_count_as_waiting_longer() -> None:
    births = NodeBirths()
    found = gauge(births)
    for at in range(20):
        births.put(read_birth(node(f"n{at}", BEGAN + 20)))
        found.put(arrival(f"p{at}", BEGAN + 1, scheduled=BEGAN + 31, node=f"n{at}"))
    for at in range(20):
        found.put(arrival(f"w{at}", BEGAN + 1, phase="Pending"))
    found.advance(BEGAN + 101)
    cold = found.measured(BEGAN + 101).cold
    assert cold is not None
    assert (cold.samples, cold.waiting, cold.p50, cold.p95) == (40, 20, 30, None)


def test_where_nodes_may_not_be_read_no_latency_is_told() -> None:
    found = gauge(None)
    found.put(arrival("p", BEGAN + 1, scheduled=BEGAN + 31, node="n"))
    found.advance(BEGAN + 100)
    cold = found.measured(BEGAN + 100).cold
    assert cold is not None
    assert cold.samples == 0


def test_a_restart_takes_each_pod_up_once() -> None:
    births = NodeBirths()
    births.put(read_birth(node("n", BEGAN + 58)))
    first = gauge(births)
    pods = [arrival(f"p{at}", BEGAN + 1 + at, scheduled=BEGAN + 60, ready=BEGAN + 65, node="n") for at in range(30)]
    for pod in pods:
        first.put(pod)
    first.advance(BEGAN + 100)
    again = gauge(births, Memory.read(first.record()))
    more = [arrival(f"q{at}", BEGAN + 110 + at, scheduled=BEGAN + 110 + at, node="n") for at in range(5)]
    again.replace({pod.uid: pod for pod in [*pods, *more]})
    again.advance(BEGAN + 200)
    for each in (first, again):
        measured = each.measured(BEGAN + 200)
        assert measured.cold is not None
        assert measured.after is not None
        assert (measured.cold.samples, measured.after.samples) == (30, 30)
    assert (first.measured(BEGAN).pods, again.measured(BEGAN).pods) == (30, 35)


@pytest.mark.parametrize("counted", [False, True])
def test_rollouts_and_drains_are_told_apart_from_demand(counted: bool) -> None:
    found = gauge(NodeBirths(), rollouts=counted, replacements=counted)
    for at in range(4):
        found.put(arrival(f"old{at}", BEGAN + 1))
    for at in range(4):
        found.put(arrival(f"new{at}", BEGAN + 30 + at, template="b"))
        found.put(arrival(f"old{at}", BEGAN + 1, deleted=BEGAN + 32 + at))
    found.put(arrival("new0", BEGAN + 30, template="b", evicted=True))
    found.put(arrival("moved", BEGAN + 90, template="b"))
    found.advance(BEGAN + 200)
    assert found.measured(BEGAN + 200).pods == (9 if counted else 4)


@pytest.mark.parametrize("text", ["", "x", "!!", "eJwDAAAAAAE=", "bm90aGluZw=="])
def test_a_record_that_cannot_be_read_is_none(text: str) -> None:
    assert Memory.read(text) is None


@pytest.mark.parametrize("change", [{"waits": []}, {"scheduled": math.inf}, {"demand": {"windows": ["1/0", "1"]}}])
def test_nor_is_one_that_somebody_made_up(change: dict[str, Any]) -> None:
    stored = json.loads(zlib.decompress(base64.b64decode(Memory.new(Fraction(30), Fraction(90), 0.0).text())))
    for name, value in change.items():
        stored[name] = {**stored[name], **value} if isinstance(value, dict) else value
    assert Memory.read(base64.b64encode(zlib.compress(json.dumps(stored).encode())).decode()) is None


def test_a_record_is_small() -> None:
    random = Random(5)
    memory = Memory.new(Fraction(30), Fraction(90), BEGAN)
    for at in range(50_000):
        memory.demand.add(str(at), BEGAN + int(at / 3 + random.random() * 20))
    memory.demand.advance(BEGAN + 50_000)
    memory.waits.cold.extend(random.randrange(40, 200) for _ in range(1000))
    assert len(memory.text()) < 12_000
