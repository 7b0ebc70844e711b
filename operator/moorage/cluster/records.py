"""What the feed expects of the values it carries and of the one that keeps them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar


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


class HeldRecords(Generic[R]):
    """A sink that holds its records by uid; what else each of them means is up to `put` and `delete` of a subclass."""

    def __init__(self) -> None:
        self._records: dict[str, R] = {}

    def replace(self, records: Mapping[str, R]) -> None:
        """Hold exactly these records: those that are gone are dropped first, then each is put."""
        for uid in self._records.keys() - records.keys():
            self.delete(self._records[uid])
        for record in records.values():
            self.put(record)

    def put(self, record: R) -> None:
        """Hold a new record, or the next version of one."""
        self._records[record.uid] = record

    def delete(self, record: R) -> None:
        """Drop a record."""
        self._records.pop(record.uid, None)

    def get(self, uid: str) -> R | None:
        """Return the record held for a uid."""
        return self._records.get(uid)

    def snapshot(self) -> Mapping[str, R]:
        """Return the records held, by uid."""
        return self._records


class LookedOverRecords(HeldRecords[R], ABC):
    """A sink that looks over all that it holds after each change, once for a list; `_look` is up to a subclass."""

    def replace(self, records: Mapping[str, R]) -> None:
        """Hold exactly these records."""
        self._records = dict(records)
        self._look()

    def put(self, record: R) -> None:
        """Hold a new record, or the next version of one."""
        super().put(record)
        self._look()

    def delete(self, record: R) -> None:
        """Drop a record."""
        super().delete(record)
        self._look()

    @abstractmethod
    def _look(self) -> None: ...
