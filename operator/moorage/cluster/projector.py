"""Keeps the ResourceQuotas that we make equal to what they shall be: made, changed, put back after edits, deleted.

Each is applied on the server side with our fields only, when what it shall say changes and at no other time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from moorage.cluster.client import Client, delete_if_there
from moorage.cluster.contests import Contests, contested
from moorage.cluster.errors import ClusterError
from moorage.cluster.worklist import Worklist
from moorage.quota.native import NativeQuota
from moorage.quota.projection import MANAGED_BY, Owner, Part, Projection, edits, is_mark, projected_name, removal

logger = logging.getLogger(__name__)

Key = tuple[str, str, Part]
"""Namespace and name of a NamespaceQuota, and which of its ResourceQuotas."""

_UNSEEN_SECONDS = 5.0
"""How long the feed may take to show what was written."""
_UNLISTED_SECONDS = 5.0
"""How often it is looked whether a namespace has been listed, which may never be; whoever lists it marks its keys."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What there shall be of one ResourceQuota of a NamespaceQuota; without a projection: nothing."""

    owner: Owner
    part: Part
    projection: Projection | None

    @property
    def name(self) -> str:
        """The name of the ResourceQuota."""
        return projected_name(self.owner.name, self.part)


@dataclass(slots=True)
class _Applied:
    """What was written last."""

    plan: Plan
    version: int
    at: float
    seen: bool = field(default=False)
    """Whether the feed has shown it."""


