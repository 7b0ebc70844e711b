"""The test autoscaler as it runs: a thread that looks at the cluster many times a second and carries plans out.

Latencies are those of GKE scaled down, and can be changed while it runs: what is under way follows the change too, so
that a test can hold a step for as long as it looks, and let it go then. `history` has all that it did, in order.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import urllib3

from moorage.quantity import NANO, parse_nano
from tests.cluster.rest import MERGE, STRATEGIC, Rest, rest_client
from tests.controlplane.cluster import Cluster
from tests.standby.nodes import (
    ASSIGNED,
    POOL,
    Object,
    Room,
    State,
    consumption,
    new_node,
    says_suspended,
    state_of,
    suspension,
)
from tests.standby.plan import Buffer, Place, Plan, Steps

VERSION = "autoscaling.x-k8s.io/v1beta1"
STANDBY_STRATEGY = "buffer.gke.io/standby-capacity"
HELD = 600.0
"""A latency that no test waits for: set for as long as a step has to be held."""
_POLL_SECONDS = 0.1
_MEBI = 1 << 20


@dataclass
class Latencies:
    """Seconds; of GKE they are about 90, 30, 300 and 600."""

    new_node: float = 1.5
    resume: float = 0.5
    chilling: float = 1.0
    """How long a standby node runs before it is suspended."""
    scale_down: float = 2.0
    """How long a node is not needed before it goes."""


@dataclass(frozen=True)
class Event:
    """Something that the autoscaler did: made, chilling, suspended, consumed, resumed or removed."""

    what: str
    node: str
    at: float


@dataclass
class _Arriving:
    ordered: float
    buffer: str = ""


@dataclass
class _Memory:
    """What the API does not hold."""

    arriving: list[_Arriving] = field(default_factory=list)
    resuming: dict[str, float] = field(default_factory=dict)
    """When each node's resume began."""
    seen: dict[str, float] = field(default_factory=dict)
    """When each chilling node began to chill."""
    idle: dict[str, float] = field(default_factory=dict)
    """Since when each node is not needed."""


