"""Pods of every shape: what our rules say of them is what the API server does, with all that enforces quotas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from moorage.quantity import parse_nano
from moorage.quota.verdict import Step
from tests.cluster.enforcing import enforced_quota
from tests.cluster.native import new_namespace, remove_namespace
from tests.cluster.objects import wait_for_condition
from tests.cluster.policies import DEFAULTED, judged, pod_of
from tests.cluster.rest import Rest
from tests.controlplane.cluster import Cluster
from tests.operator_process import OperatorProcess
from tests.pod_shapes import COUNT, HELD, QUOTAS, SHAPES, TOTAL, Object, Shape
from tests.shape_verdicts import predicted

Resources = dict[str, dict[str, dict[str, int]]]
"""By container, `requests` or `limits`, resource: nano-units."""


@pytest.fixture(scope="module")
def namespaces(policies: Cluster, rest: Rest, operator: OperatorProcess) -> Iterator[dict[str, str]]:
    """A namespace for each set of quotas, with these in force and with the pod that is there before."""
    made = {name: new_namespace(rest) for name in QUOTAS}
    for name, namespace in made.items():
        if name in HELD:
            rest.create(namespace, pod_of({**HELD[name], "schedulerName": "nobody"})).require()
        for quota, spec in QUOTAS[name].items():
            rest.create(namespace, enforced_quota(quota, spec)).require()
    for name, namespace in made.items():
        for quota, spec in QUOTAS[name].items():
            if spec.get("enforcement") != "Audit":
                wait_for_condition(policies, namespace, f"nsq/{quota}", "Enforced", "True", "Proved", timeout=60)
    yield made
    for namespace in made.values():
        remove_namespace(rest, namespace)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_api_server_does_what_the_rules_say(rest: Rest, namespaces: dict[str, str], shape: Shape) -> None:
    verdict = predicted(shape)
    answer = judged(rest, namespaces[shape.quotas], shape.spec)
    assert answer.ok == verdict.admitted, answer.message
    if answer.ok:
        stored: Any = answer.body
        assert resources(stored["spec"]) == resources(msgspec.to_builtins(verdict.spec))
        assert (DEFAULTED in stored["metadata"].get("annotations", {})) == bool(verdict.defaulted)
        return
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    if verdict.failures[0].step in (COUNT, TOTAL):
        assert re.search(r"exceeded quota: moorage(\.others)?-team, requested: ", answer.message), answer.message
    else:  # one policy for one quota says all that it has against the pod
        said = [each for each in verdict.failures if each.step in (Step.SPECIFY, Step.BOUNDS)]
        speaker = [each for each in said if f"NamespaceQuota {each.quota}: " in answer.message]
        assert len(sentences(answer.message)) == len(speaker) > 0, answer.message


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
