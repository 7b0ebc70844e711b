"""What admission costs, on a real API server: `python -m tests.bench.admission_bench`.

First how long the webhook takes for an answer, asked as the API server asks it, at a steady rate, about pods of a
namespace with thousands of pods. Then what creating pods costs without Moorage, with a native quota alone and with all
of Moorage (policies, projected quota, webhook), in rounds that take turns: how many a second are made by clients that
never pause, which is a matter of CPU alone, and how long a creation takes at steady rates, as users see it.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from tests.bench.latency import percentile
from tests.cluster.explaining import configured, free_ports, limit, wait_until_asked
from tests.cluster.native import native_quota, native_status, new_namespace, remove_namespace
from tests.cluster.rest import Rest, rest_client
from tests.controlplane import ControlPlane, wait_for
from tests.controlplane.commands import APISERVER, KWOK, SCHEDULER
from tests.manifests.documents import MANIFESTS
from tests.operator_process import OperatorProcess

from moorage.admission.certificate_store import CONFIGURATION
from moorage.admission.webhook import PATH
from moorage.api import crd_documents
from moorage.cluster.credentials import Credentials

PODS = 5_000
RATE, SECONDS = 200, 20
CREATED, ROUNDS, CLIENTS = 1_000, 3, 16
STEADY, STEADY_SECONDS = (100.0, 200.0), 5
"""Rates at which pods are created whether or not those before are."""
HARD = {"requests.cpu": "100k", "requests.memory": "1Pi", "pods": "100k"}
LIMITS = [
    {
        "type": "Container",
        "defaultRequest": {"cpu": "100m", "memory": "64Mi"},
        "max": {"cpu": "8", "memory": "32Gi"},
        "min": {"cpu": "10m"},
    }
]
REFUSED_SHARE = 10
"""Every so many reviews are about a pod that is refused."""

Object = dict[str, Any]


def pod(name: str, cpu: str = "100m") -> Object:
    """A pod of usual size that no scheduler takes."""
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}, "limits": {"memory": "128Mi"}}
    env = [{"name": f"SETTING_{number}", "value": "some value of a setting"} for number in range(8)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web", "team": "a"}},
        "spec": {
            "schedulerName": "none",
            "containers": [
                {"name": "app", "image": "app", "resources": resources, "env": env},
                {"name": "proxy", "image": "proxy", "resources": resources},
            ],
        },
    }


def review(stored: Object, namespace: str) -> Object:
    """What the API server asks about a pod; `stored` is one as it stores it."""
    kind, resource = {"version": "v1", "kind": "Pod"}, {"version": "v1", "resource": "pods"}
    request = {
        "uid": "8c2f5a1e-2f4b-4f6d-9d63-1f0e3c0f7b11",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": stored["metadata"]["name"],
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": stored,
        "oldObject": None,
        "dryRun": False,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


@asynccontextmanager
async def api_session(kubeconfig: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with the API server."""
    access = await Credentials.load(str(kubeconfig)).connection()
    connector = aiohttp.TCPConnector(ssl=access.as_ssl_context(), limit=0)
    async with aiohttp.ClientSession(access.server, connector=connector) as session:
        yield session


async def create_pods(kubeconfig: Path, namespace: str, count: int) -> float:
    """Create so many pods with 16 clients; returns how many were created per second."""
    numbers = iter(range(count))
    async with api_session(kubeconfig) as session:

        async def client() -> None:
            for number in numbers:
                body = pod(f"pod-{number}")
                async with session.post(f"/api/v1/namespaces/{namespace}/pods", json=body) as answer:
                    if answer.status != 201:
                        raise RuntimeError(await answer.text())
                    await answer.read()

        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return count / (time.perf_counter() - began)


async def create_steadily(kubeconfig: Path, namespace: str, rate: float, seconds: float) -> Steady:
    """Create pods at a steady rate."""
    async with api_session(kubeconfig) as session:

        async def one(number: int) -> None:
            body = pod(f"pod-{rate:.0f}-{number}")
            async with session.post(f"/api/v1/namespaces/{namespace}/pods", json=body) as answer:
                if answer.status != 201:
                    raise RuntimeError(await answer.text())
                await answer.read()

        began = time.perf_counter()
        took = await at_steady_rate(one, rate, seconds)
        return Steady(len(took) / (time.perf_counter() - began), took)


