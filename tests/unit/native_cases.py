"""Plays the cases of quota-cases.yaml without a cluster: what the API server would store, and what Moorage counts.

What admission would refuse is not decided here: the case's own verdict is taken.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import yaml

from moorage.api.namespacequota import NamespaceQuotaSpec, NamespaceQuotaStatus
from moorage.quota.ledger import Ledger
from moorage.status.namespacequota import QuotaRules, Trouble, View, quota_rules, quota_status
from tests.unit.native_api import NAMESPACE, Api, uid_of

Case = dict[str, Any]
Used = dict[str, dict[str, str]]
"""By quota and resource name, quantities as the native status shows them."""

_TEXT = (Path(__file__).parents[1] / "data" / "quota-cases.yaml").read_text()
_FILE = yaml.safe_load(
    re.sub(r"\$UID:(\w+)/(\w+)", lambda found: uid_of(*found.groups()), _TEXT)
    .replace("$NS", NAMESPACE)
    .replace("$RND", "x7")
)
CASES: dict[str, Case] = {case["id"]: case for case in _FILE["cases"]}
PREREQUISITES: list[dict[str, Any]] = _FILE["prerequisites"]
"""What exists in the cluster of every case."""

_START = datetime(2030, 1, 1, tzinfo=UTC)


def by_quota(case: Case, used: dict[str, Any]) -> Used:
    """Return expected usage by quota; a case with one quota calls it q and leaves the name out."""
    return used if "quotas" in case else {"q": used}


def expected(case: Case) -> Used:
    """Return what the native status shows at the end, after a recount."""
    return by_quota(case, case["expect"].get("used", {}))


def quotas_of(case: Case) -> dict[str, dict[str, Any]]:
    """Return the specs of the quotas that exist from the start, by name."""
    return case.get("quotas") or ({"q": case["quota"]} if "quota" in case else {})


class Play:
    """One case on its way from start to end."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._now = _START
        self._ledger = Ledger()
        self.api = Api([*PREREQUISITES, *case.get("cluster", ())], self._ledger, lambda: self._now)
        self.steps: list[tuple[Used, Used]] = []
        """For each look at the status on the way: what the native one showed, and what Moorage counts."""
        if "limitRange" in case:
            self._create({"kind": "LimitRange", "metadata": {"name": "lr"}, "spec": {"limits": case["limitRange"]}})
        quotas = [
            {"kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}
            for name, spec in quotas_of(case).items()
        ]
        objects = case.get("objects", ())
        for manifest in [*objects, *quotas] if case.get("order") == "objects-first" else [*quotas, *objects]:
            self._create(manifest)
        for step in case.get("steps", ()):
            self._step(step)

    def status(self, quota: str) -> NamespaceQuotaStatus:
        """Return what Moorage says of a quota now."""
        self._ledger.release_due(self._now.timestamp())
        return quota_status(self.rules(quota), self._ledger.usage(NAMESPACE, quota), self._view, generation=1)

    @property
    def now(self) -> datetime:
        """The time that it is at the end."""
        return self._now

    def used(self) -> Used:
        """Return what Moorage counts in each quota now."""
        quotas = [body["metadata"]["name"] for body in self.api.objects.values() if body["kind"] == "ResourceQuota"]
        return {name: self.status(name).used for name in quotas}

    def rules(self, quota: str) -> QuotaRules:
        """Return the rules that a quota's spec states."""
        spec = self.api.objects[f"ResourceQuota/{quota}"]["spec"]
        return quota_rules(msgspec.convert(spec, NamespaceQuotaSpec))

    def _view(self, resource: str) -> View:
        if self.api.serves(resource):
            return View()
        return View(complete=False, trouble=Trouble.NOT_SERVED, message=f"{resource} is not served")

    def _create(self, manifest: dict[str, Any]) -> None:
        self.api.create(manifest)
        if manifest["kind"] == "ResourceQuota":
            self._set_quota(manifest["metadata"]["name"])

    def _set_quota(self, name: str) -> None:
        self._ledger.set_quota(NAMESPACE, name, self.rules(name).terms)

    def _step(self, step: dict[str, Any]) -> None:
        if step.get("verdict") == "denied":
            return
        if "create" in step:
            self._create(step["create"])
        elif "patch" in step:
            self.api.patch(step["patch"], step["with"], subresource=step.get("sub"), type=step.get("type"))
            kind, _, name = step["patch"].partition("/")
            if kind == "ResourceQuota":
                self._set_quota(name)
        elif "delete" in step:
            grace = step.get("grace", 0)
            self.api.mark_deleted(step["delete"], self._now + timedelta(seconds=grace), grace)
        elif "waitPhase" in step:
            self.api.bind(step["waitPhase"])
        elif "sleep" in step:
            self._now += timedelta(seconds=step["sleep"])
        elif "used" in step:
            self.steps.append((by_quota(self._case, step["used"]), self.used()))
