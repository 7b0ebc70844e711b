"""Pods of all shapes: whatever decides what a pod counts for and which quotas look at it is left to chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.cluster.case_objects import absent_node
from tests.cluster.rest import Object

CPU = ("1m", "5m", "0.1", "250m", "333m", "1", "1500m", "2e0")
MEMORY = ("1M", "12345678", "16Mi", "0.05Gi", "64Mi", "1e8", "128974848000m", "256Mi")
_DISK = ("1Mi", "10M", "0.5Gi", "1Gi")
_HUGE = ("2Mi", "4Mi", "8Mi")
_DEVICES = ("example.com/gpu", "example.com/fpga", "deviceclass.resource.kubernetes.io/nic.example.com")
_AFFINITIES: tuple[Object, ...] = (
    {"namespaces": ["default"]},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"a": "b"}}},
    {"namespaces": []},
    {},
)
GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


@dataclass
class LivingPod:
    """What has to be known of a pod to do more to it."""

    name: str
    manifest: Object
    cpu_limits: dict[str, int | None] = field(default_factory=dict)
    """By container that can be resized, its CPU limit as an index of `CPU`; None where it has none."""
    quality: str = BURSTABLE
    finished: bool = False
    grace: int | None = None
    """Seconds of grace once it is being deleted."""

    @property
    def spec(self) -> Object:
        spec: Object = self.manifest["spec"]
        return spec

    @property
    def bound(self) -> bool:
        return "nodeName" in self.spec

    @property
    def containers(self) -> list[tuple[str, str]]:
        """Where in the spec each container is, and its name; ordinary init containers are left out."""
        return [("containers", each["name"]) for each in self.spec["containers"]] + [
            ("initContainers", each["name"]) for each in self.spec.get("initContainers", ()) if "restartPolicy" in each
        ]


class PodShapes:
    """Makes pods; `specified`: with what quotas of cpu and memory demand of every container that they admit."""

    def __init__(self, chance: Random, *, specified: bool) -> None:
        self._chance = chance
        self._specified = specified

    def new(self, name: str) -> LivingPod:
        pod = LivingPod(name, {"spec": {}})
        pod.quality = self._chance.choices((GUARANTEED, BURSTABLE, BEST_EFFORT), (2, 6, 2))[0]
        self._put_containers(pod)
        if pod.quality != BEST_EFFORT and self._often(0.25):
            pod.spec["resources"] = self._for_the_pod(len(pod.spec["containers"] + pod.spec.get("initContainers", [])))
        self._put_what_scopes_look_at(pod.spec)
        if self._often(0.3):
            pod.spec["nodeName"] = absent_node(self._chance)
        if self._often(0.2):
            pod.spec["runtimeClassName"] = "oracle-rc"
        return pod

    def amounts(self) -> Object:
        """What a kubelet may have given to a container, whatever that is of what was asked for."""
        given = {"cpu": self._chance.choice(CPU), "memory": self._chance.choice(MEMORY)}
        return {name: amount for name, amount in given.items() if self._often(0.8)}

    def _put_containers(self, pod: LivingPod) -> None:
        pod.spec["containers"] = [self._container(pod, f"app-{n}") for n in range(self._chance.choice((1, 1, 2, 3)))]
        init = []
        for number in range(self._chance.choice((0, 0, 1, 2, 3))):
            if self._often(0.5):
                init.append(self._container(pod, f"side-{number}") | {"restartPolicy": "Always"})
            else:
                init.append(self._container(pod, f"init-{number}", resizable=False))
        if init:
            pod.spec["initContainers"] = init

    def _container(self, pod: LivingPod, name: str, *, resizable: bool = True) -> Object:
        requests, limits = getattr(self, f"_{pod.quality.lower()}")(pod, name if resizable else "")
        if self._often(0.3):
            self._put_pair(requests, limits, "ephemeral-storage", _DISK)
        if self._often(0.25):
            limits[self._chance.choice(_DEVICES)] = self._chance.choice(("1", "2", "3"))
        if self._often(0.15) and "memory" in requests:
            limits["hugepages-2Mi"] = self._chance.choice(_HUGE)
        return {"name": name, "resources": {"requests": requests, "limits": limits}}

    def _guaranteed(self, pod: LivingPod, resized: str) -> tuple[Object, Object]:
        cpu = self._chance.randrange(len(CPU))
        limits = {"cpu": CPU[cpu], "memory": self._chance.choice(MEMORY)}
        if resized:
            pod.cpu_limits[resized] = cpu
        return dict(limits), limits

    def _burstable(self, pod: LivingPod, resized: str) -> tuple[Object, Object]:
        requests: Object = {}
        limits: Object = {}
        # What ordinary init containers ask for is lost in the sum of the others, unless it is much.
        some = slice(None) if resized else slice(4, None)
        _, most = self._put_pair(requests, limits, "cpu", CPU[some])
        # Less memory is asked for than allowed, so that no CPU makes the pod Guaranteed.
        self._put_pair(requests, limits, "memory", MEMORY[some], strictly=True)
        if not self._specified:
            for each, name in ((limits, "cpu"), (limits, "memory"), (requests, "cpu")):
                if self._often(0.3):
                    del each[name]
        if resized and "cpu" in requests:
            pod.cpu_limits[resized] = most if "cpu" in limits else None
        return requests, limits

    def _besteffort(self, pod: LivingPod, resized: str) -> tuple[Object, Object]:
        nothing = {"cpu": "0", "memory": "0"}
        return (dict(nothing), dict(nothing)) if self._specified else ({}, {})

    def _put_pair(
        self, requests: Object, limits: Object, name: str, amounts: Sequence[str], *, strictly: bool = False
    ) -> tuple[int, int]:
        """Ask for no more than is allowed; return both as indexes."""
        low = self._chance.randrange(len(amounts) - strictly)
        high = self._chance.randrange(low + strictly, len(amounts))
        requests[name], limits[name] = amounts[low], amounts[high]
        return low, high

    def _for_the_pod(self, containers: int) -> Object:
        """Amounts for the pod as a whole: they may not be less than those of its containers."""
        requests: Object = {"cpu": str(2 * containers)}
        limits: Object = {}
        if self._often(0.5):
            limits["cpu"] = str(3 * containers)
        if self._often(0.5):
            limits["memory"] = f"{256 * containers}Mi"
        if self._often(0.3):
            requests["memory"] = f"{256 * containers}Mi"
        if self._often(0.3):
            limits["hugepages-2Mi"] = f"{8 * containers}Mi"
        return {"requests": requests, "limits": limits}

    def _put_what_scopes_look_at(self, spec: Object) -> None:
        if self._often(0.3):
            spec["activeDeadlineSeconds"] = 3600
        if self._often(0.6):
            spec["priorityClassName"] = self._chance.choice(("low", "mid", "high"))
        if self._often(0.25):
            term = {"topologyKey": "k", "labelSelector": {}, **self._chance.choice(_AFFINITIES)}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
            kind = self._chance.choice(("podAffinity", "podAntiAffinity"))
            spec["affinity"] = {kind: self._chance.choice((required, preferred))}

    def _often(self, share: float) -> bool:
        return self._chance.random() < share
