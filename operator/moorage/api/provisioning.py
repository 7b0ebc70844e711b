"""How the units of a CapacityBuffer are made, kept and refilled: the fields that concern backends and time."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from moorage.api.rules import Rule, rules
from moorage.api.types import Count, Duration, DurationOfAWeek, Rate, doc, more_than_zero

Backend = Literal["Auto", "Autoscaler", "Placeholder", "None"]
StandbyFallback = Literal["None", "Active"]
Placement = Literal["Template", "Spread", "Pack"]

REFILL_PATTERN = r"^(Always|None|[1-9][0-9]{0,5}/h)$"
_ZONE_PATTERN = r"^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$"


def _cron_field(value: str) -> str:
    """Return a pattern for one field: `*`, values and ranges with steps, and lists of these."""
    item = rf"(\*|{value}(-{value})?)(/[1-9][0-9]?)?"
    return f"{item}(,{item})*"


CRON_PATTERN = (
    "^"
    + " ".join(
        _cron_field(value)
        for value in (
            "[0-5]?[0-9]",
            "([01]?[0-9]|2[0-3])",
            "(0?[1-9]|[12][0-9]|3[01])",
            "(0?[1-9]|1[0-2]|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)",
            "([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)",
        )
    )
    + "$"
)


def _matching(pattern: str, message: str) -> Meta:
    return rules(
        Rule(
            cel=f'self.matches(r"{pattern}")',
            holds=lambda value: re.fullmatch(pattern, value) is not None,
            message=message,
        )
    )


_IS_CRON = _matching(
    CRON_PATTERN,
    'is not a schedule: write minute, hour, day of the month, month and day of the week, such as "0 8 * * 1-5"; '
    "names in capitals, and no seconds",
)
_IS_ZONE = _matching(_ZONE_PATTERN, "is not a time zone: write its IANA name, such as Europe/Berlin or Etc/UTC")
_IS_REFILL = _matching(
    REFILL_PATTERN, 'is not a refill: write Always, None, or how many units to make anew in an hour, such as "20/h"'
)

BackendField = Annotated[
    Backend,
    doc(
        """
        What makes the units exist.

          Autoscaler   CapacityBuffers of autoscaling.x-k8s.io, which Cluster
                       Autoscaler, Karpenter and GKE turn into nodes without
                       pods: <name>-active and <name>-standby, with the
                       PodTemplate <name>-unit.
          Placeholder  a Deployment <name>-placeholder of pods that do nothing
                       and that any pod of a higher priority pushes out. Works
                       with any autoscaler, or none. Active units only.
          Auto         Autoscaler where that API is served and a controller
                       answers within 60 seconds, else Placeholder. It changes
                       when the cluster does; status.backend tells which, and
                       why.
          None         nothing: the size is computed and shown.

        All of these objects are owned by the buffer and are deleted with it. Left out: Auto.
        """
    ),
]
StandbyFallbackField = Annotated[
    StandbyFallback,
    doc(
        """
        What becomes of standby units where there is no standby capacity (Karpenter, Placeholder, nodes that GKE cannot
        suspend). None: they are not made, and the condition StandbyUnsupported says why. Active: they are made as
        active units, at the cost of running nodes. Left out: None.
        """
    ),
]
DedicatedField = Annotated[
    bool,
    doc(
        """
        Keep the units for one workload. When the unit's pod template selects nodes of its own (a nodeSelector and a
        toleration of the same key and value), that is what keeps others out. Otherwise the unit gets the nodeSelector
        moorage.dev/dedicated: <name> and the toleration of that taint; give both to the workload, and label and taint
        to its nodes. The condition Warning says where other pods could take the units. Left out: any pod that fits.
        """
    ),
]
PreloadImagesField = Annotated[
    bool,
    doc(
        """
        Have placeholders pull the images of the unit's pod template, so that a pod that takes their room starts without
        a pull. Needs Kubernetes 1.35 (image volumes) and backend Placeholder. Left out: images are not pulled.
        """
    ),
]
PlacementField = Annotated[
    Placement,
    doc(
        """
        Where units go beside the constraints of their pod template. Template: nothing is added. Spread: evenly over
        zones and nodes, where possible. Pack: together on as few nodes as possible. Left out: Template.
        """
    ),
]
RefillField = Annotated[
    str,
    doc(
        """
        What happens when a pod has taken the room of a unit. Always: the unit is made anew. None: it is not, so that
        the arrival of the pods that the buffer was kept for does not double the bill; set Always to fill it again.
        "20/h": at most so many in an hour, one every three minutes. Left out: Always.
        """
    ),
    Meta(max_length=16),
    _IS_REFILL,
]
ScaleDownStabilizationField = Annotated[
    Duration,
    doc(
        """
        How long a smaller size must be wanted before the buffer shrinks, such as 5m; it shrinks to the largest size of
        that time, and grows at once. Against inputs that go up and down. Left out: it shrinks at once.
        """
    ),
]


class BufferSchedule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A size for certain hours."""

    schedule: Annotated[
        str,
        doc(
            """
            When these hours begin: minute, hour, day of the month, month and day of the week, as in a CronJob, such as
            "0 8 * * 1-5" (08:00 on weekdays). Names in capitals: MON, JAN. When both days are given, either counts.
            """
        ),
        Meta(max_length=100),
        _IS_CRON,
    ]
    duration: Annotated[
        DurationOfAWeek,
        doc("How long these hours last, such as 10h or 8h30m. More than zero, at most 168h."),
        more_than_zero("otherwise the schedule is never in force"),
    ]
    time_zone: (
        Annotated[
            str,
            doc("The time zone of schedule by its IANA name, such as Europe/Berlin. Left out: UTC."),
            Meta(max_length=64),
            _IS_ZONE,
        ]
        | None
    ) = None
    replicas: Annotated[Count, doc("In place of spec.replicas.")] | None = None
    percentage: Annotated[Count, doc("In place of spec.percentage.")] | None = None
    scale_up_rate: (
        Annotated[
            Rate,
            doc("In place of spec.sizing.scaleUpRate; the latencies are those of spec.sizing, which must be given."),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="has(self.replicas) || has(self.percentage) || has(self.scaleUpRate)",
            holds=lambda self: not self.keys().isdisjoint(("replicas", "percentage", "scaleUpRate")),
            message="needs a size: give replicas, percentage or scaleUpRate (replicas: 0 for none)",
        ),
    )


