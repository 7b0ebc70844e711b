"""What a pod of a template would be stored as: found by a trial, a create request that stores nothing (dryRun=All).

Only the API server knows all that fills in a pod: defaults, LimitRanges, priority classes, runtime classes, policies
and webhooks. Other things than the template change that as well, so the trial is repeated from time to time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.templates import pod_of_template, template_of_trial, template_spec
from moorage.objects import PodSpec
from moorage.status.workload import Admission

_NAME = "moorage-unit"
_ADMITTED = Admission(
    True, "Admitted", "a unit counts as the API server would store the pod, with all that fills it in"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPace:
    """How often one template is tried; all times in seconds."""

    least: float = 2.0
    """Between two trials, however often the template changes."""
    again: float = 300.0
    """After a trial that went well: LimitRanges and webhooks may have changed."""
    retry: float = 30.0
    """After one that did not; also how long trials that say nothing are repeated before the template is believed."""
    patience: float = 15.0
    """How long a webhook may take."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One unit: its pod spec, the same as a template in JSON, and what came of the trial."""

    spec: PodSpec | None = None
    encoded: bytes = b""
    admission: Admission | None = None


NO_SHAPE = Shape()


class UnitShape:
    """Follows what the API server makes of one template; `on_change` is called when `known` or `tried` changes.

    `turns` bounds how many trials run at the same time, of all templates together.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        turns: asyncio.Semaphore,
        on_change: Callable[[], None],
        pace: TrialPace | None = None,
    ) -> None:
        self.known: Shape | None = NO_SHAPE
        """The shape; None while the first trial is under way."""
        self.tried = b""
        """The template that the shape is of; empty for none."""
        self._client = client
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._turns = turns
        self._on_change = on_change
        self._pace = pace or TrialPace()
        self._wanted = b""
        self._admitted: tuple[bytes, Shape] = (b"", NO_SHAPE)
        """The template that was admitted last, and its shape."""
        self._last_trial = -self._pace.least
        self._failures = 0
        """How many trials in a row have said nothing of the template."""
        self._failing_since = 0.0
        self._changed = asyncio.Event()

    def want(self, template: bytes) -> None:
        """Follow this template from now on, empty for none.

        The shape of the one before holds until the new one has been tried.
        """
        if template == self._wanted:
            return
        if not template:
            self._know(template, NO_SHAPE)
        elif not self._wanted:
            self.known = None
        self._wanted, self._failures = template, 0
        self._changed.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        due: float | None = 0 if self._wanted else None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(due):
                    await self._changed.wait()
            await asyncio.sleep(max(self._last_trial + self._pace.least - time.monotonic(), 0))
            self._changed.clear()
            due = await self._try(self._wanted) if self._wanted else None

    async def _try(self, template: bytes) -> float:
        """Try a template and tell after how many seconds to do so again."""
        self._last_trial = sent = time.monotonic()
        try:
            async with self._turns, asyncio.timeout(self._patience()):
                sent = time.monotonic()
                pod = pod_of_template(template, name=_NAME)
                encoded = template_of_trial(await self._client.post(self._path, pod, {"dryRun": "All"}))
            shape = Shape(template_spec(encoded), encoded, _ADMITTED)
            self._admitted = template, shape
        except (ClusterError, TimeoutError, msgspec.MsgspecError) as error:
            if template != self._wanted:
                return 0
            if _is_verdict(error):
                self._failures = 0
            elif (soon := self._soon(template, sent, error)) is not None:
                return soon
            shape = self._without_trial(template, error)
        else:
            self._failures = 0
        if template != self._wanted:
            return 0
        self._know(template, shape)
        return self._pace.again if shape.admission == _ADMITTED else self._pace.retry

    def _patience(self) -> float:
        """Return for how long an answer is waited for: a repeated first trial no longer than the shape waits for it."""
        if not self._failures or self.tried == self._wanted:
            return self._pace.patience
        left = self._failing_since + self._pace.retry - time.monotonic()
        return min(max(left, 0), self._pace.patience)

    def _soon(self, template: bytes, sent: float, error: Exception) -> float | None:
        """Return after how many seconds to repeat a trial that said nothing; None to go on without one.

        Meanwhile the shape stays. That of the template alone is another one: all units would be made anew of it, and
        once more as soon as a trial goes well.
        """
        if not self._failures:
            self._failing_since = sent
        self._failures += 1
        left = self._failing_since + self._pace.retry - time.monotonic()
        if template == self._admitted[0] or left <= 0:
            return None
        asked = error.retry_after_seconds if isinstance(error, ClusterError) else 0.0
        return min(self._client.backoff.delay_seconds(self._failures, at_least=asked), left)

    def _without_trial(self, template: bytes, error: Exception) -> Shape:
        """Return what a unit is taken for when the trial failed: what was last admitted, or what the template says."""
        before, kept = self._admitted
        if template == before:
            return Shape(kept.spec, kept.encoded, _refusal(error, "a unit counts as it was last admitted"))
        instead = "a unit counts as the template says, with the API's own defaults"
        return Shape(template_spec(template), template, _refusal(error, instead))

    def _know(self, template: bytes, shape: Shape) -> None:
        if (template, shape) != (self.tried, self.known):
            self.tried, self.known = template, shape
            self._on_change()


def _is_verdict(error: Exception) -> bool:
    """Tell whether a trial that failed says something of the pod, rather than of the API server or a webhook."""
    return isinstance(error, ApiError) and not (error.temporary or error.unauthorized)


def _refusal(error: Exception, instead: str) -> Admission:
    """Say why a trial failed, and what a unit is taken for."""
    if not isinstance(error, ApiError):
        why = str(error) or "the API server did not answer in time"
        return Admission(False, "NotTried", f"whether a pod of the template is admitted is not known: {why}; {instead}")
    message = error.message.partition("\n")[0]  # a webhook may explain at length
    if 'cannot create resource "pods"' in message:
        rule = 'give the operator\'s ClusterRole create on pods in API group "" (used with dryRun=All alone)'
        return Admission(False, "Forbidden", f"a pod of the template cannot be tried: {message}; {rule}; {instead}")
    if "exceeded quota" in message:
        return Admission(False, "QuotaExceeded", f"the namespace has no room for a trial pod: {message}; {instead}")
    return Admission(False, "Refused", f"pods of the template are refused: {message}; {instead}")
