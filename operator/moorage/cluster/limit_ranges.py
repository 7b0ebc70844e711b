"""Keeps the LimitRanges that we make: on clusters without policies that change objects, and on no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.cluster.client import Client, delete_if_there
from moorage.cluster.errors import ApiError, ClusterError
from moorage.cluster.worklist import Worklist
from moorage.quota.bounds import Limits
from moorage.quota.limit_range import limit_range, says_the_same
from moorage.quota.projection import Owner, projected_name

Key = tuple[str, str]
"""Namespace and name of a NamespaceQuota."""

LOOK_AGAIN_SECONDS = 300.0
"""How often edits are looked for: what nothing edits need not be watched."""


@dataclass(frozen=True, slots=True)
class LimitRangePlan:
    """What there shall be for a NamespaceQuota; without defaults: nothing."""

    owner: Owner
    defaults: Limits | None


class LimitRanges:
    """Brings about what `plan` returns for a NamespaceQuota (None: leave alone what there is).

    `changed` is called when the state of a LimitRange changed.
    """

    def __init__(
        self, client: Client, plan: Callable[[Key], LimitRangePlan | None], *, changed: Callable[[Key], None]
    ) -> None:
        self.problems: dict[Key, str] = {}
        """Why a LimitRange is not as it shall be, as a sentence."""
        self._client = client
        self._plan = plan
        self._changed = changed
        self._in_order: dict[Key, LimitRangePlan] = {}
        self._work = Worklist(self._look, backoff=client.backoff, what="projected limits")

    def mark(self, key: Key) -> None:
        """Have a look: what is planned may have changed."""
        self._work.mark(key)

    def forget(self, key: Key) -> None:
        """Leave alone what belongs to a NamespaceQuota that is gone: the garbage collector removes it."""
        self._work.forget(key)
        self.problems.pop(key, None)
        self._in_order.pop(key, None)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._work.run()

    def is_in_order(self, key: Key) -> bool:
        """Tell whether what is planned now was found to be there."""
        return key in self._in_order and self._in_order[key] == self._plan(key)

    async def _look(self, key: Key) -> float | None:
        plan = self._plan(key)
        if plan is None or (plan.defaults is None and self.is_in_order(key)):
            return None
        try:
            problem = await self._bring_about(plan)
        except ClusterError as error:
            self._note(key, f"LimitRange {projected_name(key[1])} cannot be kept: {error}", plan)
            raise
        self._note(key, problem, plan)
        return None if plan.defaults is None else LOOK_AGAIN_SECONDS

    async def _bring_about(self, plan: LimitRangePlan) -> str:
        stored = await self._stored(plan.owner)
        is_ours = stored is not None and _owner_uid(stored) == plan.owner.uid
        if plan.defaults is None:
            if stored is not None and is_ours:
                await delete_if_there(self._client, _path(plan.owner), uid=stored["metadata"]["uid"])
            return ""
        if stored is not None and not is_ours:
            return (
                f"there is a LimitRange {projected_name(plan.owner.name)} already that is not ours: rename or delete it"
            )
        if stored is None or not says_the_same(plan.defaults, stored):
            await self._client.apply(_path(plan.owner), limit_range(plan.owner, plan.defaults))
        return ""

    async def _stored(self, owner: Owner) -> dict[str, Any] | None:
        try:
            return await self._client.get(_path(owner))
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def _note(self, key: Key, problem: str, plan: LimitRangePlan) -> None:
        before = (self.problems.get(key, ""), self._in_order.get(key))
        self.problems.pop(key, None)
        self._in_order.pop(key, None)
        if problem:
            self.problems[key] = problem
        else:
            self._in_order[key] = plan
        if before != (self.problems.get(key, ""), self._in_order.get(key)):
            self._changed(key)


def _owner_uid(stored: Mapping[str, Any]) -> str:
    owners = stored["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners if each.get("controller")), "")


def _path(owner: Owner) -> str:
    return f"/api/v1/namespaces/{owner.namespace}/limitranges/{projected_name(owner.name)}"
