"""What a backend is told to make, and what all objects have in common that are made for a buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from moorage.api.labels import BUFFER_LABEL, LONGEST_LABEL, fitted

Document = dict[str, Any]
"""An object as it is applied."""

MANAGED_BY_LABEL, MANAGER = "app.kubernetes.io/managed-by", "moorage"
OWNED_SELECTOR = f"{MANAGED_BY_LABEL}={MANAGER},{BUFFER_LABEL}"
"""Label selector of everything that is made for buffers."""

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"
"""What Kubernetes' own pod sandboxes run: usually on every node already."""

LONGEST_NAME = 253

Placement = Literal["Template", "Spread", "Pack"]


@dataclass(frozen=True, slots=True)
class Owner:
    """The buffer that objects are made for."""

    namespace: str
    name: str
    uid: str

    @property
    def label(self) -> str:
        """Its name as the value of a label."""
        return fitted(self.name, LONGEST_LABEL)

    def named(self, suffix: str) -> str:
        """Return the name of an object of this buffer, such as `web-active`."""
        return fitted(self.name, LONGEST_NAME - len(suffix) - 1) + f"-{suffix}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Units that should exist, and how; what a backend makes its objects from."""

    owner: Owner
    template: Mapping[str, Any]
    """The pod template of a unit: `metadata` and `spec`, as the API server would store a pod of it."""
    active: int = 0
    standby: int = 0
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of the buffer that are passed on."""
    dedicated: bool = False
    preload_images: bool = False
    placement: Placement = "Template"
    not_held: frozenset[str] = frozenset()
    """Resources of which quotas of the namespace count placeholders like any pod, so that they must hold none."""


def document(owner: Owner, *, api_version: str, kind: str, suffix: str) -> Document:
    """Return an object's identity: name, labels, and the buffer as its owner.

    The owner's deletion does not wait for it (no blockOwnerDeletion, which would need a right on the buffer).
    """
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": owner.named(suffix),
            "namespace": owner.namespace,
            "labels": {MANAGED_BY_LABEL: MANAGER, BUFFER_LABEL: owner.label},
            "ownerReferences": [
                {
                    "apiVersion": "moorage.dev/v1alpha1",
                    "kind": "CapacityBuffer",
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": True,
                }
            ],
        },
    }
