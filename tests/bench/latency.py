"""From a change of a pod to the status that shows it, on a real API server: `python -m tests.bench.latency`.

Pods in several namespaces, each with a quota, are created, deleted, resized and finished at a steady rate. Every pod
requests an odd amount of memory, so the sum in `status.used` tells which changes a status contains: the API server's
versions put the changes of a namespace in order, and each prefix of that order has a sum of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from multiprocessing.connection import Connection

import aiohttp
from tests.bench.observer import Seen, observing
from tests.bench.pod_load import Change, Load
from tests.controlplane import ControlPlane, wait_for_async
from tests.controlplane.commands import KWOK, SCHEDULER
from tests.operator_process import OperatorProcess

from moorage.api import crd_documents
from moorage.cluster.credentials import Credentials

PODS, NAMESPACES = 5_000, 10
RATE, SECONDS = 100, 30
SETTLE_SECONDS = 30.0
DELETION_REACH, DELETIONS_AT_ONCE = 20, 3
"""How many changes of a namespace may come between the mark and the removal of a deleted pod, and of how many pods."""
HARD = {"requests.cpu": "100k", "requests.memory": "1Pi", "pods": "100k"}
_WRITE = re.compile(r'verb="(APPLY|PATCH|PUT|POST|DELETE)"')
COSTS = ("process_cpu_seconds_total", "moorage_status_writes_total", "moorage_status_write_failures_total")


@dataclass(frozen=True)
class Latencies:
    """Seconds until a status contained a change, in order of length; and how many statuses were of no known state."""

    since_sent: list[float]
    since_answered: list[float]
    unknown: int


def attribute(changes: Iterable[Change], seen: Iterable[Seen], before: dict[str, int]) -> Latencies:
    """Find the first status of its namespace that contains each change."""
    by_namespace: dict[str, list[Change]] = {namespace: [] for namespace in before}
    for change in sorted(changes, key=lambda each: each.version):
        by_namespace[change.namespace].append(change)
    statuses = list(seen)
    since_sent: list[float] = []
    since_answered: list[float] = []
    unknown = 0
    for namespace, ordered in by_namespace.items():
        states = states_of(ordered, before[namespace])
        waiting = dict(enumerate(ordered))
        for status in (each for each in statuses if each.namespace == namespace):
            if (contained := states.get(status.used)) is None:
                unknown += 1
                continue
            for change in [waiting.pop(number) for number in contained if number in waiting]:
                since_sent.append(status.at - change.sent_at)
                since_answered.append(status.at - change.answered_at)
        if waiting:
            raise RuntimeError(f"{len(waiting)} changes in {namespace} never showed in its status")
    return Latencies(sorted(since_sent), sorted(since_answered), unknown)


def states_of(ordered: Sequence[Change], before: int) -> dict[int, list[int]]:
    """Return the sums that a status can show, and which changes each contains.

    A deletion is two writes, a mark and the removal, and a pod is released by the first; the API server's answer has
    the version of the second. So a deletion may be contained before its turn.
    """
    states: dict[int, list[int]] = {}
    total = before
    for count in range(len(ordered) + 1):
        total += ordered[count - 1].grown if count else 0
        near = range(count, min(count + DELETION_REACH, len(ordered)))
        marked = [number for number in near if ordered[number].kind == "delete"]
        for early in chain.from_iterable(combinations(marked, size) for size in range(DELETIONS_AT_ONCE + 1)):
            grown = sum(ordered[number].grown for number in early)
            states.setdefault(total + grown, [*range(count), *early])
    return states


class Collector:
    """Takes in what the observer saw, in a thread."""

    def __init__(self, statuses: Connection) -> None:
        self.seen: list[Seen] = []
        self.last: dict[str, int] = {}
        self._statuses = statuses
        threading.Thread(target=self._run, daemon=True).start()

    async def until(self, expected: dict[str, int]) -> None:
        """Wait until each namespace shows what is expected."""
        await wait_for_async(
            lambda: self.last == expected, timeout=SETTLE_SECONDS, message=lambda: f"{expected}; last {self.last}"
        )

    def _run(self) -> None:
        try:
            while True:
                status: Seen = self._statuses.recv()
                self.seen.append(status)
                self.last[status.namespace] = status.used
        except (EOFError, OSError):
            return


def prepare(plane: ControlPlane, namespaces: Sequence[str]) -> None:
    """Install the definitions, make namespaces with a quota each, and end what would only take time from the rest."""
    for component in (KWOK, SCHEDULER):
        plane.stop(component)
    plane.kubectl("apply", "--server-side", "-f", "-", stdin="---\n".join(crd_documents().values()))
    plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
    plane.kubectl("create", "-f", "-", stdin=[_object("v1", "Namespace", name) for name in namespaces])
    for name in namespaces:
        plane.wait_for_service_account(name)
    quotas = [_object("moorage.dev/v1alpha1", "NamespaceQuota", "all", namespace=name) for name in namespaces]
    plane.kubectl("create", "-f", "-", stdin=[{**quota, "spec": {"hard": HARD}} for quota in quotas])


def _object(version: str, kind: str, name: str, **metadata: str) -> dict[str, object]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


async def measure(plane: ControlPlane, *, pods: int, namespaces: int, rate: float, seconds: float) -> None:
    """Run the load and print the figures."""
    names = [f"team-{number}" for number in range(namespaces)]
    prepare(plane, names)
    access = await Credentials.load(str(plane.kubeconfig)).connection()
    connector = aiohttp.TCPConnector(ssl=access.as_ssl_context(), limit=0)
    operator = OperatorProcess(plane.kubeconfig, plane.logs / "moorage.log")
    async with aiohttp.ClientSession(access.server, connector=connector) as session:
        load = Load(session, names)
        began = time.monotonic()
        before = await load.fill(pods)
        print(f"  {pods:,} pods made in {time.monotonic() - began:.0f} s; ", end="", flush=True)
        began = time.monotonic()
        operator.start_and_wait(timeout=60)
        print(f"the operator was ready after {time.monotonic() - began:.1f} s")
        try:
            with observing(plane.kubeconfig) as statuses:
                collector = Collector(statuses)
                await collector.until(before)
                first, costs, began = len(collector.seen), costs_of(operator), time.monotonic()
                served = served_by(plane)
                changes = await load.change(round(rate * seconds), rate)
                await collector.until(after(before, changes))
                spent = {name: value - costs[name] for name, value in costs_of(operator).items()}
            pace = {what: mean_seconds(served[what], served_by(plane)[what]) for what in served}
            report(changes, attribute(changes, collector.seen[first:], before), spent, time.monotonic() - began)
            took = ", ".join(f"a {what} {1000 * seconds:.0f} ms" for what, seconds in pace.items())
            print(f"  {'the API server took in the mean':<39} {took}")
            print(f"  {'operator memory':<39} {operator.metric('process_resident_memory_bytes') / 2**20:.0f} MiB")
        finally:
            operator.stop()


def after(before: dict[str, int], changes: Iterable[Change]) -> dict[str, int]:
    """Return the requested bytes of each namespace after the changes."""
    total = Counter(before)
    for change in changes:
        total[change.namespace] += change.grown
    return dict(total)


def served_by(plane: ControlPlane) -> dict[str, tuple[float, float]]:
    """Return the seconds and the number of requests that the API server has spent on writes of status and of pods."""
    exposed = plane.kubectl("get", "--raw", "/metrics")
    answer = {}
    for what, labels in (("status write", 'resource="namespacequotas"'), ("change of a pod", 'resource="pods"')):
        sums = [
            sum(
                float(line.rsplit(" ", 1)[1])
                for line in exposed.splitlines()
                if line.startswith(f"apiserver_request_duration_seconds_{part}{{")
                and labels in line
                and _WRITE.search(line)
            )
            for part in ("sum", "count")
        ]
        answer[what] = (sums[0], sums[1])
    return answer


def mean_seconds(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Return the mean duration of what came in between."""
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


