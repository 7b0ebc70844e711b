"""The parts of Kubernetes objects that decide where a pod may run, as typed values.

Pods are decoded without them (see `objects`): only the shape of a buffer's unit, of which there are few, and nodes need
them. Field meanings are those of the Kubernetes API; lists and maps may be null.
"""

from __future__ import annotations

import msgspec

from moorage.objects import ResourceList


class _Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    pass


class Requirement(_Object, frozen=True):
    """One line of a label selector or a node selector: In, NotIn, Exists, DoesNotExist, of nodes also Gt and Lt."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(_Object, frozen=True):
    """Chooses objects by their labels; an empty one chooses all."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Requirement] | None = None


class NodeSelectorTerm(_Object, frozen=True):
    """Chooses nodes by all of its lines; a term without any chooses none."""

    match_expressions: list[Requirement] | None = None
    match_fields: list[Requirement] | None = None


class NodeSelector(_Object, frozen=True):
    """Chooses nodes by any of its terms."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(_Object, frozen=True, rename=None):
    """Which nodes a pod must be on."""

    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector | None = None  # noqa: N815


class PlacementTerm(_Object, frozen=True):
    """Pods that a pod must run beside, or must not: in the same domain of `topology_key`."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None


class PlacementTerms(_Object, frozen=True, rename=None):
    """The required terms of a pod affinity or anti-affinity."""

    requiredDuringSchedulingIgnoredDuringExecution: list[PlacementTerm] | None = None  # noqa: N815


class PlacementAffinity(_Object, frozen=True):
    """Where a pod must run, by nodes and by other pods."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PlacementTerms | None = None
    pod_anti_affinity: PlacementTerms | None = None


class Toleration(_Object, frozen=True):
    """A taint that a pod puts up with; without a key every one, without an effect all effects."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Taint(_Object, frozen=True):
    """What keeps pods away from a node."""

    key: str = ""
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class TopologySpreadConstraint(_Object, frozen=True):
    """How evenly a pod's peers must be spread over the domains of a label."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ClaimReference(_Object, frozen=True):
    """A PersistentVolumeClaim that a pod mounts."""

    claim_name: str = ""


class ClaimSpec(_Object, frozen=True):
    """What a PersistentVolumeClaim asks for, or the volume that it got."""

    storage_class_name: str | None = None
    volume_name: str | None = None


class ClaimTemplate(_Object, frozen=True):
    """A claim that each pod gets for itself."""

    spec: ClaimSpec = ClaimSpec()


class EphemeralVolume(_Object, frozen=True):
    """A volume that lives as long as its pod."""

    volume_claim_template: ClaimTemplate | None = None


class Volume(_Object, frozen=True):
    """A volume of a pod, as far as it is a claim."""

    persistent_volume_claim: ClaimReference | None = None
    ephemeral: EphemeralVolume | None = None


class StoredClaim(_Object, frozen=True):
    """A PersistentVolumeClaim as stored."""

    spec: ClaimSpec = ClaimSpec()


class VolumeNodeAffinity(_Object, frozen=True):
    """From which nodes a volume can be reached."""

    required: NodeSelector | None = None


class VolumeSpec(_Object, frozen=True):
    """A PersistentVolume's spec, as far as it ties pods to nodes."""

    node_affinity: VolumeNodeAffinity | None = None


class StoredVolume(_Object, frozen=True):
    """A PersistentVolume as stored."""

    spec: VolumeSpec = VolumeSpec()


class TopologyLabel(_Object, frozen=True):
    """A label that nodes must have with one of these values."""

    key: str = ""
    values: list[str] | None = None


class TopologyTerm(_Object, frozen=True):
    """Nodes that have all of these labels."""

    match_label_expressions: list[TopologyLabel] | None = None


class StoredStorageClass(_Object, frozen=True):
    """A StorageClass as stored: where its volumes may be made."""

    allowed_topologies: list[TopologyTerm] | None = None


class ContainerPort(_Object, frozen=True):
    """A port of a container; a host port is taken on the node."""

    host_port: int | None = None
    protocol: str | None = None


class PlacedContainer(_Object, frozen=True):
    """The ports of a container."""

    ports: list[ContainerPort] | None = None


class PlacementSpec(_Object, frozen=True):
    """The part of a pod's spec that says which nodes it may run on."""

    node_name: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: PlacementAffinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    volumes: list[Volume] | None = None
    containers: list[PlacedContainer] | None = None


class TemplateMeta(_Object, frozen=True):
    """The labels that every pod of a template has."""

    labels: dict[str, str] | None = None


class PlacementTemplate(_Object, frozen=True):
    """A pod template, as far as it decides where its pods may run."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PlacementSpec = PlacementSpec()


class NodeAnnotations(msgspec.Struct, frozen=True, gc=False):
    """The buffer that GKE keeps a standby node for, as `namespace/name` of the upstream object."""

    standby_buffer: str | None = msgspec.field(default=None, name="buffer.gke.io/standby-capacity-node-buffer")


class NodeMeta(_Object, frozen=True):
    """Identity and labels of a node."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: NodeAnnotations | None = None


class NodeSpec(_Object, frozen=True):
    """What keeps pods away from a node."""

    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeCondition(_Object, frozen=True):
    """One condition of a node."""

    type: str = ""
    status: str = ""


class NodeStatus(_Object, frozen=True):
    """What a node has to give, and how it is."""

    allocatable: ResourceList | None = None
    conditions: list[NodeCondition] | None = None


class StoredNode(_Object, frozen=True):
    """A Node as stored."""

    metadata: NodeMeta = NodeMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
