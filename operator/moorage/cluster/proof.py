"""The proof that what a feed holds is what the server has."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from moorage.cluster.client import JSON, Client, Params
from moorage.cluster.records import Decode, R
from moorage.cluster.wire import decode_meta

_NAMED = 5
"""How many objects of each kind of difference are named in a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How the held records differ from the server's at one version; false when they do not.

    Objects are named `namespace/name (uid)`; those that the server does not have, by their uid alone.
    """

    resource_version: str
    listed: int
    """How many objects the server has."""
    missing: tuple[str, ...] = ()
    """Objects that the server has and we do not hold."""
    extra: tuple[str, ...] = ()
    """Objects that we hold and the server does not have."""
    different: tuple[str, ...] = ()
    """Objects whose record differs from what we hold."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.different)

    def __str__(self) -> str:
        parts = []
        for kind in ("missing", "extra", "different"):
            names: tuple[str, ...] = getattr(self, kind)
            if names:
                shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
                parts.append(f"{len(names)} {kind}: {shown}")
        found = "; ".join(parts) or "no difference"
        return f"compared with {self.listed} objects at version {self.resource_version}: {found}"


async def compare(
    client: Client,
    path: str,
    params: Params,
    *,
    decode: Decode[R],
    held: dict[str, R],
    accept: str = JSON,
    page_size: int,
    yield_every: int,
) -> Drift:
    """List at exactly `params["resourceVersion"]` and compare; `held` is used up.

    Objects that cannot be decoded are not compared: what is held for them is known to be old.
    Raises ClusterError, and ApiError (`gone`, `too_new`) when the server has not that version.
    """
    query = dict(params) | {"resourceVersionMatch": "Exact"}
    missing: list[str] = []
    different: list[str] = []
    listed = 0
    async with aclosing(client.list_pages(path, query, limit=page_size, accept=accept)) as pages:
        async for page in pages:
            for encoded in page.items or ():
                listed += 1
                if listed % yield_every == 0:
                    await asyncio.sleep(0)
                body = bytes(encoded)
                try:
                    record = decode(body)
                except Exception:  # the feed has counted and logged it; here it can only not be compared
                    held.pop(_uid(body), None)
                    continue
                mine = held.pop(record.uid, None)
                if record == mine:
                    continue
                (missing if mine is None else different).append(_name(body))
    return Drift(
        resource_version=query["resourceVersion"],
        listed=listed,
        missing=tuple(missing),
        extra=tuple(held),
        different=tuple(different),
    )


def _uid(encoded: bytes) -> str:
    try:
        return decode_meta(encoded).uid
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _name(encoded: bytes) -> str:
    meta = decode_meta(encoded)
    return f"{meta.label} ({meta.uid})"
