"""Looks at the workloads of a namespace when a quota of it comes or changes, and again while any would be refused."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

from moorage.cluster.client import Client
from moorage.cluster.errors import ClusterError
from moorage.cluster.workloads import Unreadable, read_workloads
from moorage.quantity import QuantityError
from moorage.quota.admission import QuotaState
from moorage.quota.workloads import Findings, Refused, Workload, demands_of_single_pods, refused, unused

logger = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 30.0
"""How long a namespace is left alone in which something would be refused or could not be read."""

_AT_ONCE = 4


class WorkloadWatch:
    """Knows for each namespace which workloads' next pods its quotas would refuse.

    `states` returns the quotas of a namespace; `changed` is called with a namespace of which something new is known.
    """

    def __init__(
        self, client: Client, states: Callable[[str], Iterable[QuotaState]], changed: Callable[[str], None]
    ) -> None:
        self._client = client
        self._states = states
        self._changed = changed
        self._findings: dict[str, Findings] = {}
        self._due: dict[str, float] = {}
        """When to look at a namespace, in seconds of the event loop's clock."""
        self._busy: set[str] = set()
        self._wake = asyncio.Event()

    def look(self, namespace: str) -> None:
        """Have a look at a namespace soon: its quotas are not what they were."""
        self._due[namespace] = 0.0
        self._wake.set()

    def findings(self, namespace: str) -> Findings | None:
        """Return what was found when somebody last looked at a namespace; None when nobody has yet."""
        return self._findings.get(namespace)

    async def run(self) -> None:
        """Look until cancelled."""
        slots = asyncio.Semaphore(_AT_ONCE)
        async with asyncio.TaskGroup() as group:
            while True:
                await self._sleep()
                now = asyncio.get_running_loop().time()
                for namespace in [each for each, moment in self._waiting() if moment <= now]:
                    del self._due[namespace]
                    self._busy.add(namespace)
                    group.create_task(self._look(namespace, slots), name=f"workloads of {namespace}")

    def _waiting(self) -> list[tuple[str, float]]:
        return [(each, moment) for each, moment in self._due.items() if each not in self._busy]

    async def _sleep(self) -> None:
        """Wait until somebody asks for a look, or the next one is due."""
        self._wake.clear()
        next_look = min((moment for _, moment in self._waiting()), default=None)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(next_look):
                await self._wake.wait()

    async def _look(self, namespace: str, slots: asyncio.Semaphore) -> None:
        try:
            async with slots:
                quotas = list(self._states(namespace))
                self._take(namespace, await self._find(namespace, quotas) if _are_looked_at(quotas) else None)
        finally:
            self._busy.discard(namespace)
            self._wake.set()

    async def _find(self, namespace: str, quotas: list[QuotaState]) -> Findings:
        """Look at all workloads; whatever keeps us from it is a finding too, so that status does not wait for it."""
        would_be_refused: list[Refused] = []
        problems: list[str] = []
        try:
            async for each in read_workloads(self._client, namespace):
                if isinstance(each, Unreadable):
                    problems.append(each.message)
                else:
                    would_be_refused += _judged(each, quotas, namespace)
                    await asyncio.sleep(0)  # a look at a thousand of them shall hold up nothing else
        except ClusterError as error:
            logger.warning("the workloads of %s cannot be read, which will be tried again: %s", namespace, error)
            problems.append(f"workloads cannot be read: {error}")
        except Exception:
            logger.exception("looking at the workloads of %s failed by a bug", namespace)
            problems.append("workloads cannot be looked at, by a bug of the operator; its log says more")
        return Findings({each.name: unused(each) for each in quotas}, tuple(would_be_refused), tuple(problems))

    def _take(self, namespace: str, found: Findings | None) -> None:
        if found is None:
            self._findings.pop(namespace, None)
            return
        if found.refused or found.problems:
            self._due.setdefault(namespace, asyncio.get_running_loop().time() + LOOK_AGAIN_SECONDS)
        if self._findings.get(namespace) != found:
            self._findings[namespace] = found
            self._changed(namespace)


def _are_looked_at(quotas: list[QuotaState]) -> bool:
    return any(demands_of_single_pods(each) for each in quotas)


def _judged(workload: Workload, quotas: list[QuotaState], namespace: str) -> list[Refused]:
    try:
        return list(refused([workload], quotas))
    except QuantityError as error:
        logger.warning("%s in %s has an amount that cannot be read: %s", workload.name, namespace, error)
        return []
