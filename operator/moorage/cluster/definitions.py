"""Waits for our definitions: kopf looks once at its start for what is served, and then never again.

It could watch the definitions instead, but only with the right to read all that there are in the cluster.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError

logger = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 2.0


class Definitions:
    """Some resources of one API group and version; `problem` says what is wrong with them, if anything."""

    def __init__(self, client: Client, group: str, version: str, plurals: Iterable[str]) -> None:
        self.problem = ""
        self._client = client
        self._group, self._path = group, f"/apis/{group}/{version}"
        self._plurals = tuple(plurals)

    async def wait(self, stop: asyncio.Event) -> None:
        """Return as soon as all are served, or `stop` is set."""
        while not stop.is_set():
            problem = await self._look()
            if problem and problem != self.problem:
                logger.warning("%s; waiting", problem)
            self.problem = problem
            if not problem:
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_AGAIN_SECONDS)

    async def _look(self) -> str:
        try:
            served = {each["name"] for each in (await self._client.get(self._path)).get("resources") or ()}
        except ApiError as error:
            if not error.not_found:
                return f"the resources of {self._group} cannot be looked up: {error}"
            served = set()
        except ClusterError as error:
            return f"the resources of {self._group} cannot be looked up: {error}"
        missing = [f"{plural}.{self._group}" for plural in self._plurals if plural not in served]
        if not missing:
            return ""
        verb = "is" if len(missing) == 1 else "are"
        install = "moorage crds | kubectl apply --server-side -f -"
        return f"{' and '.join(missing)} {verb} not served; install the definitions: {install}"
