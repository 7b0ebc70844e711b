"""The HorizontalPodAutoscalers of namespaces with sized buffers: how far and how fast they may scale a workload up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec

from moorage.buffer.burst import DEFAULT_POLICIES, Autoscaler, ScalingPolicy, Unit
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 15.0
_LOOKS_AT_ONCE = 8
"""In how many namespaces, lest a start with hundreds of them crowds out all other requests."""

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
    """What is known of autoscalers, looked up again and again. `changed` is called with a namespace.

    Each namespace is looked up for itself, so that one that is slow to answer keeps no buffers of others waiting.
    """

    def __init__(self, client: Client, *, changed: Callable[[str], None]) -> None:
        self._client = client
        self._changed = changed
        self._known: dict[str, dict[Target, Autoscaler]] = {}
        """By namespace: what was found last; nothing where they may not be read."""
        self._wanted: set[str] = set()
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._turns = asyncio.Semaphore(_LOOKS_AT_ONCE)

    def want(self, namespaces: Iterable[str]) -> None:
        """Look in exactly these namespaces from now on."""
        self._wanted = set(namespaces)
        self._arrange()

    def is_known(self, namespace: str) -> bool:
        """Whether it is known what is scaled in a namespace: without a first answer, nothing seems to be."""
        return namespace in self._known

    def of(self, namespace: str, target: Target, *, replicas: int) -> Autoscaler | None:
        """Return how a workload of that size is scaled; None when nothing scales it, or that is not known."""
        found = self._known.get(namespace, {}).get(target)
        return replace(found, replicas=replicas) if found is not None else None

    async def run(self) -> None:
        """Look until cancelled."""
        async with asyncio.TaskGroup() as self._tasks:
            self._arrange()
            await asyncio.get_running_loop().create_future()

    def _arrange(self) -> None:
        if self._tasks is None:
            return
        for namespace in self._wanted - self._followed.keys():
            self._followed[namespace] = self._tasks.create_task(self._follow(namespace), name=f"scalers {namespace}")
        for namespace in self._followed.keys() - self._wanted:
            self._followed.pop(namespace).cancel()
            self._known.pop(namespace, None)

    async def _follow(self, namespace: str) -> None:
        attempts = self._client.backoff.attempts()
        while True:
            try:
                async with self._turns:
                    encoded = await self._client.get_bytes(_path(namespace))
                self._know(namespace, read_autoscalers(encoded))
            except (ClusterError, msgspec.MsgspecError) as error:
                level = logging.DEBUG if attempts.failures else logging.WARNING
                logger.log(level, "autoscalers in %s cannot be read: %s", namespace, error)
                if _lasts(error):
                    self._know(namespace, self._known.get(namespace, {}))
                await attempts.wait(at_least=error.retry_after_seconds if isinstance(error, ClusterError) else 0)
                continue
            attempts.reset()
            await asyncio.sleep(_LOOK_SECONDS)

    def _know(self, namespace: str, found: dict[Target, Autoscaler]) -> None:
        if found != self._known.get(namespace):
            self._known[namespace] = found
            self._changed(namespace)


def _path(namespace: str) -> str:
    return f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"


def _lasts(error: Exception) -> bool:
    """Whether it takes somebody to change something before autoscalers can be read; until then none caps a buffer."""
    return isinstance(error, msgspec.ValidationError) or (isinstance(error, ApiError) and error.refused)
