"""Many clients that create, resize and delete pods of a namespace at once, and a watch of what is stored meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from moorage.quantity import NANO, parse_nano
from tests.cluster.objects import pod
from tests.cluster.rest import STRATEGIC, Answer, Object, Rest
from tests.controlplane.waiting import wait_for

CLIENTS, PODS = 16, 500
HARD = {"pods": "100", "requests.cpu": "12"}
SMALL = "100m"
LARGER = ("100m", "150m", "200m")


@dataclass
class Outcome:
    """What the clients were answered, and the most that was ever stored."""

    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By what was done and the HTTP code."""
    most: dict[str, int] = field(default_factory=lambda: dict.fromkeys(HARD, 0))
    """By name of `hard`, in nano-units."""
    stored: dict[str, int] = field(default_factory=dict)
    """What is stored in the end, likewise."""
    seconds: float = 0.0

    def count(self, code: int, what: str | None = None) -> int:
        found = (number for (done, each), number in self.codes.items() if each == code and what in (None, done))
        return sum(found)

    @property
    def others(self) -> dict[tuple[str, int], int]:
        """Answers that are neither a success, nor a refusal, nor a conflict."""
        return {key: number for key, number in self.codes.items() if key[1] not in (200, 201, 403, 409)}

    def row(self, name: str) -> str:
        rate = sum(self.codes.values()) / self.seconds
        return (
            f"{name:<22} {self.stored['pods'] // NANO:>6} {self.most['pods'] // NANO:>5} "
            f"{self.most['requests.cpu'] / NANO:>8.2f} {self.count(201):>8} "
            f"{self.count(200, 'resize'):>8} {self.count(403):>8} {self.count(409):>4} {rate:>10.0f}"
        )


HEADER = (
    f"{'':<22} {'stored':>6} {'most':>5} {'most CPU':>8} {'created':>8} {'resized':>8} {'refused':>8} {'409':>4} "
    f"{'requests/s':>10}"
)


class Watcher:
    """Follows the pods of a namespace in the order in which they were stored, and adds up what they ask for."""

    def __init__(self, rest: Rest, namespace: str) -> None:
        self.pods: dict[str, int] = {}
        self.most = dict.fromkeys(HARD, 0)
        self._events = rest.watch(namespace, "Pod")
        threading.Thread(target=self._follow, daemon=True).start()  # it ends with the watch

    @property
    def stored(self) -> dict[str, int]:
        pods = list(self.pods.values())
        return {"pods": len(pods) * NANO, "requests.cpu": sum(pods)}

    def _follow(self) -> None:
        for event in self._events:
            stored = event["object"]
            name = stored["metadata"]["name"]
            if event["type"] == "DELETED":
                del self.pods[name]
            elif event["type"] in ("ADDED", "MODIFIED"):
                self.pods[name] = requested(stored)
                self.most = {each: max(amount, self.most[each]) for each, amount in self.stored.items()}


def requested(stored: Object) -> int:
    return sum(parse_nano(each["resources"]["requests"]["cpu"]) for each in stored["spec"]["containers"])


def write_in_parallel(
    rest: Rest, namespace: str, *, deleting: bool = False, halfway: Callable[[], None] = lambda: None
) -> Outcome:
    """Have 16 clients create 500 pods and resize those that are accepted, or delete some; `halfway` is called once."""
    outcome, lock, called = Outcome(), threading.Lock(), threading.Event()

    def note(what: str, answer: Answer) -> Answer:
        with lock:
            outcome.codes[what, answer.code] += 1
        return answer

    def client(number: int) -> None:
        choice, mine = random.Random(number), list[str]()
        for at in range(number, PODS, CLIENTS):
            if at >= PODS // 2 and not called.is_set():
                called.set()
                halfway()
            name = f"pod-{at}"
            if note("create", rest.create(namespace, pod(name, cpu=SMALL, schedulerName="none"))).ok:
                mine.append(name)
            if mine:
                name = choice.choice(mine)
                container = {"name": "app", "resources": {"requests": {"cpu": choice.choice(LARGER)}}}
                change = {"spec": {"containers": [container]}}
                note("resize", rest.patch(namespace, "Pod", name, change, sub="resize", how=STRATEGIC))
            if deleting and mine and choice.random() < 0.5:
                note("delete", rest.delete(namespace, "Pod", mine.pop(), grace=0))

    watcher = Watcher(rest, namespace)
    began = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as clients:
        for done in [clients.submit(client, number) for number in range(CLIENTS)]:
            done.result()
    outcome.seconds = time.monotonic() - began
    listed = {each["metadata"]["name"]: requested(each) for each in rest.items(namespace, "Pod")}
    wait_for(lambda: watcher.pods == listed, timeout=20, message=lambda: f"{listed}; the watch has {watcher.pods}")
    outcome.stored, outcome.most = watcher.stored, watcher.most
    return outcome
