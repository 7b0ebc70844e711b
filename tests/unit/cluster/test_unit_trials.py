"""Trials of a unit that come to nothing.

One says nothing of a pod, so it is repeated; when no trial says anything, the unit counts as its template says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from moorage.cluster.errors import ApiError, UnreachableError
from moorage.cluster.unit_shape import Shape, TrialPace, UnitShape
from tests.unit.backends.templates import template
from tests.unit.small_server import QUICK, until

PACE = TrialPace(least=0, again=0.01, retry=0.01, patience=0.05)
PERSISTENT = replace(PACE, retry=60)
TEMPLATE, OTHER = msgspec.json.encode(template()), msgspec.json.encode(template(nodeSelector={"pool": "other"}))
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


def answering(code: int, message: str = "") -> Post:
    async def answer(*_: Any) -> dict[str, Any]:
        raise ApiError(code, "", message)

    return answer


WEBHOOK_IS_AWAY = 'Internal error occurred: failed calling webhook "x": connection refused'
NO_VERDICTS = pytest.mark.parametrize(
    "post",
    [unreachable, hanging, answering(500, WEBHOOK_IS_AWAY), answering(503), answering(429), answering(401)],
    ids=["unreachable", "hanging", "webhook", "503", "429", "401"],
)


class Trials:
    """The shape of one template, and how the API server answers: `post`."""

    def __init__(self, post: Post, pace: TrialPace = PACE) -> None:
        self.post = post
        self.count = 0
        self.seen: list[Shape | None] = []
        """What the shape was, one after the other."""
        client = SimpleNamespace(post=self._post, backoff=QUICK)
        self.shape = UnitShape(
            cast("Any", client),
            "team-a",
            turns=asyncio.Semaphore(1),
            on_change=lambda: self.seen.append(self.shape.known),
            pace=pace,
        )
        self.shape.want(TEMPLATE)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Trials]:
        task = asyncio.create_task(self.shape.run())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def until_tried(self, times: int) -> None:
        began = self.count
        await until(lambda: self.count >= began + times, f"{times} trials")

    async def until(self, reason: str) -> Shape:
        await until(lambda: self._reason() == reason, reason)
        assert self.shape.known is not None
        return self.shape.known

    async def _post(self, *given: Any) -> dict[str, Any]:
        self.count += 1
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
    unknown = f"whether a pod of the template is admitted is not known: {why}"
    async with Trials(post).running() as trials:
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


@NO_VERDICTS
async def test_a_trial_that_says_nothing_is_repeated_before_anything_is_made_of_it(post: Post) -> None:
    """Else after a restart all units would be made anew of the template alone, and then once more."""
    async with Trials(post, PERSISTENT).running() as trials:
        await trials.until_tried(4)
        assert trials.shape.known is None
        trials.post = admitting
        admitted = await trials.until("Admitted")
        assert trials.seen == [admitted]


@NO_VERDICTS
async def test_of_a_template_that_changed_the_shape_before_is_kept_meanwhile(post: Post) -> None:
    async with Trials(admitting, PERSISTENT).running() as trials:
        before = await trials.until("Admitted")
        trials.post = post
        trials.shape.want(OTHER)
        await trials.until_tried(4)
        assert trials.shape.known == before
        trials.post = admitting
        await until(lambda: len(trials.seen) > 1, "another shape")
        [_, after] = trials.seen
        assert after is not None
        assert after.admission == before.admission
        assert msgspec.json.decode(after.encoded)["spec"]["nodeSelector"] == {"pool": "other"}


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (403, 'User "x" cannot create resource "pods" in API group ""', "Forbidden"),
        (403, "exceeded quota: full", "QuotaExceeded"),
        (403, 'violates PodSecurity "restricted"', "Refused"),
        (422, "spec.containers[0].image: Required value", "Refused"),
    ],
)
async def test_a_verdict_counts_at_once(code: int, message: str, reason: str) -> None:
    async with Trials(answering(code, message), PERSISTENT).running() as trials:
        found = await trials.until(reason)
        assert (found.encoded, trials.count) == (TEMPLATE, 1)


async def test_a_template_that_went_and_came_is_given_the_whole_time_anew() -> None:
    async with Trials(unreachable, replace(PACE, retry=0.3)).running() as trials:
        await trials.until("NotTried")
        trials.shape.want(b"")
        trials.shape.want(TEMPLATE)
        await trials.until_tried(2)
        assert trials.shape.known is None


async def test_a_repeated_trial_takes_its_turn_no_longer_than_the_shape_waits_for_it() -> None:
    """Others wait for that turn."""

    async def unreachable_then_hanging(*_: Any) -> dict[str, Any]:
        trials.post = hanging
        raise UnreachableError("connection refused")

    trials = Trials(unreachable_then_hanging, replace(PACE, retry=0.3, patience=600))
    async with trials.running():
        await trials.until("NotTried")
        assert trials.count == 2


async def test_later_trials_are_given_the_whole_time_again() -> None:
    """As where a webhook that was away is back, and slow."""

    async def slow(path: str, pod: dict[str, Any], params: Any) -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return await admitting(path, pod, params)

    async with Trials(unreachable, replace(PACE, patience=600)).running() as trials:
        await trials.until("NotTried")
        trials.post = slow
        await trials.until("Admitted")
