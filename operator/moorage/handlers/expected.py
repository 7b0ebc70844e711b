"""The NamespaceQuotas or CapacityBuffers that existed at the start, until each has been taken in.

kopf hands objects over one by one and tells nobody when it has been through all. Until then a buffer would be given
room that a quota does not leave, and a quota would know nothing of what buffers hold.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from moorage.cluster.client import Client
from moorage.cluster.errors import ApiError, ClusterError
from moorage.quota.ledger import QuotaKey

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0
"""How often is looked whether some have come."""
_GONE_SECONDS = 15.0
"""When none has come for so long, those are looked for that were deleted meanwhile; and again after as long."""
_PATIENCE_SECONDS = 60.0
"""When none has come for so long, none is expected any more. Hundreds may take longer, but come one after the other."""


class ExpectedQuotas:
    """Lists the quotas once. `paths` are their collections, `arrived` tells whether one has been taken in."""

    def __init__(self, client: Client, paths: Iterable[str], arrived: Callable[[QuotaKey], bool]) -> None:
        self._client = client
        self._paths = tuple(paths)
        self._arrived = arrived
        self._expected: dict[str, list[str]] | None = None
        """Names by namespace."""

    @property
    def missing(self) -> int | None:
        """How many quotas have not been taken in; None while that is not known."""
        if self._expected is None:
            return None
        for namespace, names in self._expected.items():
            names[:] = [name for name in names if not self._arrived((namespace, name))]
        return sum(map(len, self._expected.values()))

    def awaits(self, namespace: str) -> bool:
        """Whether there may be quotas of a namespace that have not been taken in.

        It is asked for each object that is taken in, so it looks no further than the first that is missing.
        """
        if self._expected is None:
            return True
        names = self._expected.get(namespace, [])
        while names and self._arrived((namespace, names[-1])):
            names.pop()
        return bool(names)

    async def run(self) -> None:
        """List the quotas, and after a time in which none has come expect none of them any more."""
        expected: dict[str, list[str]] = {}
        for namespace, name in await self._listed():
            expected.setdefault(namespace, []).append(name)
        self._expected = expected
        missing, idle = self.missing, 0.0
        while missing:
            await asyncio.sleep(_LOOK_SECONDS)
            before, missing = missing, self.missing
            idle = idle + _LOOK_SECONDS if missing == before else 0.0
            if idle >= _PATIENCE_SECONDS:
                break
            if idle and idle % _GONE_SECONDS == 0:
                there = await self._listed()
                for namespace, names in expected.items():
                    names[:] = [name for name in names if (namespace, name) in there]
                missing = self.missing
        self._expected = {}

    async def _listed(self) -> set[QuotaKey]:
        found: set[QuotaKey] = set()
        for path in self._paths:
            found |= await self._list(path)
        return found

    async def _list(self, path: str) -> set[QuotaKey]:
        attempts = self._client.backoff.attempts()
        while True:
            try:
                items = (await self._client.get(path))["items"]
            except ApiError as error:
                if error.refused:
                    return set()  # nothing that cannot be read is ever taken in
                await attempts.wait(at_least=error.retry_after_seconds)
            except ClusterError as error:
                logger.warning("%s could not be listed, which will be tried again: %s", path, error)
                await attempts.wait(at_least=error.retry_after_seconds)
            else:
                metas = [each["metadata"] for each in items]
                # kopf hands over nothing that is being deleted.
                return {(meta["namespace"], meta["name"]) for meta in metas if "deletionTimestamp" not in meta}
