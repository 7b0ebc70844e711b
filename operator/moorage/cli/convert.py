"""From a document to a typed object, with errors that name the field."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from moorage.cli.documents import Document
from moorage.cli.errors import BadInput

_Model = TypeVar("_Model")


def convert(document: Document, model: type[_Model], value: Any) -> _Model:
    """Make a typed object of a document's part.

    Raises BadInput.
    """
    try:
        return msgspec.convert(value, model, strict=True)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        where = f"{place.rstrip('`').lstrip('.')}: " if place else ""
        raise BadInput(f"{document.label}: {where}{problem}") from error
