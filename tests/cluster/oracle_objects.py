"""Services, claims for volumes and claims for devices: what counts in them besides their number."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.cluster.oracle_operations import NAMESPACE, Action, Names, Operation, create, delete, let_go, patch, uid_of
from tests.cluster.oracle_pod_life import PodLife
from tests.cluster.oracle_quotas import TOO_MUCH
from tests.cluster.rest import Object

MOST_HELD = 15
_HEADLESS, _EXTERNAL_NAME = "headless", "ExternalName"
_STORAGE = ("1Gi", "1500M", "1234567890123m", "3Gi", "4e9", "5Gi")


class Services:
    """Makes services of all types, and one type into another."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._names = Names()
        self._held: dict[str, str] = {}
        """By name, the type."""

    def actions(self) -> list[Action]:
        return [(9, self._create), (10, self._edit), (3, self._allocate), (1, self._create_again), (6, self._delete)]

    def _create(self) -> list[Operation]:
        if len(self._held) >= MOST_HELD:
            return []
        name = self._names.new("Service")
        spec = {"clusterIP": "None", "ports": self._ports()} if self._chance.random() < 0.15 else self._typed()
        if self._chance.random() < 0.3:
            spec["selector"] = {"app": "x"}
        self._held[name] = spec.get("type", _HEADLESS)
        return [create("Service", name, {"spec": spec})]

    def _edit(self) -> list[Operation]:
        if not self._held:
            return []
        name, type_ = self._chance.choice(list(self._held.items()))
        spec = {"ports": self._ports()} if type_ == _HEADLESS else self._typed()
        self._held[name] = spec.get("type", type_)
        return [patch("Service", name, {"spec": spec})]

    def _allocate(self) -> list[Operation]:
        """Have node ports allocated or not from now on; those that are allocated stay."""
        balancers = [name for name, type_ in self._held.items() if type_ == "LoadBalancer"]
        if not balancers:
            return []
        changes = {"spec": {"allocateLoadBalancerNodePorts": self._chance.choice((True, False))}}
        return [patch("Service", self._chance.choice(balancers), changes)]

    def _create_again(self) -> list[Operation]:
        if not self._held:
            return []
        name = self._chance.choice(list(self._held))
        return [create("Service", name, {"spec": {"ports": self._ports()}}, refused=409)]

    def _delete(self) -> list[Operation]:
        if not self._held:
            return []
        name = self._chance.choice(list(self._held))
        del self._held[name]
        return [delete("Service", name)]

    def _typed(self) -> Object:
        type_ = self._chance.choice(
            ("ClusterIP", "NodePort", "NodePort", "LoadBalancer", "LoadBalancer", _EXTERNAL_NAME)
        )
        allocates = self._chance.choice((None, False)) if type_ == "LoadBalancer" else None
        return {
            "type": type_,
            "externalName": "x.example.com" if type_ == _EXTERNAL_NAME else None,
            "allocateLoadBalancerNodePorts": allocates,
            "ports": self._ports(),
        }

    def _ports(self) -> list[Object]:
        return [{"name": f"p{n}", "port": 8000 + n} for n in range(self._chance.randint(1, 4))]


