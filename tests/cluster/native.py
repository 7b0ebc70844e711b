"""Native ResourceQuotas beside ours: made alike, brought to count anew, and compared by number."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping
from typing import Any

from moorage.quantity import parse_nano
from tests.cluster.crds import OURS
from tests.cluster.objects import status_in
from tests.cluster.rest import Object, Rest
from tests.controlplane.waiting import wait_for

NSQ, RQ = "NamespaceQuota", "ResourceQuota"
UNUSED = "count/unused.example.com"
"""A name that nothing ever counts: to change it is to ask the native controller for a recount."""

_numbers = itertools.count(1)


def native_quota(name: str, spec: Mapping[str, Any]) -> Object:
    return {"apiVersion": "v1", "kind": RQ, "metadata": {"name": name}, "spec": spec}


def our_quota(name: str, spec: Mapping[str, Any]) -> Object:
    """A NamespaceQuota that only counts, so that it changes nothing for the native one beside it."""
    return {"apiVersion": OURS, "kind": NSQ, "metadata": {"name": name}, "spec": {"enforcement": "Audit", **spec}}


def native_status(rest: Rest, namespace: str, name: str) -> Object:
    status: Object = rest.get(namespace, RQ, name).require().get("status") or {}
    return status


def our_status(rest: Rest, namespace: str, name: str) -> Object:
    return status_in(rest.get(namespace, NSQ, name, OURS).require())


def ask_for_recount(rest: Rest, namespace: str, name: str) -> None:
    """Have the native controller count one quota anew, soon."""
    rest.patch(namespace, RQ, name, {"spec": {"hard": {UNUSED: str(next(_numbers))}}}).require()


def is_recounted(quota: Object) -> bool:
    """Whether the native controller has been through a quota since its `hard` was changed last."""
    seen, wanted = quota.get("status", {}).get("hard", {}), quota["spec"].get("hard", {})
    return seen.get(UNUSED) == wanted.get(UNUSED) and amounts(seen) == amounts(wanted)


def recount(rest: Rest, namespace: str, *names: str, timeout: float = 30.0) -> None:
    """Have the native controller count these quotas anew, and wait until it has."""
    for name in names:
        ask_for_recount(rest, namespace, name)
    wait_until_recounted(rest, namespace, *names, timeout=timeout)


def wait_until_recounted(rest: Rest, namespace: str, *names: str, timeout: float = 30.0) -> None:
    for name in names:
        wait_for(
            lambda name=name: is_recounted(rest.get(namespace, RQ, name).require()),
            timeout=timeout,
            message=lambda name=name: f"native quota {name}: {native_status(rest, namespace, name)}",
        )


def used(status: Mapping[str, Any]) -> dict[str, int]:
    """What a status says is used, in nano-units."""
    return amounts(status.get("used") or {})


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Numbers in nano-units, to be compared in place of texts."""
    return {name: parse_nano(str(text)) for name, text in quantities.items() if name != UNUSED}


def new_namespace(rest: Rest, prefix: str = "moorage-test-") -> str:
    """Make a namespace that is ready for pods and holds all that every namespace holds."""
    name = prefix + secrets.token_hex(4)
    rest.create("", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).require()
    for kind, each in (("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")):
        wait_for(
            lambda kind=kind, each=each: rest.get(name, kind, each).ok, timeout=30, message=f"{kind} {each} in {name}"
        )
    return name


def remove_namespace(rest: Rest, name: str) -> None:
    """Ask for the removal of a namespace, and end what would hold it up: pods of nodes that are not there."""
    rest.delete_all(name, "Pod", grace=0)
    rest.delete("", "Namespace", name)
