"""The webhook on a real API server: configured as it is installed, but called on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from moorage.admission.certificate_store import CONFIGURATION
from moorage.admission.webhook import PATH
from tests.cluster.native import our_quota
from tests.cluster.objects import condition, pod, status_in
from tests.cluster.rest import Object, Rest
from tests.controlplane.ports import ReservedPort
from tests.controlplane.waiting import wait_for
from tests.manifests.documents import BASE
from tests.operator_process import OperatorProcess

ADMISSION = "admissionregistration.k8s.io/v1"
OURS = "moorage.dev/v1alpha1"
ASKED = "moorage_admission_duration_seconds_count"


def configuration(*ports: int) -> Object:
    """The configuration of the base, with each webhook once for every port."""
    installed: Object = yaml.safe_load((BASE / "webhook.yaml").read_text())
    webhooks = [
        each | {"name": f"{each['name']}" if at == 0 else f"{at}.{each['name']}", "clientConfig": {"url": url}}
        for each in installed["webhooks"]
        for at, url in enumerate(f"https://127.0.0.1:{port}{PATH}" for port in ports)
    ]
    return installed | {"webhooks": webhooks}


@contextmanager
def configured(rest: Rest, *ports: int) -> Iterator[None]:
    """Have the API server call these ports."""
    rest.delete("", "MutatingWebhookConfiguration", CONFIGURATION, ADMISSION)
    rest.create("", configuration(*ports)).require()
    try:
        yield
    finally:
        rest.delete("", "MutatingWebhookConfiguration", CONFIGURATION, ADMISSION)


@contextmanager
def free_ports(count: int) -> Iterator[list[int]]:
    """Ports that nobody else takes meanwhile."""
    ports = [ReservedPort() for _ in range(count)]
    try:
        yield [each.number for each in ports]
    finally:
        for each in ports:
            each.release()


def explaining_operator(kubeconfig: Path, log: Path, *, port: int, system: str) -> OperatorProcess:
    """An operator with its webhook on a port and its certificate in a namespace."""
    return OperatorProcess(kubeconfig, log, f"--webhook-port={port}", f"--system-namespace={system}")


def wait_until_asked(rest: Rest, namespace: str, *operators: OperatorProcess, timeout: float = 30.0) -> None:
    """Wait until the API server calls these operators' webhooks."""
    before = {each: each.metric(ASKED) for each in operators}

    def asked() -> bool:
        rest.create(namespace, pod("asking"), dryRun="All")
        return all(each.metric(ASKED) > before[each] for each in operators)

    wait_for(
        asked,
        timeout=timeout,
        message=lambda: "\n".join(f"the webhook to be called; {each.output()[-2000:]}" for each in operators),
    )


def limit(rest: Rest, namespace: str, name: str = "team", *, enforcement: str = "Enforce", **spec: Any) -> None:
    """Make a NamespaceQuota, and wait until it counts and, unless in Audit mode, its totals are in force."""
    rest.create(namespace, our_quota(name, {**spec, "enforcement": enforcement})).require()

    def in_force() -> bool:
        projected = rest.get(namespace, "ResourceQuota", f"moorage-{name}")
        return projected.ok and bool(projected.body.get("status", {}).get("used"))

    if enforcement == "Enforce" and spec.get("hard"):
        wait_for(in_force, timeout=30, message="totals in force")
    wait_for(
        lambda: condition(status_of(rest, namespace, name), "Ready").get("status") == "True",
        timeout=30,
        message=lambda: f"quota {name} ready: {status_of(rest, namespace, name)}",
    )


def status_of(rest: Rest, namespace: str, name: str) -> Mapping[str, Any]:
    return status_in(rest.get(namespace, "NamespaceQuota", name, OURS).require())


def wait_for_used(rest: Rest, namespace: str, expected: Mapping[str, str], name: str = "team") -> None:
    """Wait until a quota and the one that enforces it say that this is used."""

    def settled() -> bool:
        native = rest.get(namespace, "ResourceQuota", f"moorage-{name}").require()["status"]["used"]
        used = status_of(rest, namespace, name).get("used", {})
        return native.items() >= expected.items() and used.items() >= expected.items()

    wait_for(settled, timeout=20, message=lambda: f"{expected}; it is {status_of(rest, namespace, name).get('used')}")


def events_of(rest: Rest, namespace: str, kind: str, reason: str) -> list[Object]:
    """The events of a reason about objects of a kind."""
    found = rest.items(namespace, "Event", "events.k8s.io/v1")
    return [each for each in found if (each["regarding"]["kind"], each["reason"]) == (kind, reason)]