SchedulesField = Annotated[
    tuple[BufferSchedule, ...],
    doc(
        """
        Sizes by time of day. While one is in force, its replicas, percentage and scaleUpRate are the size, and those
        of the spec count for nothing: {schedule: "0 20 * * *", duration: 10h, replicas: 0} is no buffer at night.
        limits still caps it. The first in the list that is in force counts. At most 20.
        """
    ),
    Meta(max_length=20),
]

SCHEDULES_NEED_SIZING = Rule(
    cel="has(self.sizing) || !has(self.schedules) || !self.schedules.exists(each, has(each.scaleUpRate))",
    holds=lambda self: "sizing" in self or not any("scaleUpRate" in each for each in self.get("schedules", ())),
    message="scaleUpRate in schedules needs sizing, which has the latencies",
)


class BackendStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What makes the units exist, and why it is that."""

    name: Annotated[
        Literal["Autoscaler", "Placeholder", "None"],
        doc("What is in use: Autoscaler, Placeholder or None."),
    ]
    controller: Annotated[
        str,
        doc("Who answers on the objects of autoscaling.x-k8s.io: Karpenter, Cluster Autoscaler, GKE or Other."),
    ] = ""
    reason: Annotated[str, doc("Why this one, in a sentence.")] = ""


class RefillStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Units that were taken and are not made anew, for now or for good."""

    withheld: Annotated[Count, doc("How many units are missing because refill says so.")] = 0
    next_time: Annotated[
        str,
        doc("When the next of them is made anew; missing when none will be.", format="date-time"),
    ] = ""
