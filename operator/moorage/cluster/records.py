"""What the feed expects of the values it carries and of the one that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar


class Record(Protocol):
    """What is kept of an object. Compared by value (`==`) to prove that what is held is what the server has."""

    @property
    def uid(self) -> str:
        """The object's identity; a recreated object of the same name has another."""
        ...

    @property
    def resource_version(self) -> int:
        """The object's version; 0 when the server's versions are not comparable numbers."""
        ...


R = TypeVar("R", bound=Record)

Decode = Callable[[bytes], R]
"""Makes a record of an encoded object; raises ValueError or msgspec.MsgspecError when it cannot.

It must not keep the bytes or views of them: they are part of a page of hundreds of objects.
"""


class Sink(Protocol[R]):
    """Holds the records of one feed. The feed calls it from the event loop; nothing here may wait.

    The feed holds no second copy: it asks the sink.
    """

    def replace(self, records: Mapping[str, R]) -> None:
        """Hold exactly these records (by uid) from now on; what is not among them is gone."""
        ...

    def put(self, record: R) -> None:
        """Hold a new record, or the next version of one."""
        ...

    def delete(self, record: R) -> None:
        """Drop a record; it is the one that is held."""
        ...

    def get(self, uid: str) -> R | None:
        """Return the record held for a uid."""
        ...

    def snapshot(self) -> Mapping[str, R]:
        """Return all records by uid. The feed copies the mapping at once if it needs it later."""
        ...
