"""Proves that the policies enforce a quota, by dry runs of what they have to refuse; again from time to time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from moorage.admission.probe import Probe
from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.worklist import Worklist

Key = tuple[str, str]
"""Namespace and name of a NamespaceQuota."""

PROVE_AGAIN_SECONDS = 300.0
_FIRST_PAUSE_SECONDS = 0.25
"""Policies take effect moments after they, or their quotas, were written."""
_LONGEST_PAUSE_SECONDS = 30.0
_SHOWN_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Result:
    """What the last dry runs showed."""

    probes: Sequence[Probe]
    problem: str = ""
    """Why enforcement is not proved, as a sentence; empty: it is."""


class Prover:
    """Keeps `results` current; `probes` returns what to send for a quota."""

    def __init__(
        self,
        client: Client,
        probes: Callable[[Key], Sequence[Probe]],
        *,
        changed: Callable[[Key], None],
        random: Callable[[], float] = random.random,
    ) -> None:
        self.results: dict[Key, Result] = {}
        self._client = client
        self._probes = probes
        self._changed = changed
        self._random = random
        self._failures: dict[Key, int] = {}
        self._work = Worklist(self._prove, backoff=client.backoff, what="proof")

    def mark(self, key: Key) -> None:
        """Prove a quota anew: it has changed."""
        self._failures.pop(key, None)
        self._work.mark(key)

    def forget(self, key: Key) -> None:
        """Prove a quota no more."""
        self._work.forget(key)
        self._failures.pop(key, None)
        self.results.pop(key, None)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._work.run()

    def is_proved(self, key: Key, probes: Sequence[Probe]) -> bool:
        """Tell whether exactly these probes were refused as they have to be."""
        result = self.results.get(key)
        return result is not None and result.probes == probes and not result.problem

    async def _prove(self, key: Key) -> float | None:
        probes = self._probes(key)
        if not probes:
            self.results.pop(key, None)
            return None
        problem = ""
        for probe in probes:
            if problem := await self._send(key[0], probe):
                break
        result = Result(probes, problem)
        if self.results.get(key) != result:
            self.results[key] = result
            self._changed(key)
        if not problem:
            self._failures.pop(key, None)
            return PROVE_AGAIN_SECONDS * (0.8 + 0.4 * self._random())
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return min(_FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1), _LONGEST_PAUSE_SECONDS)

    async def _send(self, namespace: str, probe: Probe) -> str:
        """Send a probe and return why its answer proves nothing; empty: it proves."""
        path = f"/api/v1/namespaces/{namespace}/{probe.plural}"
        try:
            async with asyncio.timeout(20):
                await self._client.post(path, probe.body, {"dryRun": "All"})
        except TimeoutError:
            return f"a dry run of {probe.plural} was not answered"
        except ApiError as error:
            if error.forbidden and f'cannot create resource "{probe.plural}"' in error.message:
                return f'give the operator\'s ClusterRole create on {probe.plural} in API group "", for dry runs alone'
            return probe.why_not_proved(error.message)[:_SHOWN_CHARACTERS]
        except ClusterError as error:
            return f"a dry run of {probe.plural} failed: {error}"
        return f"policy {probe.policy} is not in force: what it has to refuse was admitted in a dry run"