async def at_steady_rate(do: Callable[[int], Awaitable[None]], rate: float, seconds: float) -> list[float]:
    """Do something at a steady rate, whether or not what came before is done; returns the seconds from each turn on."""
    took: list[float] = []

    async def one(number: int, turn: float) -> None:
        await do(number)
        took.append(time.perf_counter() - turn)

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(round(rate * seconds)):
            turn = began + number / rate
            await asyncio.sleep(max(turn - time.perf_counter(), 0))
            group.create_task(one(number, turn))
    return sorted(took)


async def ask(url: str, authorities: str, bodies: Sequence[bytes], *, rate: float, seconds: float) -> list[float]:
    """Ask at a steady rate; returns how long it took each time."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authorities), limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one(number: int) -> None:
            async with session.post(url, data=bodies[number % len(bodies)]) as answer:
                if answer.status != 200:
                    raise RuntimeError(await answer.text())
                await answer.read()

        return await at_steady_rate(one, rate, seconds)


@dataclass(frozen=True)
class Steady:
    """Pods created a second, and how long each took, when they were asked for at a steady rate."""

    rate: float
    took: list[float]


@dataclass(frozen=True)
class Round:
    """Pods created a second, and seconds of CPU that the API server and the operator took for each.

    All by clients that never pause; then what became of each steady rate.
    """

    rate: float
    server: float
    operator: float
    steady: dict[float, Steady]


def cpu_seconds(pid: int | None) -> float:
    """Return the CPU time that a process has taken so far."""
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    """A cluster with our definitions, and what of Moorage is switched on."""

    def __init__(self, plane: ControlPlane, rest: Rest) -> None:
        self.plane = plane
        self.rest = rest
        for component in (KWOK, SCHEDULER):
            plane.stop(component)
        plane.kubectl("apply", "--server-side", "-f", "-", stdin="---\n".join(crd_documents().values()))
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        self.policies = plane.kubectl("kustomize", str(MANIFESTS / "policies"))
        self.system = new_namespace(rest)

    @contextmanager
    def moorage(self) -> Any:
        """All of Moorage, with an operator."""
        self.plane.kubectl("apply", "--server-side", "-f", "-", stdin=self.policies)
        with free_ports(1) as [port], configured(self.rest, port):
            flags = (f"--webhook-port={port}", f"--system-namespace={self.system}")
            operator = OperatorProcess(self.plane.kubeconfig, self.plane.logs / "moorage.log", *flags)
            try:
                operator.start_and_wait(timeout=60)
                wait_until_asked(self.rest, self.system, operator)
                yield operator, port
            finally:
                operator.stop()
        self.plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=self.policies)

    def limit(self, namespace: str) -> None:
        """Make a quota that everything fits into, with defaults and bounds."""
        limit(self.rest, namespace, hard=HARD, limits=LIMITS)

    def limit_natively(self, namespace: str) -> None:
        """Make a native quota that everything fits into."""
        self.rest.create(namespace, native_quota("native", {"hard": HARD})).require()
        wait_for(
            lambda: native_status(self.rest, namespace, "native").get("used"), timeout=30, message="the native quota"
        )

    def authorities(self) -> str:
        """Whom callers of the webhook have to trust."""
        path = self.rest.path("", "MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1")
        found = self.rest.request("GET", f"{path}/{CONFIGURATION}").require()
        return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]).decode()

    def latency(self, pods: int, rate: float, seconds: float) -> None:
        """Print how long reviews take."""
        namespace = new_namespace(self.rest)
        with self.moorage() as (operator, port):
            self.limit(namespace)
            asyncio.run(create_pods(self.plane.kubeconfig, namespace, pods))
            wait_for(
                lambda: operator.metric('moorage_objects{resource="pods"}') >= pods, timeout=60, message="all counted"
            )
            stored = self.rest.get(namespace, "Pod", "pod-0").require()
            too_big = self.rest.get(namespace, "Pod", "pod-1").require()
            too_big["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100k"
            small, large = (msgspec.json.encode(review(each, namespace)) for each in (stored, too_big))
            bodies = [*[small] * (REFUSED_SHARE - 1), large]
            url, authorities = f"https://127.0.0.1:{port}{PATH}", self.authorities()
            asyncio.run(ask(url, authorities, bodies, rate=rate, seconds=2))
            cpu = operator.metric("process_cpu_seconds_total")
            took = asyncio.run(ask(url, authorities, bodies, rate=rate, seconds=seconds))
            cpu = operator.metric("process_cpu_seconds_total") - cpu
            p50, p99, longest = (1000 * percentile(took, share) for share in (0.5, 0.99, 1))
            print(f"  reviews of {len(small):,} bytes, {rate:.0f} a second, {pods:,} pods in the namespace")
            print(f"  {'webhook':<28} p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {longest:.1f} ms")
            print(f"  {'operator CPU':<28} {1000 * cpu / len(took):.2f} ms for each review", flush=True)
        remove_namespace(self.rest, namespace)

    def creates(self, count: int, rounds: int, steady: Sequence[float], seconds: float) -> None:
        """Print how many pods are created a second, and how long a creation takes at steady rates."""
        found: dict[str, list[Round]] = {"without Moorage": [], "a native quota alone": [], "with Moorage": []}
        load = dict.fromkeys(steady, seconds)
        for _ in range(rounds):
            found["without Moorage"].append(self._round(count, load))
            found["a native quota alone"].append(self._round(count, load, self.limit_natively))
            with self.moorage() as (operator, _):
                found["with Moorage"].append(self._round(count, load, self.limit, operator))
        base = statistics.median(each.rate for each in found["without Moorage"])
        print(f"  pods created a second by {CLIENTS} clients, median of {rounds} rounds of {count:,}")
        for what, each in found.items():
            median = statistics.median(one.rate for one in each)
            spread = ", ".join(f"{one.rate:.0f}" for one in each)
            server, ours = (statistics.median(getattr(one, side) for one in each) for side in ("server", "operator"))
            cpu = f"CPU for each: API server {1000 * server:.1f} ms, operator {1000 * ours:.1f} ms"
            print(f"  {what:<28} {median:.0f} ({spread}), {100 * (median / base - 1):+.0f}%; {cpu}", flush=True)
        for rate in steady:
            print(f"  pods created at {rate:.0f} a second, {rounds} rounds of {seconds:g} s")
            for what, each in found.items():
                took = sorted(second for one in each for second in one.steady[rate].took)
                p50, p99, longest = (1000 * percentile(took, share) for share in (0.5, 0.99, 1))
                reached = statistics.median(one.steady[rate].rate for one in each)
                latency = f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {longest:.1f} ms"
                print(f"  {what:<28} {latency}; {reached:.0f} created a second", flush=True)

    def _round(
        self,
        count: int,
        load: Mapping[float, float],
        limit: Callable[[str], None] = lambda _: None,
        operator: OperatorProcess | None = None,
    ) -> Round:
        namespace = new_namespace(self.rest)
        limit(namespace)
        asyncio.run(create_pods(self.plane.kubeconfig, namespace, 50))
        self.rest.delete_all(namespace, "Pod", grace=0)
        wait_for(lambda: not self.rest.items(namespace, "Pod"), timeout=30, message="no pods")
        pids = (self.plane.components[APISERVER].pid, operator.pid if operator is not None else None)
        before = [cpu_seconds(pid) for pid in pids]
        rate = asyncio.run(create_pods(self.plane.kubeconfig, namespace, count))
        server, ours = ((cpu_seconds(pid) - begin) / count for pid, begin in zip(pids, before, strict=True))
        steady = {
            each: asyncio.run(create_steadily(self.plane.kubeconfig, namespace, each, seconds))
            for each, seconds in load.items()
        }
        remove_namespace(self.rest, namespace)
        return Round(rate, server, ours, steady)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.admission_bench")
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("--rate", type=float, default=RATE, help="reviews per second")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--created", type=int, default=CREATED, help="pods created in each round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--steady", type=float, nargs="*", default=STEADY, help="pods created per second")
    parser.add_argument("--steady-seconds", type=float, default=STEADY_SECONDS, help="at each of these rates")
    options = parser.parse_args(arguments)
    others = os.getloadavg()[0]
    with ControlPlane() as plane, rest_client(plane.kubeconfig) as rest:
        print(f"Admission on a real API server; it, etcd, the operator and the load share {os.cpu_count()} CPUs")
        if others > 1:
            print(
                f"  other programs were busy before (load average {others:.1f}): on a quiet machine figures are better"
            )
        bench = Bench(plane, rest)
        bench.latency(options.pods, options.rate, options.seconds)
        bench.creates(options.created, options.rounds, options.steady, options.steady_seconds)


if __name__ == "__main__":
    main()
