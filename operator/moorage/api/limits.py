"""`spec.limits` of a NamespaceQuota: the words of a LimitRange."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from moorage.api.limits_rules import ENTRY_RULES, NAMES_RULES
from moorage.api.rules import Rule, rules
from moorage.api.types import Quantity, doc, map_of_at_most

LimitType = Literal["Container", "Pod", "PersistentVolumeClaim"]

_Amounts = Annotated[dict[str, Quantity], map_of_at_most(32), rules(*NAMES_RULES)]


class LimitEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Defaults and bounds of single objects."""

    type: Annotated[
        LimitType,
        doc(
            """
            What is bounded: each Container (init containers and sidecars too), each Pod as a whole, or each
            PersistentVolumeClaim. One entry for each.

            A pod's amount is the larger of the sum over its running containers and the peak while it starts; where the
            pod as a whole gives an amount, that one. Overhead of a RuntimeClass does not count here.
            """
        ),
    ]
    default: (
        Annotated[
            _Amounts,
            doc(
                """
                Limits for containers that set none. Where there is no request either and defaultRequest gives none, the
                limit becomes the request, as with every limit. For a container whose request is larger, the limit is
                raised to its request. Only for type Container. Example: {memory: 512Mi}
                """
            ),
        ]
        | None
    ) = None
    default_request: (
        Annotated[
            _Amounts,
            doc(
                """
                Requests for containers that set none. A container that sets a limit alone has that as its request
                already. An explicit 0 stays 0. Only for type Container. Example: {cpu: 200m, memory: 256Mi}
                """
            ),
        ]
        | None
    ) = None
    min: (
        Annotated[
            _Amounts,
            doc(
                """
                The least that must be requested; no request is less. A limit, if there is one, may not be below it
                either. For claims: of storage. Example: {cpu: 10m}
                """
            ),
        ]
        | None
    ) = None
    max: (
        Annotated[
            _Amounts,
            doc(
                """
                The most that may be requested, and the highest limit; what sets no limit is not refused, and nothing is
                filled in (a LimitRange does both). For claims: of storage. Example: {cpu: "4", memory: 8Gi}
                """
            ),
        ]
        | None
    ) = None
    max_limit_request_ratio: (
        Annotated[
            _Amounts,
            doc(
                """
                The most that a limit may be, as a multiple of its request. Both must be set, and above 0. Not for
                claims. Example, limits of at most twice the request: {cpu: 2}
                """
            ),
        ]
        | None
    ) = None

    rules: ClassVar[tuple[Rule, ...]] = ENTRY_RULES