class VolumeClaims:
    """Makes claims of several classes; those that have a volume of their own are bound, and can be expanded."""

    def __init__(self, chance: Random, *, limited: bool) -> None:
        self._chance = chance
        self._limited = limited
        self._names = Names()
        self._held: dict[str, int | None] = {}
        """By name, what a bound one asks for as an index of `_STORAGE`."""
        self._kept: list[str] = []

    def actions(self) -> list[Action]:
        return [
            (8, self._create),
            (4, self._create_bound),
            (1 if self._limited else 0, self._create_too_large),
            (4, self._expand),
            (4, self._change_attributes),
            (4, self._report),
            (5, self._delete),
            (1, self._let_go),
        ]

    def _create(self) -> list[Operation]:
        if len(self._held) >= MOST_HELD:
            return []
        name = self._names.new("PersistentVolumeClaim")
        self._held[name] = None
        manifest: Object = {"spec": self._spec(self._chance.choice(_STORAGE))}
        match self._chance.choice(("gold", "tin", "", "annotated")):
            case "annotated":
                manifest["metadata"] = {"annotations": {"volume.beta.kubernetes.io/storage-class": "gold"}}
            case storage_class:
                manifest["spec"]["storageClassName"] = storage_class
        if (attributes_class := self._attributes_class()) is not None:
            manifest["spec"]["volumeAttributesClassName"] = attributes_class
        keep = self._chance.random() < 0.1
        if keep:
            self._kept.append(name)
        return [create("PersistentVolumeClaim", name, manifest, keep=keep)]

    def _create_bound(self) -> list[Operation]:
        if len(self._held) >= MOST_HELD:
            return []
        name = self._names.new("PersistentVolumeClaim")
        volume = f"{NAMESPACE}-{name}"
        self._held[name] = 0
        common = {"storageClassName": "gold", "accessModes": ["ReadWriteOnce"]}
        if (attributes_class := self._attributes_class()) is not None:
            common["volumeAttributesClassName"] = attributes_class
        source = {"csi": {"driver": "d.example.com", "volumeHandle": volume}}
        claimed = {"claimRef": {"namespace": NAMESPACE, "name": name}, "capacity": {"storage": _STORAGE[0]}}
        return [
            create("PersistentVolume", volume, {"spec": {**common, **source, **claimed}}),
            create(
                "PersistentVolumeClaim", name, {"spec": {**self._spec(_STORAGE[0]), **common, "volumeName": volume}}
            ),
        ]

    def _create_too_large(self) -> list[Operation]:
        name = self._names.new("PersistentVolumeClaim")
        return [create("PersistentVolumeClaim", name, {"spec": self._spec(TOO_MUCH)}, refused=403)]

    def _expand(self) -> list[Operation]:
        name, size = self._any_bound()
        if size is None or size + 1 == len(_STORAGE):
            return []
        self._held[name] = self._chance.randrange(size + 1, len(_STORAGE))
        changes = {"spec": {"resources": {"requests": {"storage": _STORAGE[self._held[name] or 0]}}}}
        return [patch("PersistentVolumeClaim", name, changes, bound=True)]

    def _change_attributes(self) -> list[Operation]:
        name, size = self._any_bound()
        if size is None:
            return []
        changes = {"spec": {"volumeAttributesClassName": self._chance.choice(("gold", "silver"))}}
        return [patch("PersistentVolumeClaim", name, changes, bound=True)]

    def _report(self) -> list[Operation]:
        """A driver says what it has given, or which class it is about to give."""
        name, size = self._any_bound()
        if size is None:
            return []
        target = {"status": "Pending", "targetVolumeAttributesClassName": self._chance.choice(("gold", "silver"))}
        status = self._chance.choice(
            (
                {"allocatedResources": {"storage": self._chance.choice(_STORAGE)}},
                {"modifyVolumeStatus": target},
                {"modifyVolumeStatus": None},
                {"currentVolumeAttributesClassName": self._chance.choice(("gold", "silver"))},
            )
        )
        return [patch("PersistentVolumeClaim", name, {"status": status}, sub="status", bound=True)]

    def _delete(self) -> list[Operation]:
        if not self._held:
            return []
        name = self._chance.choice(list(self._held))
        del self._held[name]
        return [delete("PersistentVolumeClaim", name)]

    def _let_go(self) -> list[Operation]:
        if not self._kept:
            return []
        return [let_go("PersistentVolumeClaim", self._kept.pop(0))]

    def _any_bound(self) -> tuple[str, int | None]:
        bound = [(name, size) for name, size in self._held.items() if size is not None]
        return self._chance.choice(bound) if bound else ("", None)

    def _attributes_class(self) -> str | None:
        return self._chance.choice((None, "gold", "silver"))

    def _spec(self, storage: str) -> Object:
        return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}


class DeviceClaims:
    """Makes claims for devices, some of them such as the scheduler makes for the extended resources of a pod."""

    def __init__(self, chance: Random, pods: PodLife) -> None:
        self._chance = chance
        self._pods = pods
        self._names = Names()
        self._held: list[str] = []

    def actions(self) -> list[Action]:
        return [(6, self._create), (3, self._create_for_pod), (4, self._delete)]

    def _create(self) -> list[Operation]:
        return self._create_with({})

    def _create_for_pod(self) -> list[Operation]:
        pod = self._pods.any()
        if pod is None:
            return []
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": uid_of(pod.name), "controller": True}
        annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
        return self._create_with({"ownerReferences": [owner], "annotations": annotations})

    def _create_with(self, metadata: Object) -> list[Operation]:
        if len(self._held) >= MOST_HELD:
            return []
        name = self._names.new("ResourceClaim")
        self._held.append(name)
        requests = [{"name": f"r{n}", **self._request()} for n in range(self._chance.randint(1, 3))]
        return [create("ResourceClaim", name, {"metadata": metadata, "spec": {"devices": {"requests": requests}}})]

    def _delete(self) -> list[Operation]:
        if not self._held:
            return []
        return [delete("ResourceClaim", self._held.pop(self._chance.randrange(len(self._held))))]

    def _request(self) -> Object:
        if self._chance.random() < 0.3:
            return {"firstAvailable": [{"name": f"a{n}", **self._devices()} for n in range(self._chance.randint(1, 3))]}
        return {"exactly": self._devices()}

    def _devices(self) -> Object:
        devices: dict[str, Any] = {
            "deviceClassName": self._chance.choice(("gpu.example.com", "nic.example.com", "ghost"))
        }
        match self._chance.randrange(4):
            case 0:
                devices["allocationMode"] = "All"
            case 1:
                pass
            case _:
                devices["count"] = self._chance.randint(1, 4)
        return devices
