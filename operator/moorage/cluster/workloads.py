"""The workloads of a namespace and the pods that they make, read once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.discovery import Resource
from moorage.cluster.errors import ApiError
from moorage.objects import ObjectMeta, PodSpec, PodTemplate
from moorage.quota.workloads import Workload

logger = logging.getLogger(__name__)

_KINDS = (
    Resource("apps", "v1", "deployments", "Deployment"),
    Resource("apps", "v1", "statefulsets", "StatefulSet"),
    Resource("apps", "v1", "daemonsets", "DaemonSet"),
    Resource("apps", "v1", "replicasets", "ReplicaSet"),
    Resource("batch", "v1", "jobs", "Job"),
    Resource("batch", "v1", "cronjobs", "CronJob"),
    Resource("", "v1", "replicationcontrollers", "ReplicationController"),
)


class _JobSpec(msgspec.Struct, frozen=True):
    template: PodTemplate | None = None


class _JobTemplate(msgspec.Struct, frozen=True):
    spec: _JobSpec = _JobSpec()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    template: PodTemplate | None = None
    job_template: _JobTemplate | None = None


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Stored(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_Stored).decode


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A kind of workload that may not be listed, and what to do about it."""

    message: str


async def read_workloads(client: Client, namespace: str) -> AsyncIterator[Workload | Unreadable]:
    """Yield what makes pods in a namespace by itself; what is made by another of them is left out, as are ended Jobs.

    One that cannot be decoded is left out too, and logged. Raises ClusterError; a kind that may not be listed is
    yielded as Unreadable, and the others are read all the same.
    """
    for resource in _KINDS:
        try:
            async with aclosing(client.list_pages(resource.path(namespace))) as pages:
                async for page in pages:
                    for encoded in page.items or ():
                        if (found := _workload(resource.kind, bytes(encoded))) is not None:
                            yield found
        except ApiError as error:
            if error.forbidden:
                yield Unreadable(f"{resource.label} cannot be read: {error}; {resource.rule('list')}")
            elif not error.not_found:
                raise


def _workload(kind: str, encoded: bytes) -> Workload | None:
    try:
        stored = _decode(encoded)
    except msgspec.MsgspecError as error:
        logger.warning("a %s cannot be decoded: %s", kind, error)
        return None
    template = _template(stored.spec)
    ended = any(
        each.type in ("Complete", "Failed") and each.status == "True" for each in stored.status.conditions or ()
    )
    if template is None or stored.metadata.controller is not None or (kind == "Job" and ended):
        return None
    return Workload(f"{kind}/{stored.metadata.name}", template)


def _has_ended(status: _Status) -> bool:
    return any(each.type in ("Complete", "Failed") and each.status == "True" for each in status.conditions or ())


def _template(spec: _Spec) -> PodSpec | None:
    if spec.job_template is not None:
        return spec.job_template.spec.template.spec if spec.job_template.spec.template is not None else None
    return spec.template.spec if spec.template is not None else None
