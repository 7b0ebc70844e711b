"""The HorizontalPodAutoscalers of namespaces with sized buffers: how far and how fast they may scale a workload up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec

from moorage.buffer.burst import DEFAULT_POLICIES, Autoscaler, ScalingPolicy, Unit
from moorage.cluster.client import Client
from moorage.cluster.errors import ClusterError

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 15.0

Target = tuple[str, str]
"""Kind and name of a workload."""


class _Policy(msgspec.Struct, frozen=True, rename="camel"):
    type: str = "Pods"
    value: int = 0
    period_seconds: int = 15


class _ScaleUp(msgspec.Struct, frozen=True, rename="camel"):
    policies: list[_Policy] | None = None
    select_policy: str | None = None


class _Behavior(msgspec.Struct, frozen=True, rename="camel"):
    scale_up: _ScaleUp | None = None


class _TargetRef(msgspec.Struct, frozen=True):
    kind: str = ""
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    scale_target_ref: _TargetRef = _TargetRef()
    max_replicas: int = 0
    behavior: _Behavior | None = None


class _Autoscaler(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class _List(msgspec.Struct, frozen=True):
    items: list[_Autoscaler] = []


_decode = msgspec.json.Decoder(_List).decode


def read_autoscalers(encoded: bytes) -> dict[Target, Autoscaler]:
    """Read a list of HorizontalPodAutoscalers, by what they scale; replicas are not in it.

    Raises msgspec.MsgspecError.
    """
    found = {}
    for each in _decode(encoded).items:
        target, behavior = each.spec.scale_target_ref, each.spec.behavior
        scale_up = behavior.scale_up if behavior is not None else None
        policies = DEFAULT_POLICIES if scale_up is None or scale_up.policies is None else _policies(scale_up.policies)
        select = scale_up.select_policy if scale_up is not None else None
        found[target.kind, target.name] = Autoscaler(
            0, each.spec.max_replicas, () if select == "Disabled" else policies, select_least=select == "Min"
        )
    return found


def _policies(policies: Iterable[_Policy]) -> tuple[ScalingPolicy, ...]:
    return tuple(
        ScalingPolicy(Unit.PERCENT if each.type == "Percent" else Unit.PODS, each.value, each.period_seconds)
        for each in policies
    )


class Autoscalers:
    """What is known of autoscalers, looked up again and again. `changed` is called with a namespace."""

    def __init__(
        self, client: Client, namespaces: Callable[[], Iterable[str]], *, changed: Callable[[str], None]
    ) -> None:
        self._client = client
        self._namespaces = namespaces
        self._changed = changed
        self._known: dict[str, dict[Target, Autoscaler]] = {}
        self._refused: set[str] = set()

    def of(self, namespace: str, target: Target, *, replicas: int) -> Autoscaler | None:
        """Return how a workload of that size is scaled; None when nothing scales it, or that is not known."""
        found = self._known.get(namespace, {}).get(target)
        return replace(found, replicas=replicas) if found is not None else None

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            namespaces = set(self._namespaces())
            for gone in self._known.keys() - namespaces:
                del self._known[gone]
            self._refused &= namespaces
            for namespace in namespaces:
                await self._look(namespace)
            await asyncio.sleep(_LOOK_SECONDS if namespaces else 1.0)

    async def _look(self, namespace: str) -> None:
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
        try:
            found = read_autoscalers(await self._client.get_bytes(path))
        except (ClusterError, msgspec.MsgspecError) as error:
            level = logging.DEBUG if namespace in self._refused else logging.WARNING
            self._refused.add(namespace)
            logger.log(level, "autoscalers in %s cannot be read, so none caps a buffer: %s", namespace, error)
            return
        self._refused.discard(namespace)
        if found != self._known.get(namespace, {}):
            self._known[namespace] = found
            self._changed(namespace)
