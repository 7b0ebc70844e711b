"""What happens to pods: they are made, run, are resized, end, are deleted and kept; a kubelet's part is played too."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.cluster.oracle_operations import FINALIZER, Action, Names, Operation, create, delete, let_go, patch
from tests.cluster.oracle_pods import CPU, GUARANTEED, LivingPod, PodShapes
from tests.cluster.oracle_quotas import TOO_MUCH
from tests.cluster.rest import STRATEGIC

MOST_HELD = 30


class PodLife:
    """Does something to the pods of a namespace."""

    def __init__(self, chance: Random, *, specified: bool) -> None:
        self._chance = chance
        self._specified = specified
        self._shapes = PodShapes(chance, specified=specified)
        self._names = Names()
        self._pods: dict[str, LivingPod] = {}

    def actions(self) -> list[Action]:
        return [
            (24, self._create),
            (2, self._create_again),
            (2 if self._specified else 0, self._create_too_large),
            (14, self._change_phase),
            (3, self._give_deadline),
            (9, self._resize),
            (9, self._report_resources),
            (14, self._delete),
            (4, self._delete_by_force),
            (3, self._let_go),
        ]

    def any(self, holds: Callable[[LivingPod], bool] = lambda _: True) -> LivingPod | None:
        """Return some pod that is there for sure."""
        found = [pod for pod in self._pods.values() if pod.grace is None and holds(pod)]
        return self._chance.choice(found) if found else None

    def _create(self) -> list[Operation]:
        if len(self._pods) >= MOST_HELD:
            return []
        pod = self._shapes.new(self._names.new("Pod"))
        self._pods[pod.name] = pod
        if self._chance.random() < 0.1:
            pod.manifest["metadata"] = {"finalizers": [FINALIZER]}
        return [create("Pod", pod.name, pod.manifest)]

    def _create_again(self) -> list[Operation]:
        """What exists already is refused, and charged by the native quota all the same."""
        pod = self.any(lambda pod: not pod.bound)
        return [] if pod is None else [create("Pod", pod.name, pod.manifest, refused=409)]

    def _create_too_large(self) -> list[Operation]:
        pod = self._shapes.new(self._names.new("Pod"))
        for each in ("requests", "limits"):
            pod.spec["containers"][0]["resources"][each]["memory"] = TOO_MUCH
        pod.spec.pop("resources", None)
        return [create("Pod", pod.name, pod.manifest, refused=403)]

    def _change_phase(self) -> list[Operation]:
        pod = self.any()
        if pod is None:
            return []
        phase = self._chance.choice(("Pending", "Running", "Unknown", "Succeeded", "Failed", "Succeeded", "Failed"))
        pod.finished = phase in ("Succeeded", "Failed")
        return [self._patch_status(pod, {"phase": phase})]

    def _give_deadline(self) -> list[Operation]:
        """It goes from the quotas of pods without a deadline to those of pods with one."""
        pod = self.any(lambda pod: "activeDeadlineSeconds" not in pod.spec)
        if pod is None:
            return []
        pod.spec["activeDeadlineSeconds"] = 3600
        return [patch("Pod", pod.name, {"spec": {"activeDeadlineSeconds": 3600}})]

    def _resize(self) -> list[Operation]:
        pod = self.any(lambda pod: bool(pod.cpu_limits) and not pod.finished and not pod.bound)
        if pod is None:
            return []
        name, most = self._chance.choice(list(pod.cpu_limits.items()))
        (place,) = (place for place, each in pod.containers if each == name)
        if pod.quality == GUARANTEED:
            cpu = self._chance.choice(CPU)
            resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
        else:
            resources = {"requests": {"cpu": self._chance.choice(CPU[: None if most is None else most + 1])}}
        changes = {"spec": {place: [{"name": name, "resources": resources}]}}
        return [patch("Pod", pod.name, changes, sub="resize", how=STRATEGIC)]

    def _report_resources(self) -> list[Operation]:
        """A kubelet says what it has given to containers, and of the rest that it is not to be had now, or ever."""
        pod = self.any()
        if pod is None:
            return []
        status: dict[str, Any] = {"containerStatuses": [], "initContainerStatuses": []}
        for place, name in pod.containers:
            if self._chance.random() < 0.7:
                given = {"requests": self._shapes.amounts(), "limits": self._shapes.amounts()}
                each: dict[str, Any] = {"name": name, "allocatedResources": self._shapes.amounts()}
                if self._chance.random() < 0.8:
                    each["resources"] = given
                status["containerStatuses" if place == "containers" else "initContainerStatuses"].append(each)
        reason = self._chance.choice(("Infeasible", "Deferred", ""))
        pending = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
        return [self._patch_status(pod, {**status, "conditions": pending})]

    def _delete(self) -> list[Operation]:
        pod = self.any()
        if pod is None:
            return []
        # Long grace goes on for the whole run, short grace ends while the next numbers are awaited.
        grace = self._chance.choice((None, 0, 1, 1, 2, 3600))
        self._is_deleted(pod, (30 if grace is None else grace) if pod.bound and not pod.finished else 0)
        return [delete("Pod", pod.name, grace=grace)]

    def _delete_by_force(self) -> list[Operation]:
        dying = [pod for pod in self._pods.values() if pod.grace]
        if not dying:
            return []
        pod = self._chance.choice(dying)
        self._is_deleted(pod, 0)
        return [delete("Pod", pod.name, grace=0)]

    def _let_go(self) -> list[Operation]:
        kept = [pod for pod in self._pods.values() if self._is_kept(pod)]
        if not kept:
            return []
        pod = self._chance.choice(kept)
        del pod.manifest["metadata"]
        self._forget_if_gone(pod)
        return [let_go("Pod", pod.name)]

    @staticmethod
    def _is_kept(pod: LivingPod) -> bool:
        return "metadata" in pod.manifest

    def _is_deleted(self, pod: LivingPod, grace: int) -> None:
        pod.grace = grace
        self._forget_if_gone(pod)

    def _forget_if_gone(self, pod: LivingPod) -> None:
        if pod.grace == 0 and not self._is_kept(pod):
            del self._pods[pod.name]

    def _patch_status(self, pod: LivingPod, status: dict[str, Any]) -> Operation:
        return patch("Pod", pod.name, {"status": status}, sub="status")
