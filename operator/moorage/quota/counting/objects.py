"""What any other object counts for: itself."""

from __future__ import annotations

from moorage.objects import AnyObject
from moorage.quantity import NANO
from moorage.quota.names import COUNT
from moorage.quota.usage import ObjectUse, Shapes


def object_use(found: AnyObject, resource: str, kind: str, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored object of a resource such as `secrets` or `deployments.apps`.

    It counts until it is gone, whatever its state.
    """
    return shapes.use(resource, found.metadata, {f"{COUNT}{resource}": NANO}, kind=kind)
