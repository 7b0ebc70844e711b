"""A trial of a unit that comes to nothing: the unit counts as its template says, and the reason is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from moorage.cluster.errors import UnreachableError
from moorage.cluster.unit_shape import Shape, TrialPace, UnitShape
from tests.unit.backends.templates import template
from tests.unit.small_server import until

PACE = TrialPace(least=0, again=0.01, retry=0.01, patience=0.05)
TEMPLATE = msgspec.json.encode(template())
AS_IT_SAYS = "a unit counts as the template says, with the API's own defaults"
AS_BEFORE = "a unit counts as it was last admitted"

Post = Callable[..., Awaitable[dict[str, Any]]]


async def unreachable(*_: Any) -> dict[str, Any]:
    raise UnreachableError("connection refused")


async def hanging(*_: Any) -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def admitting(_path: str, pod: dict[str, Any], _params: Any) -> dict[str, Any]:
    return {**pod, "spec": {**pod["spec"], "priority": 7}}


class Trials:
    """The shape of one template, and how the API server answers: `post`."""

    def __init__(self, post: Post) -> None:
        self.post = post
        client = SimpleNamespace(post=self._post)
        self.shape = UnitShape(
            cast("Any", client), "team-a", turns=asyncio.Semaphore(1), on_change=lambda: None, pace=PACE
        )
        self.shape.want(TEMPLATE)

    async def until(self, reason: str) -> Shape:
        await until(lambda: self._reason() == reason, reason)
        assert self.shape.known is not None
        return self.shape.known

    async def _post(self, *given: Any) -> dict[str, Any]:
        return await self.post(*given)

    def _reason(self) -> str:
        known = self.shape.known
        return known.admission.reason if known is not None and known.admission is not None else ""


@pytest.mark.parametrize(
    ("post", "why"),
    [(unreachable, "connection refused"), (hanging, "the API server did not answer in time")],
    ids=["unreachable", "hanging"],
)
async def test_whether_a_pod_is_admitted_is_not_known(post: Post, why: str) -> None:
    trials = Trials(post)
    running = asyncio.create_task(trials.shape.run())
    try:
        unknown = f"whether a pod of the template is admitted is not known: {why}"
        found = await trials.until("NotTried")
        assert found.admission is not None
        assert (found.admission.admitted, found.admission.message) == (False, f"{unknown}; {AS_IT_SAYS}")
        assert found.encoded == TEMPLATE
        trials.post = admitting
        admitted = await trials.until("Admitted")
        assert msgspec.json.decode(admitted.encoded)["spec"]["priority"] == 7
        trials.post = post
        kept = await trials.until("NotTried")
        assert kept.admission is not None
        assert kept.admission.message == f"{unknown}; {AS_BEFORE}"
        assert kept.encoded == admitted.encoded
    finally:
        running.cancel()
        await asyncio.wait([running])
