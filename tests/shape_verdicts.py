"""What our own rules say of the pods in `pod_shapes`."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.api import parse_namespace_quota_spec
from moorage.objects import Pod
from moorage.quantity import parse_nano
from moorage.quota.admission import QuotaState, Verdict, judge_pod
from moorage.quota.counting import pod_amounts
from moorage.quota.names import counted
from moorage.quota.scopes import scope_facts, selects
from moorage.resources import with_defaults
from moorage.status.namespacequota import QuotaRules, quota_rules
from tests.pod_shapes import HELD, QUOTAS, Object, Shape


def pod_object(spec: Object) -> Pod:
    return msgspec.convert({"metadata": {"name": "pod"}, "spec": spec}, Pod)


def predicted(shape: Shape) -> Verdict:
    """Judge a pod with the quotas of its namespace, of which the pod that is there before uses some."""
    states = []
    for name, spec in QUOTAS[shape.quotas].items():
        rules = quota_rules(parse_namespace_quota_spec(spec))
        states.append(
            QuotaState(
                name=name,
                hard=rules.hard,
                used=used(shape, rules),
                requirements=rules.terms.requirements,
                limits=rules.limits,
                is_enforced=rules.is_enforced,
            )
        )
    return judge_pod(pod_object(shape.spec), states)


def used(shape: Shape, rules: QuotaRules) -> dict[str, int]:
    """What a quota says is used by the pod that is there before."""
    amounts: dict[str, int] = {}
    if shape.quotas in HELD:
        sent = pod_object(HELD[shape.quotas])
        held = msgspec.structs.replace(sent, spec=with_defaults(sent.spec))
        if selects(rules.terms.requirements, scope_facts(held.spec)):
            amounts = pod_amounts(held)
    return {name: amounts.get(what.source, 0) for name in rules.hard if (what := counted(name)) is not None}


def numbers(amounts: Any) -> Any:
    """Return amounts, at any depth, as numbers that can be compared."""
    return {name: numbers(each) if isinstance(each, dict) else parse_nano(str(each)) for name, each in amounts.items()}
