"""The objects that a policy consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from moorage.api.crd import GROUP, VERSION
from moorage.quota.coverage import ENFORCED

Document = dict[str, Any]

EXEMPT_NAMESPACES = ("kube-system", "moorage-system")
"""Namespaces that no policy touches, so that no quota can keep the cluster, or us, from running."""

_API_VERSION = "admissionregistration.k8s.io/v1"
_PARAM_KIND = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "NamespaceQuota"}
_PARAM_REF = {"selector": {}, "parameterNotFoundAction": "Allow"}
"""All NamespaceQuotas in the namespace of the request."""

_LONGEST_MESSAGE = 4000
"""In characters; the API server drops a message of more than 5 KiB."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests to the core API that a policy is about."""

    resources: tuple[str, ...]
    operations: tuple[str, ...]

    def document(self) -> Document:
        """Return it as the API has it."""
        return {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": list(self.operations),
            "resources": list(self.resources),
        }


def refusing_policy(
    name: str,
    *,
    rules: Iterable[Rule],
    condition: str,
    variables: Mapping[str, str],
    holds: str,
    complaints: str,
) -> tuple[Document, ...]:
    """Return a policy and its binding.

    For each quota of the namespace, what meets `condition` is refused unless `holds`; `complaints` is a list of texts.
    """
    message = f'["NamespaceQuota " + params.metadata.name + ": " + ({complaints}).join("; ")]'
    validation = {
        "expression": holds,
        "reason": "Forbidden",
        "message": "a NamespaceQuota of this namespace refuses it",
        "messageExpression": (
            f'{message}.map(t, size(t) > {_LONGEST_MESSAGE} ? t.substring(0, {_LONGEST_MESSAGE}) + " ..." : t)[0]'
        ),
    }
    return (
        _document(
            "ValidatingAdmissionPolicy", name, _spec(rules, condition, variables) | {"validations": [validation]}
        ),
        _document("ValidatingAdmissionPolicyBinding", name, _bound(name) | {"validationActions": ["Deny"]}),
    )


def plain_policy(name: str, *, rules: Iterable[Rule], condition: str, holds: str, message: str) -> tuple[Document, ...]:
    """Return a policy without parameters and its binding: in every namespace, `condition` demands that `holds`."""
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule.document() for rule in rules]},
        "matchConditions": [{"name": "concerned", "expression": condition}],
        "validations": [{"expression": holds, "reason": "Forbidden", "message": message}],
    }
    return (
        _document("ValidatingAdmissionPolicy", name, spec),
        _document("ValidatingAdmissionPolicyBinding", name, {"policyName": name, "validationActions": ["Deny"]}),
    )


def mutating_policy(
    name: str, *, rules: Iterable[Rule], condition: str, variables: Mapping[str, str], change: str
) -> tuple[Document, ...]:
    """Return a policy and its binding: for each quota of the namespace, what meets `condition` is changed."""
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}
    spec = _spec(rules, condition, variables) | {"reinvocationPolicy": "IfNeeded", "mutations": [mutation]}
    return (
        _document("MutatingAdmissionPolicy", name, spec),
        _document("MutatingAdmissionPolicyBinding", name, _bound(name)),
    )


def marking_policy(name: str, *, rules: Iterable[Rule], condition: str, label: str) -> tuple[Document, ...]:
    """Return a policy without parameters and its binding: what meets `condition` gets a label."""
    change = f'Object{{metadata: Object.metadata{{labels: {{"{label}": "true"}}}}}}'
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": _constraints(rules),
        "matchConditions": [{"name": "concerned", "expression": condition}],
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}],
    }
    return (
        _document("MutatingAdmissionPolicy", name, spec),
        _document("MutatingAdmissionPolicyBinding", name, {"policyName": name}),
    )


def demanding_policy(name: str, *, rules: Iterable[Rule], label: str, of_quotas: str) -> tuple[Document, ...]:
    """Return a policy and its binding: what has a label needs a quota in its namespace that has another one."""
    constraints = _constraints(rules) | {"objectSelector": {"matchLabels": {label: "true"}}}
    spec = {
        "failurePolicy": "Fail",
        "paramKind": dict(_PARAM_KIND),
        "matchConstraints": constraints,
        "validations": [{"expression": "true"}],
    }
    reference = {"selector": {"matchLabels": {of_quotas: "true"}}, "parameterNotFoundAction": "Deny"}
    bound = {"policyName": name, "paramRef": reference, "validationActions": ["Deny"]}
    return (
        _document("ValidatingAdmissionPolicy", name, spec),
        _document("ValidatingAdmissionPolicyBinding", name, bound),
    )


def _document(kind: str, name: str, spec: Document) -> Document:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _spec(rules: Iterable[Rule], condition: str, variables: Mapping[str, str]) -> Document:
    return {
        "failurePolicy": "Fail",
        "paramKind": dict(_PARAM_KIND),
        "matchConstraints": _constraints(rules, labelled=True),
        "matchConditions": [{"name": "concerned", "expression": condition}],
        "variables": [{"name": name, "expression": expression} for name, expression in variables.items()],
    }


def _bound(name: str) -> Document:
    return {"policyName": name, "paramRef": dict(_PARAM_REF)}


def _constraints(rules: Iterable[Rule], *, labelled: bool = False) -> Document:
    """Return what a policy is about; `labelled`: only in the namespaces that the operator has labelled."""
    where = [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(EXEMPT_NAMESPACES)}]
    if labelled:
        where.append({"key": ENFORCED, "operator": "In", "values": ["true"]})
    return {
        "namespaceSelector": {"matchExpressions": where},
        "resourceRules": [rule.document() for rule in rules],
    }