def costs_of(operator: OperatorProcess) -> dict[str, float]:
    """Return the counters of what the operator has spent."""
    return {name: operator.metric(name) for name in COSTS}


def report(changes: Sequence[Change], found: Latencies, spent: dict[str, float], seconds: float) -> None:
    """Print the figures."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(each.kind for each in changes).items()))
    late = max(each.late for each in changes)
    print(f"  {len(changes):,} changes in {seconds:.1f} s ({kinds}), sent at most {1000 * late:.0f} ms late")
    for what, latencies in (("sending a change", found.since_sent), ("the server's answer", found.since_answered)):
        p50, p99, longest = (percentile(latencies, share) for share in (0.5, 0.99, 1))
        print(f"  {f'from {what} to status':<39} p50 {p50:.3f} s, p99 {p99:.3f} s, longest {longest:.3f} s")
    writes, failed = spent["moorage_status_writes_total"], spent["moorage_status_write_failures_total"]
    print(f"  {'status writes':<39} {writes / seconds:.1f}/s, {failed:.0f} failed")
    print(f"  {'operator CPU':<39} {100 * spent['process_cpu_seconds_total'] / seconds:.0f}% of one CPU")
    if found.unknown:
        print(f"  {found.unknown} statuses fell between the two writes of several deletions and were left out")


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return ordered[max(round(share * len(ordered)) - 1, 0)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency")
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("--namespaces", type=int, default=NAMESPACES)
    parser.add_argument("--rate", type=float, default=RATE, help="changes per second")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args(arguments)
    others = os.getloadavg()[0]
    with ControlPlane() as plane:
        print(f"Pods to status on a real API server; it, etcd, the operator and the load share {os.cpu_count()} CPUs")
        if others > 1:
            print(
                f"  other programs were busy before (load average {others:.1f}): on a quiet machine figures are better"
            )
        asyncio.run(measure(plane, **vars(options)))


if __name__ == "__main__":
    main()
