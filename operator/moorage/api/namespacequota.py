"""NamespaceQuota: how much a namespace may use, and how much it uses now."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.conditions import Condition, condition_list
from moorage.api.limits import LimitEntry
from moorage.api.limits_rules import LIMITS_RULES
from moorage.api.names import HARD_RULES
from moorage.api.rules import Rule, rules
from moorage.api.scopes import SCOPED_NAMES_RULES, SCOPES_RULES, ScopeName, ScopeSelector
from moorage.api.types import Quantity, QuantityText, doc, map_of_at_most

Enforcement = Literal["Enforce", "Audit"]


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
                  persistentvolumeclaims       claims, bound or not
                  requests.storage             storage that claims ask for in bytes
                  <class>.storageclass.storage.k8s.io/requests.storage
                  <class>.storageclass.storage.k8s.io/persistentvolumeclaims
                                               the same of one storage class
                  services, services.loadbalancers, services.nodeports
                  configmaps, secrets, replicationcontrollers, resourcequotas
                  count/<resource>[.<group>]   objects of any kind: count/jobs.batch
                  <class>.deviceclass.resource.k8s.io/devices
                                               devices that ResourceClaims ask for

                cpu, memory, ephemeral-storage and hugepages-<size> mean the same with and without requests. in front.

                A pod counts with what the scheduler reserves for it: init containers, sidecars, overhead, pod-level
                resources and a resize in progress included. A name that nothing ever counts makes Ready false (reason
                UnsupportedResource), with the right one in its message; the others are counted all the same.

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

                Terminating has nothing to do with pods being deleted. Objects that are neither pods nor claims match no
                scope, so their names stay at 0.

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

    limits: (
        Annotated[
            tuple[LimitEntry, ...],
            doc(
                """
                Defaults and bounds of every container, pod and claim in the namespace, in the words of a LimitRange.
                They hold whatever the scopes: these select for hard only.

                Nothing is implied: max alone sets no default, and what has no limit is not refused for it. Defaults
                are filled in before anything is judged or counted; of several NamespaceQuotas the first in
                alphabetical order that has one gives it. Bounds of all of them hold.

                Example: {type: Container, defaultRequest: {cpu: 200m, memory: 256Mi}, max: {cpu: "4", memory: 8Gi}}
                """,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
            ),
            Meta(max_length=3),
        ]
        | None
    ) = None
    enforcement: (
        Annotated[
            Enforcement,
            doc(
                """
                Enforce, also when left out: what breaks hard or limits is refused. Audit: nothing is refused and
                nothing is filled in; status, events and metrics tell what would have been.
                """
            ),
        ]
        | None
    ) = None

    buffers: (
        Annotated[
            Literal["Count", "Ignore"],
            doc(
                """
                What the CapacityBuffers of the namespace mean for this quota. Count, also when left out: their units,
                active and standby, take room in hard as if they ran, and hold what real pods leave: a real pod that
                comes takes the room of units, and the buffers shrink and say so. Ignore: buffers take no room in it.
                In Audit mode they are not cut either.
                """
            ),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (*SCOPED_NAMES_RULES, *LIMITS_RULES)

    @property
    def is_enforced(self) -> bool:
        """Whether what breaks the quota is refused: `enforcement` is not Audit."""
        return self.enforcement != "Audit"


class NamespaceQuotaDisplay(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Short texts for the columns of `kubectl get`."""

    cpu: Annotated[str, doc("Requested CPU of hard, such as 7/20; missing when hard does not limit it.")] = ""
    memory: Annotated[str, doc("Requested memory of hard, such as 18Gi/64Gi; missing when hard does not limit it.")] = (
        ""
    )
    pods: Annotated[str, doc("Pods of hard, such as 31/100; missing when hard does not limit them.")] = ""
    fullest: Annotated[str, doc("The resource with the highest utilization, such as cpu 35%.")] = ""


class HolderStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A workload and what it uses."""

    workload: Annotated[
        str,
        doc(
            "Kind and name, such as Deployment/web: what the objects belong to, or the object itself when to nothing; "
            "for units, their CapacityBuffer."
        ),
    ]
    used: Annotated[QuantityText, doc("What it uses of the resource.")]
    pods: Annotated[int, doc("Its pods that have not finished; missing when it has none."), Meta(ge=0)] = 0


class ResourceHolders(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who holds one resource."""

    resource: Annotated[str, doc("The resource, as in hard.")]
    top: Annotated[
        tuple[HolderStatus, ...],
        doc(
            "The five workloads that use most of it, the largest first; moorage usage -n NAMESPACE shows all.",
            **{"x-kubernetes-list-type": "atomic"},
        ),
    ]


class NativeDifference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A number in which a native quota differs."""

    resource_quota: Annotated[str, doc("Name of the ResourceQuota.")]
    resource: Annotated[str, doc("The resource in which it differs.")]
    used: Annotated[QuantityText, doc("What it says is used.")]
    counted: Annotated[QuantityText, doc("What is used in fact, counted from the objects.")]
    since: Annotated[str, doc("Since when it has differed without a break.", format="date-time")]


class DefaultsInForce(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What containers are given that say nothing."""

    default: Annotated[dict[str, QuantityText], doc("Limits, by resource.")] = {}
    default_request: Annotated[dict[str, QuantityText], doc("Requests, by resource.")] = {}


class AuditCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a quota in Audit mode would have refused for one reason."""

    reason: Annotated[
        str,
        doc(
            "specify: an amount that hard limits was not given; bounds: spec.limits; count: the number of objects in "
            "hard; total: their amounts in hard. An object can fail for several."
        ),
    ]
    objects: Annotated[int, doc("At least so many pods and resizes, since the spec was changed last."), Meta(ge=0)]


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
            "What is used of each resource in hard, units of buffers included. A resource of which nothing is used "
            "shows 0; one that nothing counts, or whose objects are not known, is missing: the condition Ready says "
            "why."
        ),
    ] = {}
    buffered: Annotated[
        dict[str, QuantityText],
        doc(
            "The part of used that is units of CapacityBuffers, active and standby, as if they ran. They yield: a real "
            "pod that fits only without them is admitted, and the buffers shrink."
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
    holders: Annotated[
        tuple[ResourceHolders, ...],
        doc(
            "Who uses what: for each resource in use the largest workloads.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["resource"]},
        ),
    ] = ()
    defaults: (
        Annotated[
            DefaultsInForce,
            doc(
                """
                The defaults that this quota fills in, in place of those in spec.limits. Given only where several
                quotas of the namespace have some: the first of them has all, put together, and the others none.
                """
            ),
        ]
        | None
    ) = None
    would_refuse: Annotated[
        tuple[AuditCount, ...],
        doc(
            "With enforcement: Audit, what would have been refused. Events tell of each; counted by the webhook.",
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["reason"]},
        ),
    ] = ()
    native: Annotated[
        tuple[NativeDifference, ...],
        doc(
            """
            Where a ResourceQuota of this namespace with the same scopes says something else, for longer than a moment:
            it charges for objects that were refused after all, and notices some changes only after minutes.
            """,
            **{"x-kubernetes-list-type": "atomic"},
        ),
    ] = ()
    conditions: Annotated[
        tuple[Condition, ...],
        condition_list(
            """
            Ready: everything in hard is counted and used is current; False or Unknown says what is not, and why.

            NearLimit: a resource is used to 90% or more without units of buffers, which yield; the message names it.

            Exceeded: used without them is above hard. Nothing is evicted for it; what would add to it is refused.

            Enforced: True once it has been proved that the API server itself refuses what breaks hard and limits, and
            by which means. False or Unknown says what is missing, or that nothing shall be refused (Audit).

            LimitsConflict: spec.limits and that of another NamespaceQuota here contradict each other, such as a default
            above the other's max; all that are concerned say so. Missing where spec.limits is empty.

            WorkloadsRefused: names the workloads whose next pod would be refused: by limits, since it does not give an
            amount that hard limits, or since more is used than hard allows. Missing where none can be.
            """
        ),
    ] = ()
