"""NamespaceQuota: how much a namespace may use, and how much it uses now."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from moorage.api.conditions import Condition, condition_list
from moorage.api.names import HARD_RULES
from moorage.api.rules import Rule, rules
from moorage.api.scopes import SCOPED_NAMES_RULES, SCOPES_RULES, ScopeName, ScopeSelector
from moorage.api.types import Quantity, QuantityText, doc, map_of_at_most


class NamespaceQuotaSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the namespace may use. All fields can be changed at any time; usage is then counted anew."""

    hard: (
        Annotated[
            dict[str, Quantity],
            doc(
                """
                The most that may be used, by resource name; the names are those of a ResourceQuota. At most 100.

                  pods                         pods that have not finished
                  count/pods                   all pods, finished ones too
                  requests.cpu, cpu            CPU requests in cores: "1.5" or 1500m
                  requests.memory, memory      memory requests in bytes: 64Gi
                  requests.ephemeral-storage   local disk requests in bytes
                  requests.hugepages-<size>    such as requests.hugepages-2Mi
                  requests.<domain>/<name>     such as requests.nvidia.com/gpu
                  limits.cpu, limits.memory, limits.ephemeral-storage
                                               limits; without one: nothing

                cpu, memory, ephemeral-storage and hugepages-<size> mean the same with and without requests. in front.

                A pod counts with what the scheduler reserves for it: init containers, sidecars, overhead, pod-level
                resources and a resize in progress included. A name that this version does not count makes Ready false
                (reason UnsupportedResource) and is named there; the others are counted all the same.

                Names that count objects (pods, count/...) take integers only. A name that is left out is not limited.
                Example: {requests.cpu: "20", requests.memory: 64Gi, pods: 100}
                """
            ),
            map_of_at_most(100),
            rules(*HARD_RULES),
        ]
        | None
    ) = None
    scopes: (
        Annotated[
            tuple[ScopeName, ...],
            doc(
                """
                Count only objects that match every scope. Left out: all of the namespace.

                  Terminating                 pods with activeDeadlineSeconds
                  NotTerminating              pods without it
                  BestEffort                  pods without CPU and memory amounts
                  NotBestEffort               pods with any of them
                  PriorityClass               pods with a priorityClassName
                  CrossNamespacePodAffinity   pods with affinity across namespaces
                  VolumeAttributesClass       claims with a class

                Terminating has nothing to do with pods being deleted. Claims are not counted by this version, so
                VolumeAttributesClass makes Ready false (reason UnsupportedScope).

                BestEffort goes with pods only; the other pod scopes with pods, cpu and memory (also with requests. or
                limits. in front). Unlike those of a ResourceQuota, these scopes can be changed later.
                """,
                **{"x-kubernetes-list-type": "atomic"},
            ),
            Meta(max_length=20),
            SCOPES_RULES,
        ]
        | None
    ) = None
    scope_selector: (
        Annotated[
            ScopeSelector,
            doc(
                """
                Count only objects that match these conditions as well as scopes; with it a scope can ask for certain
                priority classes. Example, a share of its own for two classes:
                {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high, critical]}]}
                """,
                **{"x-kubernetes-map-type": "atomic"},
            ),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = SCOPED_NAMES_RULES


class NamespaceQuotaDisplay(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Short texts for the columns of `kubectl get`."""

    cpu: Annotated[str, doc("Requested CPU of hard, such as 7/20; missing when hard does not limit it.")] = ""
    memory: Annotated[str, doc("Requested memory of hard, such as 18Gi/64Gi; missing when hard does not limit it.")] = (
        ""
    )
    pods: Annotated[str, doc("Pods of hard, such as 31/100; missing when hard does not limit them.")] = ""
    fullest: Annotated[str, doc("The resource with the highest utilization, such as cpu 35%.")] = ""


class NamespaceQuotaStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is used now. Written by Moorage as pods come, go and are resized."""

    observed_generation: Annotated[
        int,
        doc("The metadata.generation of the spec that this status belongs to."),
        Meta(ge=0, extra_json_schema={"format": "int64"}),
    ] = 0
    hard: Annotated[
        dict[str, QuantityText],
        doc("The limits in force now, in canonical spelling."),
    ] = {}
    used: Annotated[
        dict[str, QuantityText],
        doc(
            "What is used of each resource in hard. A resource of which nothing is used shows 0; one that this "
            "version cannot count is missing."
        ),
    ] = {}
    remaining: Annotated[
        dict[str, QuantityText],
        doc("hard less used, never below 0; see the condition Exceeded for what is over."),
    ] = {}
    utilization: Annotated[
        dict[str, Annotated[str, doc("A percentage, such as 35%.")]],
        doc(
            "used as a percentage of hard. Rounded so that only a full resource shows 100% and only an unused one 0%; "
            "more than 100% when used is above hard."
        ),
    ] = {}
    summary: Annotated[
        tuple[Annotated[str, doc("One resource: used of hard, and the percentage.")], ...],
        doc(
            "One aligned line for each resource, to be read in kubectl describe.",
            **{"x-kubernetes-list-type": "atomic"},
        ),
    ] = ()
    display: Annotated[NamespaceQuotaDisplay, doc("Short texts for the columns of kubectl get.")] | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        condition_list(
            """
            Ready: everything in hard is counted and used is current; False or Unknown says what is not, and why.

            NearLimit: a resource is used to 90% or more; the message names it.

            Exceeded: used is above hard. No pod is evicted for it, and this version refuses no new ones.
            """
        ),
    ] = ()