class Projector:
    """Brings about what `plan` returns of each ResourceQuota (None: leave alone what there is).

    `held` returns the ResourceQuota of a namespace and name as the feed has it, `synced` whether the feed has listed a
    namespace. `changed` is called when a problem comes or goes, `edited` with a key and what somebody had changed.
    """

    def __init__(
        self,
        client: Client,
        *,
        plan: Callable[[Key], Plan | None],
        held: Callable[[str, str], NativeQuota | None],
        synced: Callable[[str], bool],
        changed: Callable[[Key], None],
        edited: Callable[[Key, str], None],
    ) -> None:
        self.problems: dict[Key, str] = {}
        """Why a ResourceQuota is not as it shall be, as a sentence."""
        self.contested: dict[Key, str] = {}
        """That somebody keeps changing a ResourceQuota, as a sentence."""
        self._contests: Contests[Key] = Contests(client.backoff)
        self._client = client
        self._plan = plan
        self._held = held
        self._synced = synced
        self._changed = changed
        self._edited = edited
        self._applied: dict[Key, _Applied] = {}
        self._work = Worklist(self._look, backoff=client.backoff, what="projected quota")

    def mark(self, key: Key) -> None:
        """Have a look: what is planned may have changed, or what there is."""
        self._work.mark(key)

    def forget(self, key: Key) -> None:
        """Leave alone what belongs to a NamespaceQuota that is gone: the garbage collector removes it."""
        self._work.forget(key)
        self._applied.pop(key, None)
        self._contests.forget(key)
        self.problems.pop(key, None)
        self.contested.pop(key, None)

    def contests_of(self, quota: tuple[str, str]) -> list[str]:
        """Return which ResourceQuotas of a NamespaceQuota somebody keeps changing, as sentences."""
        return [told for part in Part if (told := self.contested.get((*quota, part)))]

    async def run(self) -> None:
        """Work until cancelled."""
        await self._work.run()

    async def _look(self, key: Key) -> float | None:
        plan = self._plan(key)
        if plan is None:
            return None
        if not self._synced(plan.owner.namespace):
            return _UNLISTED_SECONDS
        held = self._held(plan.owner.namespace, plan.name)
        try:
            if plan.projection is None:
                await self._delete(key, plan, held)
            elif await self._is_strangers(key, plan, held):
                self._note(key, f"there is a ResourceQuota {plan.name} already that is not ours: rename or delete it")
            elif self._is_stale(key, held):
                return _UNSEEN_SECONDS
            elif found := self._differences(key, plan, held):
                if self._is_edit(key, plan):
                    if (pause := self._contests.pause(key, _now())) > 0:
                        return pause
                    self._contests.put_back(key, _now())
                    self._edited(key, f"ResourceQuota {plan.name} was put back: {', '.join(found)}")
                await self._apply(key, plan, held)
            else:
                self._note(key, "")
        except ClusterError as error:
            self._note(key, f"ResourceQuota {plan.name} cannot be written: {error}")
            raise
        return self._follow_contest(key, plan)

    async def _is_strangers(self, key: Key, plan: Plan, held: NativeQuota | None) -> bool:
        """Tell whether somebody else has made a ResourceQuota of this name.

        That the feed has not shown one yet does not mean that there is none, so the API server is asked before the
        first one is made: to apply ours would take theirs over.
        """
        if held is not None:
            return not _is_ours(held, plan.owner)
        if key in self._applied:
            return False
        collection, _, name = _path(plan).rpartition("/")
        found = await self._client.get(collection, {"fieldSelector": f"metadata.name={name}"})
        metas = [each["metadata"] for each in found["items"] if each["metadata"]["name"] == name]
        return not all(_says_ours(meta, plan.owner) for meta in metas)

    def _follow_contest(self, key: Key, plan: Plan) -> float | None:
        """Tell when somebody begins to change a ResourceQuota again and again; return when that may be over."""
        told = contested(f"ResourceQuota {plan.name}", key[0]) if self._contests.is_contested(key, _now()) else ""
        before = self.contested.pop(key, "")
        if told:
            self.contested[key] = told
        if told != before:
            logger.warning("NamespaceQuota %s/%s: %s", *key[:2], told or f"ResourceQuota {plan.name} is left alone now")
            self._changed(key)
        return self._contests.peace_in(key, _now()) if told else None

    def _is_stale(self, key: Key, held: NativeQuota | None) -> bool:
        """Tell whether the feed has yet to show what was written last."""
        applied = self._applied.get(key)
        if applied is None:
            return False
        applied.seen = applied.seen or (held is not None and held.resource_version >= applied.version)
        return not applied.seen and _now() < applied.at + _UNSEEN_SECONDS

    def _differences(self, key: Key, plan: Plan, held: NativeQuota | None) -> list[str]:
        assert plan.projection is not None
        if held is None:
            return ["it is gone"]
        found = edits(plan.projection, held)
        if not held.is_managed:
            found.append(f"its label {next(iter(MANAGED_BY))} is another")
        if held.owner_uid != plan.owner.uid:
            found.append("its owner is another")
        return found

    def _is_edit(self, key: Key, plan: Plan) -> bool:
        """Tell whether somebody else did it: what was written and seen before is not what there is now."""
        applied = self._applied.get(key)
        return applied is not None and applied.plan == plan and applied.seen

    async def _apply(self, key: Key, plan: Plan, held: NativeQuota | None) -> None:
        assert plan.projection is not None
        document = plan.projection.document(plan.owner)
        path = _path(plan)
        # First, since with some limits the API server refuses our scopes. What stands for these changes together with
        # them: for nothing else the API server counts anew.
        limits = {name: amount for name, amount in held.hard.items() if not is_mark(name)} if held is not None else {}
        if (patch := removal(plan.projection, {"hard": limits})) is not None:
            await self._client.patch(path, patch)
        stored = await self._client.apply(path, document)
        if (patch := removal(plan.projection, stored["spec"])) is not None:
            stored = await self._client.patch(path, patch)
        version = int(stored["metadata"]["resourceVersion"])
        self._applied[key] = _Applied(plan, version, _now())
        self._note(key, "")

    async def _delete(self, key: Key, plan: Plan, held: NativeQuota | None) -> None:
        self._applied.pop(key, None)
        if held is not None and held.owner_uid == plan.owner.uid:
            await delete_if_there(self._client, _path(plan), uid=held.uid)
        self._note(key, "")

    def _note(self, key: Key, problem: str) -> None:
        if self.problems.get(key, "") == problem:
            return
        if problem:
            logger.warning("NamespaceQuota %s/%s: %s", *key[:2], problem)
            self.problems[key] = problem
        else:
            del self.problems[key]
        self._changed(key)


def _is_ours(held: NativeQuota, owner: Owner) -> bool:
    return held.is_managed or held.owner_uid == owner.uid


def _says_ours(meta: Mapping[str, Any], owner: Owner) -> bool:
    """Tell the same of metadata as the API server gives it."""
    is_managed = MANAGED_BY.items() <= (meta.get("labels") or {}).items()
    return is_managed or any(each["uid"] == owner.uid for each in meta.get("ownerReferences") or ())


def _now() -> float:
    return asyncio.get_running_loop().time()


def _path(plan: Plan) -> str:
    return f"/api/v1/namespaces/{plan.owner.namespace}/resourcequotas/{plan.name}"
