"""Pods of every shape: what we say becomes of them is what the API server does with the policies in force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from moorage.api import parse_namespace_quota_spec
from moorage.objects import Pod
from moorage.quantity import parse_nano
from moorage.quota.admission import QuotaState, Verdict, judge_pod
from moorage.status.namespacequota import quota_rules
from tests.cluster.enforcing import enforced_quota
from tests.cluster.native import new_namespace, remove_namespace
from tests.cluster.pod_shapes import QUOTAS, SHAPES, Object, Shape
from tests.cluster.policies import DEFAULTED, judged, pod_of, wait_until_in_force
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster

Resources = dict[str, dict[str, dict[str, int]]]
"""By container, `requests` or `limits`, resource: nano-units."""


@pytest.fixture(scope="module")
def namespaces(policies: Cluster, rest: Rest) -> Iterator[dict[str, str]]:
    """A namespace for each set of quotas, with these known to the policies."""
    made = {name: new_namespace(rest) for name in QUOTAS}
    for name, namespace in made.items():
        for quota, spec in QUOTAS[name].items():
            rest.create(namespace, enforced_quota(quota, spec)).require()
    for name, namespace in made.items():
        wait_until_in_force(rest, namespace, QUOTAS[name])
    yield made
    for namespace in made.values():
        remove_namespace(rest, namespace)


def predicted(shape: Shape) -> Verdict:
    """What the pure rules say, with nothing used yet."""
    states = []
    for name, spec in QUOTAS[shape.quotas].items():
        rules = quota_rules(parse_namespace_quota_spec(spec))
        states.append(
            QuotaState(
                name=name,
                hard=rules.hard,
                used=dict.fromkeys(rules.hard, 0),
                requirements=rules.terms.requirements,
                limits=rules.limits,
                is_enforced=rules.is_enforced,
            )
        )
    return judge_pod(msgspec.convert(pod_of(shape.spec), Pod), states)


def resources(spec: Object) -> Resources:
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    return {
        each["name"]: {
            side: {name: parse_nano(str(text)) for name, text in (each.get("resources", {}).get(side) or {}).items()}
            for side in ("requests", "limits")
        }
        for each in containers
    }


def sentences(message: str) -> set[str]:
    """The parts of a refusal's text, after the name of the quota that speaks."""
    return set(message.split(": NamespaceQuota ", 1)[1].split(": ", 1)[1].split("; "))


def test_there_are_enough_shapes() -> None:
    assert len(SHAPES) == len({shape.id for shape in SHAPES}) >= 60
    assert {shape.quotas for shape in SHAPES} == set(QUOTAS)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_rules_say_what_the_table_says(shape: Shape) -> None:
    verdict = predicted(shape)
    assert tuple(dict.fromkeys(each.step for each in verdict.failures)) == shape.refused_by
    filled = {
        name: {side: given for side in ("requests", "limits") if (given := dict(each.given(side)))}
        for name, each in verdict.defaulted.items()
    }
    assert numbers(filled) == numbers(shape.filled_in)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_api_server_does_what_the_rules_say(rest: Rest, namespaces: dict[str, str], shape: Shape) -> None:
    verdict = predicted(shape)
    answer = judged(rest, namespaces[shape.quotas], shape.spec)
    assert answer.ok == verdict.admitted, answer.message
    if answer.ok:
        stored: Any = answer.body
        assert resources(stored["spec"]) == resources(msgspec.to_builtins(verdict.spec))
        assert (DEFAULTED in stored["metadata"].get("annotations", {})) == bool(verdict.defaulted)
    else:
        assert answer.code == 403
        assert answer.body["reason"] == "Forbidden"
        assert len(sentences(answer.message)) == len(
            [each for each in verdict.failures if f"NamespaceQuota {each.quota}:" in answer.message]
        )


def numbers(amounts: Any) -> Any:
    """Amounts compared by number."""
    return {name: numbers(each) if isinstance(each, dict) else parse_nano(str(each)) for name, each in amounts.items()}
