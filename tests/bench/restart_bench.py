"""How soon many buffers of one namespace are sized after a restart: `python -m tests.bench.restart_bench`.

While the operator is away each buffer gets another size, so every status that comes afterwards is a new one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.cluster.native import new_namespace
from tests.cluster.rest import Object, Rest, rest_client
from tests.controlplane import ControlPlane
from tests.controlplane.commands import KWOK, SCHEDULER
from tests.operator_process import OperatorProcess

from moorage.api import crd_documents

BUFFERS, SECONDS, WRITERS = 500, 300, 8
OURS, CBUF = "moorage.dev/v1alpha1", "CapacityBuffer"
HARD = {"requests.cpu": "1k", "requests.memory": "1Ti", "pods": 3000}


def template() -> Object:
    """A unit of one CPU."""
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    spec = {"containers": [{"name": "app", "image": "app", "resources": resources}]}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "unit"}, "template": {"spec": spec}}


def ours(kind: str, name: str, spec: Object) -> Object:
    """One of our objects."""
    return {"apiVersion": OURS, "kind": kind, "metadata": {"name": name}, "spec": spec}


def described(rest: Rest, namespace: str) -> int:
    """How many buffers have a status for the spec that they have."""
    return sum(
        (each.get("status") or {}).get("observedGeneration") == each["metadata"]["generation"]
        and "replicas" in each["status"]
        for each in rest.items(namespace, CBUF, OURS)
    )


def seconds_until_all(rest: Rest, namespace: str, count: int, operator: OperatorProcess) -> None:
    """Print when all have a status, from now on, or how many do after a long time."""
    began, cpu = time.perf_counter(), 0.0
    while (found := described(rest, namespace)) < count and time.perf_counter() - began < SECONDS:
        if 50 <= time.perf_counter() - began < 50.5:
            print(f"    {count - found} without after 50 s", flush=True)
        time.sleep(0.5)
    took = time.perf_counter() - began
    cpu = operator.metric("process_cpu_seconds_total")
    done = f"after {took:.1f} s" if found == count else f"{count - found} without after {took:.0f} s"
    print(f"  {'all statuses are there':<28} {done} (operator CPU since its start: {cpu:.1f} s)", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.restart_bench")
    parser.add_argument("--buffers", type=int, default=BUFFERS)
    count = parser.parse_args(arguments).buffers
    others = os.getloadavg()[0]
    with ControlPlane() as plane, rest_client(plane.kubeconfig) as rest, ThreadPoolExecutor(WRITERS) as writers:
        for component in (KWOK, SCHEDULER):
            plane.stop(component)
        plane.kubectl("apply", "--server-side", "-f", "-", stdin="---\n".join(crd_documents().values()))
        plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "crd", "--all")
        namespace = new_namespace(rest)
        rest.create(namespace, template()).require()
        rest.create(namespace, ours("NamespaceQuota", "all", {"hard": HARD})).require()
        unit = {"podTemplateRef": {"name": "unit"}, "backend": "None"}

        def make(number: int) -> None:
            rest.create(namespace, ours(CBUF, f"buffer-{number}", {**unit, "replicas": 5})).require()

        def resize(number: int) -> None:
            rest.patch(namespace, CBUF, f"buffer-{number}", {"spec": {"replicas": 7}}, version=OURS).require()

        print(f"{count} buffers of one namespace with a quota, on {os.cpu_count()} CPUs (load average {others:.1f})")
        list(writers.map(make, range(count)))
        for what in ("the first start", "a restart"):
            operator = OperatorProcess(plane.kubeconfig, plane.logs / "moorage.log", "-n", namespace)
            print(f"  {what}", flush=True)
            operator.start_and_wait(timeout=120)
            try:
                seconds_until_all(rest, namespace, count, operator)
            finally:
                operator.stop()
            list(writers.map(resize, range(count)))


if __name__ == "__main__":
    main()
