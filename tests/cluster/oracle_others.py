"""Objects of which only the number counts: built-in ones of many kinds, and custom ones."""

from __future__ import annotations

from random import Random

from tests.cluster.oracle_operations import Action, Names, Operation, create, delete, let_go, patch
from tests.cluster.rest import Object

MOST_HELD = 25

_APP = {"matchLabels": {"app": "x"}}
_TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c"}]}}
_JOB = {"suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}}
_NONE = {"replicas": 0, "selector": _APP, "template": _TEMPLATE}

MANIFESTS: dict[str, Object] = {
    "ConfigMap": {"data": {"k": "v"}},
    "Secret": {"stringData": {"k": "v"}},
    "ServiceAccount": {},
    "ReplicationController": {"spec": _NONE | {"selector": _APP["matchLabels"]}},
    "PodTemplate": {"template": _TEMPLATE},
    "Deployment": {"spec": _NONE},
    "StatefulSet": {"spec": _NONE | {"serviceName": "x"}},
    "Job": {"spec": _JOB},
    "CronJob": {"spec": {"suspend": True, "schedule": "0 0 1 1 *", "jobTemplate": {"spec": _JOB}}},
    "Lease": {"spec": {}},
    "Role": {"rules": []},
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": _APP}},
    "ResourceClaimTemplate": {
        "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "nic.example.com"}}]}}}
    },
    "Widget": {"spec": {"size": 3}},
}
"""What of each kind is made. None of them makes pods."""

RESOURCES = {
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "ReplicationController": "replicationcontrollers",
    "PodTemplate": "podtemplates",
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "Job": "jobs.batch",
    "CronJob": "cronjobs.batch",
    "Lease": "leases.coordination.k8s.io",
    "Role": "roles.rbac.authorization.k8s.io",
    "NetworkPolicy": "networkpolicies.networking.k8s.io",
    "Ingress": "ingresses.networking.k8s.io",
    "PodDisruptionBudget": "poddisruptionbudgets.policy",
    "ResourceClaimTemplate": "resourceclaimtemplates.resource.k8s.io",
    "Widget": "widgets.example.com",
}
"""What `count/` is followed by for each kind."""


class Others:
    """Makes and deletes them."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._names = Names()
        self._held: dict[str, str] = {}
        """By name, the kind."""
        self._kept: dict[str, str] = {}
        """Those that a finalizer keeps."""

    def actions(self) -> list[Action]:
        return [
            (12, self._create),
            (1, self._create_again),
            (2, self._touch),
            (10, self._delete),
            (2, self._let_go),
        ]

    def _create(self) -> list[Operation]:
        if len(self._held) + len(self._kept) >= MOST_HELD:
            return []
        kind = self._chance.choice(list(MANIFESTS))
        name = self._names.new(kind)
        self._held[name] = kind
        keep = self._chance.random() < 0.1
        if keep:
            self._kept[name] = kind
        return [create(kind, name, MANIFESTS[kind], keep=keep)]

    def _create_again(self) -> list[Operation]:
        """What exists already is refused, and charged by the native quota all the same."""
        if not self._held:
            return []
        name, kind = self._chance.choice(list(self._held.items()))
        return [create(kind, name, MANIFESTS[kind], refused=409)]

    def _touch(self) -> list[Operation]:
        if not self._held:
            return []
        name, kind = self._chance.choice(list(self._held.items()))
        return [patch(kind, name, {"metadata": {"annotations": {"touched": str(self._chance.random())}}})]

    def _delete(self) -> list[Operation]:
        if not self._held:
            return []
        name = self._chance.choice(list(self._held))
        return [delete(self._held.pop(name), name)]

    def _let_go(self) -> list[Operation]:
        if not self._kept:
            return []
        name = self._chance.choice(list(self._kept))
        return [let_go(self._kept.pop(name), name)]
