"""What a claim for a volume counts for.

Follows `pkg/quota/v1/evaluator/core/persistent_volume_claims.go` of Kubernetes v1.36.
"""

from __future__ import annotations

from moorage.objects import VolumeClaim
from moorage.quantity import NANO
from moorage.quota.names import COUNT, STORAGE, STORAGE_CLASS_SUFFIXES, VOLUME_CLAIMS
from moorage.quota.scopes import ClaimFacts
from moorage.quota.usage import ObjectUse, Shapes
from moorage.resources import amounts


def volume_claim_use(claim: VolumeClaim, shapes: Shapes) -> ObjectUse:
    """Return the record of a stored claim; it counts in every phase, also while a finalizer holds it.

    Raises QuantityError when an amount does not parse.
    """
    storage = _storage(claim)
    counted = {f"{COUNT}{VOLUME_CLAIMS}": NANO, STORAGE: storage}
    if storage_class := _storage_class(claim):
        claims, bytes_ = (f"{storage_class}{suffix}" for suffix in STORAGE_CLASS_SUFFIXES)
        counted |= {claims: NANO, bytes_: storage}
    return shapes.use(
        VOLUME_CLAIMS,
        claim.metadata,
        counted,
        kind="PersistentVolumeClaim",
        facts=ClaimFacts(_attributes_classes(claim)),
    )


def _storage(claim: VolumeClaim) -> int:
    """Return the larger of what is asked for and what an expansion was given, each in whole bytes (nano-units)."""
    asked = amounts(claim.spec.resources.requests if claim.spec.resources is not None else None)
    given = amounts(claim.status.allocated_resources)
    return max(-(-each.get("storage", 0) // NANO) * NANO for each in (asked, given))


def _storage_class(claim: VolumeClaim) -> str:
    annotations = claim.metadata.annotations
    if annotations is not None and annotations.storage_class is not None:
        return annotations.storage_class
    return claim.spec.storage_class_name or ""


def _attributes_classes(claim: VolumeClaim) -> frozenset[str]:
    """Return every class that is asked for, in force or on its way: a claim under change counts for both."""
    target = claim.status.modify_volume_status
    names = (
        claim.spec.volume_attributes_class_name,
        claim.status.current_volume_attributes_class_name,
        target.target_volume_attributes_class_name if target is not None else None,
    )
    return frozenset(name for name in names if name)
