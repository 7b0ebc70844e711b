"""From which nodes volumes can be reached, as far as objects of the cluster say."""

from __future__ import annotations

from moorage.scheduling import NodeSelector, NodeSelectorTerm, Requirement, StoredStorageClass, StoredVolume


def volume_nodes(volume: StoredVolume) -> NodeSelector | None:
    """Return the nodes that can reach a volume; None for any."""
    affinity = volume.spec.node_affinity
    return affinity.required if affinity is not None else None


def class_nodes(storage_class: StoredStorageClass) -> NodeSelector | None:
    """Return the nodes for which volumes of a class may be made; None for any."""
    if not storage_class.allowed_topologies:
        return None
    terms = [
        [Requirement(key=each.key, operator="In", values=each.values) for each in term.match_label_expressions or ()]
        for term in storage_class.allowed_topologies
    ]
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=lines) for lines in terms])
