"""The address pool of one node over time, as the CNI's daemon (ipamd) keeps it: attached, in use, cooling, freed.

It follows the decisions of aws/amazon-vpc-cni-k8s v1.23.2 (`pkg/ipamd/ipamd.go`, `datastore/data_store.go`) for IPv4
and the default network card. The daemon looks every 5 seconds; time here is a number that `wait` moves. What the daemon
leaves to chance (it walks Go maps) is a choice here: pods are packed into the first prefix with room, or scattered over
all of them, the best and the worst that chance can do. EC2 gives what is asked for; `subnets.py` tells whether it can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.density.eks.instances import InstanceType
from moorage.density.eks.networking import PREFIX, Mode, Networking
from moorage.density.eks.targets import WarmTargets

PASS_SECONDS = 5
COOLDOWN_SECONDS = 30
"""IP_COOLDOWN_PERIOD: so long the address of a pod that ended goes to no other."""
_DECREASE_SECONDS = 30
_ENI_LIFE_SECONDS = 60


@dataclass(slots=True)
class _Slot:
    """A slot in use: one address or a prefix."""

    size: int
    assigned: int = 0
    cooling: list[int] = field(default_factory=list)
    """When addresses of it were given back."""

    def free(self, now: int) -> int:
        self.cooling = [since for since in self.cooling if now - since <= COOLDOWN_SECONDS]
        return self.size - self.assigned - len(self.cooling)


@dataclass(slots=True, eq=False)
class _Eni:
    primary: bool
    carries_pods: bool
    made_at: int
    slots: list[_Slot] = field(default_factory=list)

    @property
    def assigned(self) -> int:
        return sum(slot.assigned for slot in self.slots)


@dataclass(frozen=True, slots=True)
class Pool:
    """What a node holds at one moment."""

    pods: int
    """Pods that want an address; those of the host network are not among them."""
    slots_per_eni: tuple[int, ...]
    """Slots in use on each interface, the primary one first."""
    prefixes: int
    pod_addresses: int
    assigned: int

    @property
    def enis(self) -> int:
        """How many interfaces are attached; a trunk is not among them."""
        return len(self.slots_per_eni)

    @property
    def unused(self) -> int:
        """Addresses that no pod has, cooling ones included."""
        return self.pod_addresses - self.assigned

    @property
    def failed_pods(self) -> int:
        """Pods without an address."""
        return self.pods - self.assigned

    @property
    def subnet_addresses(self) -> int:
        """What it takes from its subnets: a primary address for each interface, and all of its slots."""
        return self.enis + self.pod_addresses


class Ipamd:
    """One node's pool, from its boot on."""

    def __init__(
        self,
        instance: InstanceType,
        networking: Networking,
        targets: WarmTargets,
        *,
        max_pods: int,
        scatter: bool = False,
    ) -> None:
        self._prefixes = networking.mode_on(instance) is Mode.PREFIX
        self._slot_size = networking.slot(instance)
        self._slots_per_eni = instance.slots_per_eni
        self._most_enis = networking.pod_enis(instance) + networking.custom_networking
        self._targets = targets
        self._max_pods = max_pods
        self._scatter = scatter
        self._now = 0
        self._decreased_at = -_DECREASE_SECONDS - 1
        self._pods = 0
        self._enis = [_Eni(primary=True, carries_pods=not networking.custom_networking, made_at=-_ENI_LIFE_SECONDS)]
        self.settle()

    def pool(self) -> Pool:
        """Return what is attached now."""
        slots = self._slots()
        return Pool(
            pods=self._pods,
            slots_per_eni=tuple(len(eni.slots) for eni in self._enis),
            prefixes=len(slots) if self._prefixes else 0,
            pod_addresses=self._total(),
            assigned=self._assigned(),
        )

    def come(self, pods: int) -> None:
        """Let pods come, all at once."""
        self._pods += pods
        self._assign()

    def leave(self, pods: int) -> None:
        """Let pods go: those that wait for an address first; of the others from the first slots, or evenly."""
        pods = min(pods, self._pods)
        waiting = min(self._pods - self._assigned(), pods)
        self._pods -= pods
        for _ in range(pods - waiting):
            used = [slot for slot in self._slots() if slot.assigned]
            slot = max(used, key=lambda each: each.assigned) if self._scatter else used[0]
            slot.assigned -= 1
            slot.cooling.append(self._now)

    def wait(self, seconds: int) -> None:
        """Let time pass, and the daemon look every 5 seconds."""
        for _ in range(0, seconds, PASS_SECONDS):
            self._now += PASS_SECONDS
            self._assign()
            self._look()
            self._assign()

    def settle(self) -> None:
        """Let the pool grow until it grows no more, in no time."""
        self._assign()
        while self._too_low() and self._grow():
            self._assign()

    def _assign(self) -> None:
        """Give addresses to pods that wait."""
        waiting = self._pods - self._assigned()
        if not self._scatter:
            for slot in self._slots() if waiting else ():
                taken = min(waiting, slot.free(self._now))
                slot.assigned += taken
                waiting -= taken
            return
        while waiting > 0:
            free = [slot for slot in self._slots() if slot.free(self._now) > 0]
            if not free:
                return
            min(free, key=lambda each: each.assigned).assigned += 1
            waiting -= 1

    def _look(self) -> None:
        """Do what the daemon does in one pass (updateIPPoolIfRequired)."""
        low = self._too_low()
        if low:
            self._grow()
        elif (over := self._over()) > 0 and self._now - self._decreased_at > _DECREASE_SECONDS:
            self._decreased_at = self._now
            self._release(over)
        if self._may_free_eni():
            self._free_eni()

    def _too_low(self) -> bool:
        total = self._total()
        if total >= self._max_pods:
            return False
        if self._targets.by_address:
            return self._short() > 0
        available = total - self._assigned()
        warm, chunk = self._warm(), self._slot_size if self._prefixes else self._slots_per_eni
        return available < warm * chunk or (warm == 0 and available == 0)

    def _warm(self) -> int:
        return self._targets.warm_prefix if self._prefixes else self._targets.warm_eni

    def _short(self) -> int:
        """Return how many slots are missing to the targets by address."""
        total = self._total()
        short = max(self._targets.warm_ip - (total - self._assigned()), self._targets.minimum_ip - total, 0)
        return -(-short // self._slot_size)

    def _over(self) -> int:
        """Return how many slots are to be given back; without targets by address single addresses never are."""
        targets, total, assigned = self._targets, self._total(), self._assigned()
        if not self._prefixes:
            over = min(total - assigned - targets.warm_ip, total - targets.minimum_ip)
            return over if targets.by_address else 0
        free = self._free_prefixes()
        if not targets.by_address:
            return free - targets.warm_prefix
        held = total // PREFIX
        needed = -(-(assigned + targets.warm_ip) // PREFIX)
        return min(free, held - needed, held - -(-targets.minimum_ip // PREFIX))

    def _grow(self) -> bool:
        """Fill slots of one interface, or attach one if none has any left; tell whether there was room."""
        wanted = self._wanted()
        for eni in self._enis:
            if eni.carries_pods and (room := self._slots_per_eni - len(eni.slots)) > 0:
                self._fill(eni, min(room, wanted))
                return True
        if len(self._enis) >= self._most_enis:
            return False
        self._enis.append(_Eni(primary=False, carries_pods=True, made_at=self._now))
        self._fill(self._enis[-1], min(self._slots_per_eni, wanted))
        return True

    def _wanted(self) -> int:
        """Return how many slots one request asks for."""
        if self._targets.by_address:
            return max(self._short(), 1)
        return max(self._targets.warm_prefix - self._free_prefixes(), 1) if self._prefixes else self._slots_per_eni

    def _fill(self, eni: _Eni, slots: int) -> None:
        eni.slots.extend(_Slot(self._slot_size) for _ in range(slots))

    def _release(self, over: int) -> None:
        for eni in reversed(self._enis):
            for slot in [each for each in eni.slots if not each.assigned][:over]:
                eni.slots.remove(slot)
                over -= 1

    def _may_free_eni(self) -> bool:
        if self._targets.by_address:
            return True
        per_eni = self._slots_per_eni * self._slot_size
        if self._total() - self._assigned() >= (self._warm() + 1) * per_eni:
            return True
        return self._prefixes and any(not eni.primary and not eni.assigned for eni in self._enis)

    def _free_eni(self) -> None:
        for eni in self._enis:
            if not eni.primary and self._is_idle(eni) and not self._is_needed(eni):
                self._enis.remove(eni)
                return

    def _is_idle(self, eni: _Eni) -> bool:
        old = self._now - eni.made_at >= _ENI_LIFE_SECONDS
        cooling = any(self._now - since <= COOLDOWN_SECONDS for slot in eni.slots for since in slot.cooling)
        return old and not cooling and not eni.assigned

    def _is_needed(self, eni: _Eni) -> bool:
        targets, unit = self._targets, PREFIX if self._prefixes else 1
        others = [slot for other in self._enis if other is not eni for slot in other.slots]
        warm = sum(slot.size - slot.assigned for slot in others)
        total = sum(slot.size for slot in others)
        if targets.warm_ip and warm < -(-targets.warm_ip // unit) * unit:
            return True
        if targets.minimum_ip and total < -(-targets.minimum_ip // unit) * unit:
            return True
        return self._prefixes and sum(not slot.assigned for slot in others) < targets.warm_prefix

    def _free_prefixes(self) -> int:
        return sum(not slot.assigned for slot in self._slots())

    def _slots(self) -> list[_Slot]:
        return [slot for eni in self._enis for slot in eni.slots]

    def _total(self) -> int:
        return sum(len(eni.slots) for eni in self._enis) * self._slot_size

    def _assigned(self) -> int:
        return sum(eni.assigned for eni in self._enis)


def attached(instance: InstanceType, networking: Networking, targets: WarmTargets, *, max_pods: int, pods: int) -> Pool:
    """Return what a node holds once so many pods run on it, none having gone.

    The closed forms, where nothing cuts them off: `ceil(n / S) + w` interfaces by WARM_ENI_TARGET, `ceil(n / 16) + w`
    prefixes by WARM_PREFIX_TARGET, `max(n + W, m)` addresses by WARM_IP_TARGET and MINIMUM_IP_TARGET, rounded up to 16
    with prefixes.
    """
    node = Ipamd(instance, networking, targets, max_pods=max_pods)
    node.come(pods)
    node.settle()
    return node.pool()