class StandbyAutoscaler:
    """Serves the buffers and the pods of one pool: those that ask for its nodes by the label `POOL`."""

    def __init__(self, rest: Rest, *, size: Room | None = None, latencies: Latencies | None = None) -> None:
        self.pool = f"standby-{secrets.token_hex(3)}"
        self.size = size or Room(cpu=4000, memory=16 * 1024, pods=110)
        self.latencies = latencies or Latencies()
        self.history: list[Event] = []
        self.trouble = ""
        self.held = threading.Lock()
        """Whoever has it keeps the autoscaler from doing anything."""
        self._rest = rest
        self._memory = _Memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it, and remove its nodes."""
        self._stop.set()
        self._thread.join()
        for node in self._nodes():
            self._rest.delete("", "Node", node["metadata"]["name"])

    def events(self, what: str) -> list[str]:
        """Return the nodes to which something was done, in order."""
        return [each.node for each in self.history if each.what == what]

    def nodes(self, state: State) -> list[str]:
        """Return the names of the nodes in a state now, in order."""
        return sorted(each["metadata"]["name"] for each in self._nodes() if state_of(each) is state)

    # The loop

    def _run(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            try:
                with self.held:
                    self._pass()
                self.trouble = ""
            except (urllib3.exceptions.HTTPError, AssertionError, KeyError) as error:
                self.trouble = repr(error)

    def _pass(self) -> None:
        now = time.monotonic()
        self._arrive(now)
        nodes = {each["metadata"]["name"]: each for each in self._nodes()}
        self._finish_resumes(nodes, now)
        pods = [each for each in self._rest.items("", "Pod") if not _finished(each)]
        buffers = list(self._buffers())
        steps = Plan(self._places(nodes, pods), self.size).make([_room(each) for each in self._waiting(pods)], buffers)
        self._carry_out(steps, nodes, now)
        self._suspend(nodes, steps, now)

    def _nodes(self) -> list[Object]:
        path = f"/api/v1/nodes?labelSelector={POOL}%3D{self.pool}"
        found: list[Object] = self._rest.request("GET", path).require()["items"]
        return [each for each in found if not each["metadata"].get("deletionTimestamp")]

    def _places(self, nodes: Mapping[str, Object], pods: list[Object]) -> Iterator[Place]:
        for name, node in nodes.items():
            own = [each for each in pods if each["spec"].get("nodeName") == name]
            free = self.size
            for pod in own:
                free -= _room(pod)
            resuming = name in self._memory.resuming
            yield Place(
                name,
                State.RUNNING if resuming else state_of(node),
                free,
                buffer="" if resuming else (node["metadata"].get("annotations") or {}).get(ASSIGNED, ""),
                used=bool(own),
                resuming=resuming,
            )
        for number, each in enumerate(self._memory.arriving):
            state = State.CHILLING if each.buffer else State.RUNNING
            yield Place(f"arriving-{number}", state, self.size, buffer=each.buffer, arriving=True)

    def _waiting(self, pods: list[Object]) -> list[Object]:
        return [
            each
            for each in pods
            if not each["spec"].get("nodeName")
            and not each["metadata"].get("deletionTimestamp")
            and (each["spec"].get("nodeSelector") or {}).get(POOL) == self.pool
            and any(one["reason"] == "Unschedulable" for one in each["status"].get("conditions", ()) if "reason" in one)
        ]

    def _buffers(self) -> Iterator[Buffer]:
        for stored in self._rest.request("GET", f"/apis/{VERSION}/capacitybuffers").require()["items"]:
            meta, spec = stored["metadata"], stored["spec"]
            answer = self._rest.get(meta["namespace"], "PodTemplate", spec["podTemplateRef"]["name"])
            if not answer.ok or meta.get("deletionTimestamp"):
                continue
            template = answer.body["template"]
            if (template["spec"].get("nodeSelector") or {}).get(POOL) != self.pool:
                continue
            self._answer(stored)
            standby = spec.get("provisioningStrategy") == STANDBY_STRATEGY
            yield Buffer(f"{meta['namespace']}/{meta['name']}", _room(template), spec.get("replicas", 0), standby)

    def _answer(self, stored: Object) -> None:
        """Say on a buffer what GKE says."""
        meta, status, replicas = stored["metadata"], stored.get("status") or {}, stored["spec"].get("replicas", 0)
        if status.get("replicas") == replicas:
            return
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        said = {"status": "True", "message": "", "lastTransitionTime": stamp}
        conditions = [
            {"type": "ReadyForProvisioning", "reason": "AttributesSetSuccessfully", **said},
            {"type": "Provisioning", "reason": "FakePodsInjected", **said},
        ]
        strategy = stored["spec"].get("provisioningStrategy", "")
        wanted = {"replicas": replicas, "provisioningStrategy": strategy, "conditions": conditions}
        self._rest.patch(
            meta["namespace"], "CapacityBuffer", meta["name"], {"status": wanted}, version=VERSION, sub="status"
        )

    # What it does

    def _arrive(self, now: float) -> None:
        """Nodes that were ordered and are there now."""
        for each in [each for each in self._memory.arriving if now - each.ordered >= self.latencies.new_node]:
            name = f"{self.pool}-{secrets.token_hex(3)}"
            self._rest.create("", new_node(name, self.pool, self.size, standby_for=each.buffer)).require()
            self._memory.arriving.remove(each)
            self._note("chilling" if each.buffer else "made", name)

    def _finish_resumes(self, nodes: dict[str, Object], now: float) -> None:
        for name, since in list(self._memory.resuming.items()):
            if name not in nodes:
                del self._memory.resuming[name]
            elif now - since >= self.latencies.resume:
                self._rest.patch("", "Node", name, says_suspended("False"), sub="status", how=STRATEGIC).require()
                nodes[name] = self._rest.patch("", "Node", name, consumption(nodes[name]), how=MERGE).require()
                del self._memory.resuming[name]
                self._note("resumed", name)

    def _carry_out(self, steps: Steps, nodes: dict[str, Object], now: float) -> None:
        for name in steps.consume:
            nodes[name] = self._rest.patch("", "Node", name, consumption(nodes[name]), how=MERGE).require()
            self._note("consumed", name)
        for name in steps.resume:
            self._memory.resuming[name] = now
            self._note("resuming", name)
        orders = ["" for _ in range(steps.make)]
        orders += [buffer for buffer, count in steps.make_standby.items() for _ in range(count)]
        self._memory.arriving += [_Arriving(now, buffer) for buffer in orders]
        idle = self._memory.idle
        self._memory.idle = {name: idle.get(name, now) for name in steps.not_needed}
        late = [name for name, since in self._memory.idle.items() if now - since >= self.latencies.scale_down]
        for name in [*late, *(each for each in steps.remove if each in nodes)]:
            self._rest.delete("", "Node", name)
            nodes.pop(name, None)
            self._note("removed", name)
        self._memory.arriving = [
            each for number, each in enumerate(self._memory.arriving) if f"arriving-{number}" not in steps.remove
        ]

    def _suspend(self, nodes: Mapping[str, Object], steps: Steps, now: float) -> None:
        """Suspend standby nodes that have run long enough without a pod."""
        chilling = [
            name for name, node in nodes.items() if state_of(node) is State.CHILLING and name not in steps.consume
        ]
        self._memory.seen = {name: self._memory.seen.get(name, now) for name in chilling}
        for name, since in list(self._memory.seen.items()):
            if now - since < self.latencies.chilling:
                continue
            self._rest.patch("", "Node", name, suspension(nodes[name]), how=MERGE).require()
            self._rest.patch("", "Node", name, says_suspended("True"), sub="status", how=STRATEGIC).require()
            self._note("suspended", name)

    def _note(self, what: str, node: str) -> None:
        self.history.append(Event(what, node, time.monotonic()))


def _finished(pod: Mapping[str, Any]) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def _room(pod: Mapping[str, Any]) -> Room:
    """Return what a pod asks for."""
    asked = [(each.get("resources") or {}).get("requests") or {} for each in pod["spec"]["containers"]]
    cpu = sum(parse_nano(str(each.get("cpu", "0"))) for each in asked)
    memory = sum(parse_nano(str(each.get("memory", "0"))) for each in asked)
    return Room(cpu=cpu * 1000 // NANO, memory=-(-memory // (NANO * _MEBI)), pods=1)


@contextmanager
def standby_autoscaler(cluster: Cluster, **keywords: Any) -> Iterator[StandbyAutoscaler]:
    """Run an autoscaler for the length of a block."""
    with rest_client(cluster.kubeconfig) as rest:
        autoscaler = StandbyAutoscaler(rest, **keywords)
        try:
            yield autoscaler
        finally:
            with suppress(urllib3.exceptions.HTTPError):
                autoscaler.stop()
