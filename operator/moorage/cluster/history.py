"""When the pods of a workload were made, from the history that a Prometheus keeps (kube-state-metrics).

So a buffer that is new needs no weeks to learn its demand. History does not tell which pods replaced others, so all of
them count: sizes come out rather too large than too small until the record of our own has taken its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import aiohttp
import msgspec

from moorage.cluster.reference import Reference

DAYS = 14
_TIMEOUT_SECONDS = 60.0
_MOST_BYTES = 64 * 2**20
_MADE_OF = {
    "Deployment": "-[a-z0-9]+-[a-z0-9]{5}",
    "ReplicaSet": "-[a-z0-9]{5}",
    "StatefulSet": "-[0-9]+",
    "Job": "(-[0-9]+)?-[a-z0-9]{5}",
}
"""What follows the name of a workload in the names of its pods."""


class HistoryError(Exception):
    """The history cannot be read; the text says why."""


class _Series(msgspec.Struct, frozen=True):
    value: tuple[float, str]


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str = ""
    result: list[_Series] = []


class _Answer(msgspec.Struct, frozen=True):
    status: str = ""
    error: str = ""
    data: _Data = _Data()


_decode = msgspec.json.Decoder(_Answer).decode


@dataclass(frozen=True, slots=True)
class History:
    """A Prometheus, or what answers like one, by its URL."""

    url: str

    async def created(self, reference: Reference) -> list[int]:
        """Return when the workload's pods of the last days were made, in seconds since the epoch, sorted.

        Raises HistoryError.
        """
        path = f"{self.url.rstrip('/')}/api/v1/query"
        try:
            timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.post(path, data={"query": query(reference)}) as answer,
            ):
                return created_in(await answer.content.read(_MOST_BYTES))
        except (aiohttp.ClientError, TimeoutError, ValueError, OverflowError) as error:
            raise HistoryError(f"{path}: {error or type(error).__name__}") from error


def query(reference: Reference) -> str:
    """Return the query for the times at which a workload's pods were made."""
    pods = re.escape(reference.name).replace("\\", "\\\\") + _MADE_OF.get(reference.kind, "-.+")
    series = f'kube_pod_created{{namespace="{reference.namespace}",pod=~"{pods}"}}'
    return f"max by (pod, uid) (max_over_time({series}[{DAYS}d]))"


def created_in(answer: bytes) -> list[int]:
    """Return the times in an answer, sorted.

    Raises HistoryError when the query failed, and msgspec.MsgspecError or ValueError for what is no answer.
    """
    found = _decode(answer)
    if found.status != "success":
        raise HistoryError(found.error or "the answer is not one of Prometheus")
    return sorted(int(float(series.value[1])) for series in found.data.result)
