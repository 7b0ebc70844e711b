"""Pods and claims that break a quota on purpose: as dry runs they tell whether its policies are in force.

The policies refuse every probe of theirs and say what they see, so nothing that comes later need admit it, such as
totals. Probes meet the Pod Security profile `restricted`, which is judged before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from moorage.admission.policies import claims, defaults, pods
from moorage.admission.policies.cel import PROBE
from moorage.objects import Pod, VolumeClaim
from moorage.quantity import NANO, QuantityError, canonical, parse_nano
from moorage.quota.admission import QuotaState, judge_claim, judge_pod
from moorage.quota.bounds import CONTAINER, POD, VOLUME_CLAIM, Limits
from moorage.quota.names import is_binary, is_extended
from moorage.quota.verdict import Failure, Step

_HUGEPAGES = "hugepages-"
_MUST_SPECIFY = "must specify"
_SILENT = "silent"
"""The container that gives no amount."""

_SECURE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_BOUND = re.compile(
    r"(minimum|maximum ratio of limit to request of|maximum) (\S+) per (\w+) is (\S+), but (\S+) ?(\S*)"
)
_MUST = re.compile(r"must specify (\S+) for")
_LATER = re.compile(r"(exceeded|failed) quota: |status unknown for quota: ")
"""What quotas of the API server say, which come after all policies."""
_SAID = "NamespaceQuota {}: "
_LIMIT_RANGER = "LimitRanger"
"""In an answer: a LimitRange gave amounts before our policies could."""

Saying = tuple[str, ...]
"""One reason to refuse, as texts: the rule and the resource; of a bound also type, amount (canonical) and container."""


@dataclass(frozen=True, slots=True)
class Probe:
    """An object that is to be refused, and how."""

    plural: str
    body: Mapping[str, Any]
    policy: str
    quota: str
    expected: frozenset[Saying]
    """What speaks against it."""
    filled_in: frozenset[str]
    """What our policy gives the silent container, such as `requests.cpu=200m` (canonical)."""
    is_ranged: bool = False
    """Whether a LimitRange has to give it something."""

    def why_not_proved(self, answer: str) -> str:
        """Return in what a refusal is not what the spec asks for; empty: it is."""
        _, found, said = answer.partition(_SAID.format(self.quota))
        if _LATER.search(answer):
            return f"policy {self.policy} is not in force: its probe got as far as {answer}"
        if not found or f"'{self.policy}'" not in answer:
            return f"something else refused the probe of policy {self.policy}: {answer}"
        is_ranged = _LIMIT_RANGER in said
        if self.is_ranged and not is_ranged:
            return "no LimitRange fills in defaults yet"
        expected = {each for each in self.expected if not (is_ranged and each[0] == _MUST_SPECIFY)}
        if missing := expected - set(_sayings(said)):
            return f"policy {self.policy} does not yet say: {'; '.join(' '.join(each) for each in sorted(missing))}"
        given = _given(said) if not is_ranged else self.filled_in
        if not_given := self.filled_in - given:
            return f"policy {defaults.NAME} does not yet fill in {', '.join(sorted(not_given))}"
        if too_much := given - self.filled_in:
            return f"policy {defaults.NAME} still fills in {', '.join(sorted(too_much))}"
        return ""


def probes(quota: QuotaState, *, fills_in: bool = True) -> list[Probe]:
    """Return what proves the policies of a quota; nothing when no policy has anything to do for it.

    `fills_in` False: defaults are given by a LimitRange, not by our policy.
    """
    found = [_pod_probe(quota, amounts, fills_in=fills_in) for amounts in _pod_amounts(quota)]
    for entry in quota.limits:
        if entry.type == VOLUME_CLAIM:
            found += [_claim_probe(quota, amount) for amount in _claim_amounts(entry)]
    return found


# Pods


def _pod_amounts(quota: QuotaState) -> Iterator[Mapping[str, int]]:
    """Yield the amounts of the container that is to break bounds: above every maximum, then below every minimum."""
    entries = [each for each in quota.limits if each.type in (CONTAINER, POD)]
    highest: dict[str, int] = {}
    for entry in entries:
        for name, amount in entry.max.items():
            highest[name] = max(amount, highest.get(name, 0))
    high = {name: above for name, amount in highest.items() if (above := _above(name, amount)) is not None}
    low = {name: 0 for each in entries for name in (*each.min, *each.max_limit_request_ratio) if _is_possible(name)}
    if high:
        yield high
    if low:
        yield low
    if not (high or low) and (entries or _demands(quota)):
        yield {}


def _demands(quota: QuotaState) -> bool:
    """Whether the quota demands amounts of containers."""
    return any(each.step is Step.SPECIFY for each in judge_pod(_silent_pod(), [quota]).failures)


def _silent_pod() -> Pod:
    return msgspec.convert({"spec": {"containers": [{"name": _SILENT}]}}, Pod)


def _above(name: str, amount: int) -> int | None:
    """Return an amount above a maximum that a pod may ask for; None when there is none."""
    if not _is_possible(name):
        return None
    if name.startswith(_HUGEPAGES):
        page = parse_nano(name.removeprefix(_HUGEPAGES))
        return (amount // page + 1) * page
    return (amount // NANO + 1) * NANO


def _is_possible(name: str) -> bool:
    """Whether a pod may ask for a resource of this name."""
    if not name.startswith(_HUGEPAGES):
        return "/" not in name or is_extended(name) or name.startswith("kubernetes.io/")
    try:
        return parse_nano(name.removeprefix(_HUGEPAGES)) > 0
    except QuantityError:
        return False


def _pod_probe(quota: QuotaState, given: Mapping[str, int], *, fills_in: bool) -> Probe:
    texts = {name: canonical(amount, binary=is_binary(name)) for name, amount in given.items()}
    if any(name.startswith(_HUGEPAGES) for name in texts):
        texts.setdefault("cpu", "1")
    breaking = [_container("breaking", {"requests": texts, "limits": texts})] if texts else []
    spec = {
        "containers": [*breaking, _container(_SILENT, {})],
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
    }
    body = _object("v1", "Pod", quota.name, spec)
    failures = judge_pod(msgspec.convert(body, Pod), [replace(quota, used={})]).failures
    # What else is admitted before may give the silent container amounts, but not change the other's.
    certain = [each for each in failures if each.step is Step.SPECIFY or each.where != _SILENT]
    given_to_silent = _defaults(quota)
    return Probe(
        "pods",
        body,
        pods.NAME,
        quota.name,
        _expected(certain),
        filled_in=given_to_silent if fills_in else frozenset(),
        is_ranged=bool(given_to_silent) and not fills_in,
    )


def _container(name: str, resources: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "image": "moorage.invalid/probe", "resources": resources, "securityContext": _SECURE}


def _defaults(quota: QuotaState) -> frozenset[str]:
    entries = [each for each in quota.limits if each.type == CONTAINER]
    return frozenset(
        f"{side}.{name}={canonical(amount)}"
        for entry in entries
        for side, amounts in (("requests", entry.default_request), ("limits", entry.default))
        for name, amount in amounts.items()
    )


# Claims


def _claim_amounts(entry: Limits) -> Iterator[int]:
    if "storage" in entry.max:
        yield (entry.max["storage"] // NANO + 1) * NANO
    least = entry.min.get("storage", 0)
    if least > NANO:
        yield NANO  # a claim must ask for more than nothing


def _claim_probe(quota: QuotaState, amount: int) -> Probe:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": canonical(amount, binary=True)}}}
    body = _object("v1", "PersistentVolumeClaim", quota.name, spec)
    failures = judge_claim(msgspec.convert(body, VolumeClaim), [replace(quota, used={})]).failures
    return Probe("persistentvolumeclaims", body, claims.NAME, quota.name, _expected(failures), frozenset())


# What is said


def _object(version: str, kind: str, quota: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"generateName": "moorage-probe-", "annotations": {PROBE: quota}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _expected(failures: Iterable[Failure]) -> frozenset[Saying]:
    return frozenset(saying for each in failures for saying in _sayings(each.message))


def _sayings(text: str) -> Iterator[Saying]:
    for rule, resource, of_type, amount, what, name in _BOUND.findall(text):
        yield rule, resource, of_type, _canonical(amount), name if what == "container" else ""
    for name in _MUST.findall(text):
        yield _MUST_SPECIFY, name


def _given(text: str) -> set[str]:
    """Return what an answer says that the silent container was given."""
    found = set()
    for part in text.partition("filled in: ")[2].partition(";")[0].split(", "):
        name, *amounts = part.rpartition(": ")[2].split(" ")
        if name == _SILENT:
            found |= {f"{key}={_canonical(amount)}" for key, _, amount in (each.partition("=") for each in amounts)}
    return found


def _canonical(text: str) -> str:
    try:
        return canonical(parse_nano(text))
    except QuantityError:
        return text
