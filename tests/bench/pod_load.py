"""A steady load of pod changes on an API server, open loop: a change is sent when it is due, answered or not."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

IN_FLIGHT = 64
KINDS = ("create", "delete", "resize", "finish")


@dataclass
class Change:
    """One change of one pod; times by the machine's monotonic clock."""

    kind: str
    namespace: str
    grown: int
    """By how many bytes the namespace's requested memory grows."""
    late: float
    """How many seconds after its turn it was sent."""
    sent_at: float
    answered_at: float = 0.0
    version: int = 0


@dataclass
class Load:
    """Makes pods and changes them."""

    session: aiohttp.ClientSession
    namespaces: Sequence[str]
    choice: random.Random = field(default_factory=lambda: random.Random(0))
    pods: dict[tuple[str, str], int] = field(default_factory=dict)
    """Requested bytes of the pods that can be chosen, by namespace and name."""
    made: int = 0

    async def fill(self, count: int) -> dict[str, int]:
        """Make so many pods; returns the bytes requested in each namespace."""
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def make(number: int) -> None:
            async with slots:
                await self.create(self.namespaces[number % len(self.namespaces)], 0.0)

        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(make(number))
        sums: Counter[str] = Counter()
        for (namespace, _), amount in self.pods.items():
            sums[namespace] += amount
        return dict(sums)

    async def change(self, count: int, rate: float) -> list[Change]:
        """Make so many changes at so many a second, whether or not the ones before were answered."""
        kinds = [KINDS[number % len(KINDS)] for number in range(count)]
        self.choice.shuffle(kinds)
        slots = asyncio.Semaphore(IN_FLIGHT)
        began = time.monotonic()
        changes: list[Change] = []

        async def make(kind: str, turn: float) -> None:
            async with slots:
                late = time.monotonic() - turn
                if kind == "create":
                    changes.append(await self.create(self.choice.choice(self.namespaces), late))
                else:
                    changes.append(await self.touch(kind, late))

        async with asyncio.TaskGroup() as group:
            for number, kind in enumerate(kinds):
                turn = began + number / rate
                await asyncio.sleep(max(turn - time.monotonic(), 0))
                group.create_task(make(kind, turn))
        return changes

    async def create(self, namespace: str, late: float) -> Change:
        """Make a pod that no scheduler takes: it is counted from the moment it is stored."""
        self.made += 1
        name, amount = f"pod-{self.made}", self._amount()
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"schedulerName": "none", "containers": [_container(amount)]},
        }
        change = Change("create", namespace, amount, late, time.monotonic())
        await self._send(change, "POST", f"/api/v1/namespaces/{namespace}/pods", body)
        self.pods[namespace, name] = amount
        return change

    async def touch(self, kind: str, late: float) -> Change:
        """Delete, resize or finish a pod."""
        namespace, name = self.choice.choice(list(self.pods))
        amount = self.pods.pop((namespace, name))
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        change = Change(kind, namespace, -amount, late, time.monotonic())
        if kind == "delete":
            await self._send(change, "DELETE", path, {"gracePeriodSeconds": 0})
        elif kind == "finish":
            await self._send(change, "PATCH", f"{path}/status", {"status": {"phase": "Succeeded"}})
        else:
            resized = self._amount()
            change.grown = resized - amount
            await self._send(change, "PATCH", f"{path}/resize", {"spec": {"containers": [_container(resized)]}})
            self.pods[namespace, name] = resized
        return change

    async def _send(self, change: Change, method: str, path: str, body: dict[str, Any]) -> None:
        headers = {"Content-Type": "application/strategic-merge-patch+json"} if method == "PATCH" else {}
        async with self.session.request(method, path, json=body, headers=headers) as answer:
            stored = await answer.json()
            change.answered_at = time.monotonic()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path} was answered with {answer.status}: {stored.get('message')}")
        change.version = int(stored["metadata"]["resourceVersion"])

    def _amount(self) -> int:
        return self.choice.randrange(2**26, 2**29) | 1


def _container(memory: int) -> dict[str, Any]:
    return {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m", "memory": str(memory)}}}
