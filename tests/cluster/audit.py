"""What an account has asked the API server for, from the server's audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Request:
    """One answered request for a resource."""

    group: str
    resource: str
    """With its subresource, as in RBAC rules."""
    verb: str
    namespace: str
    code: int
    stores: bool
    """Whether it was more than a trial (dryRun=All)."""

    @property
    def rights(self) -> set[tuple[str, str, str]]:
        """What rules must say to allow it: an apply that makes an object needs to be allowed to create it as well."""
        verbs = {self.verb, "create"} if self.verb == "patch" and self.code == 201 else {self.verb}
        return {(self.group, self.resource, verb) for verb in verbs}


class AuditLog:
    """The requests of one user since this was made, or since `rewind`."""

    def __init__(self, path: Path, user: str) -> None:
        self._path = path
        self._user = user
        self._start = 0
        self.rewind()

    def rewind(self) -> None:
        """Forget what was asked so far."""
        self._start = self._path.stat().st_size if self._path.exists() else 0

    def requests(self) -> list[Request]:
        """Return the requests so far; a watch counts as soon as it is answered."""
        return [request for event in self._events() if (request := _request(event)) is not None]

    def _events(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as log:
            log.seek(self._start)
            for line in log:
                if not line.endswith(b"\n"):
                    return
                event = json.loads(line)
                if event["user"]["username"] == self._user:
                    yield event


def _request(event: dict[str, Any]) -> Request | None:
    """Read an event; None when it is about no resource (discovery, for one)."""
    about = event.get("objectRef")
    if about is None or "resource" not in about:
        return None
    return Request(
        group=about.get("apiGroup", ""),
        resource="/".join(filter(None, (about["resource"], about.get("subresource")))),
        verb=event["verb"],
        namespace=about.get("namespace", ""),
        code=event["responseStatus"]["code"],
        stores="dryRun=All" not in event["requestURI"],
    )
