"""Keeps the webhook served under a certificate that its callers trust, whatever happens to the one it has."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from moorage.admission.certificates import LIFE, Certificate, flaw, is_due, issue
from moorage.admission.tls import load
from moorage.cluster.errors import ClusterError

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 10.0
"""How often is looked whether all is as it should be."""

_MOST_RACES = 5
"""How often in a row somebody else may be faster before we wait for the next look."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A certificate as it is shared by the replicas, good or bad, and the version under which it is held."""

    certificate: Certificate
    version: str


class CertificateStore(Protocol):
    """Where the certificate is shared, and where its callers are told whom to trust. All raise ClusterError."""

    async def names(self) -> Collection[str]:
        """Return the host names and addresses by which the webhook is called."""
        ...

    async def read(self) -> Stored | None:
        """Return the certificate that is shared, if any."""
        ...

    async def write(self, certificate: Certificate, *, over: Stored | None) -> bool:
        """Share a certificate in place of another (None: of none); False when somebody else was faster."""
        ...

    async def trust(self, authorities: bytes) -> None:
        """Have callers trust exactly these authorities, in PEM."""
        ...


class CertificateKeeper:
    """Looks after the certificate of one replica; replicas agree through the store.

    The order keeps every replica trusted at every moment: a new certificate is shared first, then callers are told to
    trust its authority beside the ones before, and only then it is served.
    """

    def __init__(
        self,
        store: CertificateStore,
        context: ssl.SSLContext,
        *,
        now: Callable[[], datetime],
        life: timedelta = LIFE,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self.served: Certificate | None = None
        """What connections that are made now see."""
        self.problem = "no certificate has been made yet"
        """Why the webhook cannot be called, or soon cannot; empty when all is well."""
        self._store = store
        self._context = context
        self._now = now
        self._life = life
        self._interval = interval_seconds

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            try:
                await self.look()
                problem = ""
            except ClusterError as error:
                problem = f"the webhook's certificate cannot be looked after: {error}"
            except Exception as error:  # a bug; the webhook only explains, so it must not end the operator
                logger.exception("the webhook's certificate cannot be looked after")
                problem = f"the webhook's certificate cannot be looked after: {type(error).__name__}"
            if problem != self.problem:
                logger.log(logging.WARNING if problem else logging.INFO, problem or "the webhook can be called")
                self.problem = problem
            await asyncio.sleep(self._interval)

    async def look(self) -> None:
        """Put right what is not as it should be.

        Raises ClusterError when that fails; what is served then stays as it is, if it can still be served.
        """
        names = await self._store.names()
        wanted = await self._agreed(names)
        try:
            await self._store.trust(wanted.authorities)
        except ClusterError:
            if self.served is None or flaw(self.served, names, self._now()):
                self._serve(wanted)
            raise
        self._serve(wanted)

    async def _agreed(self, names: Collection[str]) -> Certificate:
        """Return the certificate that all replicas share, made anew if there is none that is good."""
        for _ in range(_MOST_RACES):
            stored = await self._store.read()
            reason = self._reason_to_replace(stored, names)
            if stored is not None and not reason:
                return stored.certificate
            logger.info("making a certificate for the webhook: %s", reason)
            fresh = issue(names, self._now(), trusted=self._trusted(stored), life=self._life)
            if await self._store.write(fresh, over=stored):
                return fresh
        raise ClusterError(f"the certificate was changed by somebody else {_MOST_RACES} times in a row")

    def _reason_to_replace(self, stored: Stored | None, names: Collection[str]) -> str:
        if stored is None:
            return "there is none"
        if found := flaw(stored.certificate, names, self._now()):
            return f"of the one that is shared, {found}"
        return "the one that is shared is old" if is_due(stored.certificate, self._now()) else ""

    def _trusted(self, stored: Stored | None) -> bytes:
        """Return the authorities of what this replica and others may still serve."""
        ours = self.served.authorities if self.served is not None else b""
        theirs = stored.certificate.authorities if stored is not None else b""
        return ours if theirs in (b"", ours) else ours + theirs

    def _serve(self, certificate: Certificate) -> None:
        if certificate != self.served:
            load(self._context, certificate)
            self.served = certificate
