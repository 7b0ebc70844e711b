"""Plays the cases of quota-cases.yaml without a cluster: what the API server would store, and what Moorage counts.

Only pods and quotas are kept. What admission would refuse is not decided here: the case's own verdict is taken.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import yaml

from moorage.api.namespacequota import NamespaceQuotaSpec
from moorage.objects import Pod
from moorage.quota.counting import pod_use
from moorage.quota.ledger import Ledger
from moorage.quota.report import QuotaReport, report
from moorage.quota.usage import Shapes
from moorage.resources import with_defaults
from moorage.status.namespacequota import QuotaRules, quota_rules

Case = dict[str, Any]
Used = dict[str, dict[str, str]]
"""By quota and resource name, quantities as the native status shows them."""

_FILE = yaml.safe_load((Path(__file__).parents[1] / "data" / "quota-cases.yaml").read_text())
CASES: dict[str, Case] = {case["id"]: case for case in _FILE["cases"]}

_NAMESPACE = "ns"
_START = datetime(2030, 1, 1, tzinfo=UTC)


def by_quota(case: Case, used: dict[str, Any]) -> Used:
    """Return expected usage by quota; a case with one quota calls it q and leaves the name out."""
    return used if "quotas" in case else {"q": used}


def expected(case: Case) -> Used:
    """Return what the native status shows at the end, after a recount."""
    return by_quota(case, case["expect"].get("used", {}))


class Play:
    """One case on its way from start to end."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._now = _START
        self._shapes, self._ledger = Shapes(), Ledger()
        self._pods: dict[str, Pod] = {}
        self._quotas: dict[str, dict[str, Any]] = {}
        self.steps: list[tuple[Used, Used]] = []
        """For each look at the status on the way: what the native one showed, and what Moorage counts."""
        if case.get("order") == "objects-first":
            self._create_objects()
            self._create_quotas()
        else:
            self._create_quotas()
            self._create_objects()
        for step in case.get("steps", ()):
            self._step(step)

    def reports(self) -> dict[str, QuotaReport]:
        """Return what Moorage says of each quota now."""
        self._ledger.release_due(self._now.timestamp())
        return {name: report(self.rules(name).hard, self._ledger.usage(_NAMESPACE, name).used) for name in self._quotas}

    def used(self) -> Used:
        """Return what Moorage counts in each quota now."""
        return {name: each.used for name, each in self.reports().items()}

    def rules(self, quota: str) -> QuotaRules:
        """Return the rules that a quota's spec states."""
        return quota_rules(msgspec.convert(self._quotas[quota], NamespaceQuotaSpec))

    def _create_objects(self) -> None:
        for manifest in self._case.get("objects", ()):
            self._create(manifest)

    def _create_quotas(self) -> None:
        quotas = self._case.get("quotas") or ({"q": self._case["quota"]} if "quota" in self._case else {})
        for name, spec in quotas.items():
            self._set_quota(name, spec)

    def _create(self, manifest: dict[str, Any]) -> None:
        if manifest["kind"] == "Pod":
            self._store(_admitted(manifest, self._case.get("cluster", ())))
        elif manifest["kind"] == "ResourceQuota":
            self._set_quota(manifest["metadata"]["name"], manifest["spec"])

    def _store(self, pod: Pod) -> None:
        self._pods[pod.metadata.name] = pod
        self._ledger.put(pod_use(pod, self._shapes))

    def _set_quota(self, name: str, spec: dict[str, Any]) -> None:
        self._quotas[name] = spec
        self._ledger.set_quota(_NAMESPACE, name, self.rules(name).terms)

    def _step(self, step: dict[str, Any]) -> None:
        if step.get("verdict") == "denied":
            return
        if "create" in step:
            self._create(step["create"])
        elif "patch" in step:
            kind, _, name = step["patch"].partition("/")
            self._patch(kind, name, step["with"], lists_by_name=step.get("type") == "strategic")
        elif "delete" in step:
            kind, _, name = step["delete"].partition("/")
            if kind == "Pod":
                self._mark_deleted(name, step["grace"])
        elif "sleep" in step:
            self._now += timedelta(seconds=step["sleep"])
        elif "used" in step:
            self.steps.append((by_quota(self._case, step["used"]), self.used()))

    def _patch(self, kind: str, name: str, patch: dict[str, Any], *, lists_by_name: bool) -> None:
        if kind == "Pod":
            merged = _merged(msgspec.to_builtins(self._pods[name]), patch, lists_by_name=lists_by_name)
            self._store(msgspec.convert(merged, Pod))
        elif kind == "ResourceQuota":
            self._set_quota(name, _merged(self._quotas[name], patch["spec"], lists_by_name=False))

    def _mark_deleted(self, name: str, grace: int) -> None:
        pod = self._pods[name]
        meta = msgspec.structs.replace(
            pod.metadata,
            deletion_timestamp=self._now + timedelta(seconds=grace),
            deletion_grace_period_seconds=grace,
        )
        self._store(msgspec.structs.replace(pod, metadata=meta))


def _admitted(manifest: dict[str, Any], cluster: list[dict[str, Any]]) -> Pod:
    """Return a pod as the API server stores it: overhead of its RuntimeClass, the default PriorityClass, defaults."""
    pod = msgspec.convert(manifest, Pod)
    spec = pod.spec
    runtime_class = manifest["spec"].get("runtimeClassName")
    if runtime_class is not None:
        (found,) = (each for each in _FILE["prerequisites"] if each["metadata"]["name"] == runtime_class)
        spec = msgspec.structs.replace(spec, overhead=found["overhead"]["podFixed"])
    if spec.priority_class_name is None:
        default = next((each["metadata"]["name"] for each in cluster if each.get("globalDefault")), None)
        spec = msgspec.structs.replace(spec, priority_class_name=default)
    meta = msgspec.structs.replace(pod.metadata, namespace=_NAMESPACE, uid=pod.metadata.name)
    return msgspec.structs.replace(pod, metadata=meta, spec=with_defaults(spec))


def _merged(value: Any, patch: Any, *, lists_by_name: bool) -> Any:
    """Apply a merge patch; a strategic one merges lists of named entries."""
    if isinstance(value, dict) and isinstance(patch, dict):
        return value | {key: _merged(value.get(key), new, lists_by_name=lists_by_name) for key, new in patch.items()}
    if lists_by_name and isinstance(value, list) and isinstance(patch, list):
        patches = {each["name"]: each for each in patch}
        return [_merged(each, patches.get(each["name"], {}), lists_by_name=True) for each in value]
    return patch
