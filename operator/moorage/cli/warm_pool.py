"""`moorage warm-pool`: what the CNI keeps attached to a node for so many pods, and what of it is wasted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from moorage.cli.eks import Found, find_types, networking_of, networking_options
from moorage.cli.errors import BadInput
from moorage.cli.output import columns, emit, output_option
from moorage.density.eks.ipamd import PASS_SECONDS, Ipamd, Pool, attached
from moorage.density.eks.maxpods import HOST_NETWORK_PODS, default_convention, max_pods
from moorage.density.eks.networking import Mode, Networking
from moorage.density.eks.targets import WarmTargets
from moorage.quoting import quoted

TARGETS = {"warm_eni": "WARM_ENI_TARGET", "warm_ip": "WARM_IP_TARGET"}
TARGETS |= {"minimum_ip": "MINIMUM_IP_TARGET", "warm_prefix": "WARM_PREFIX_TARGET"}


def target_options(command: Any) -> Any:
    """Add the options of the warm targets; one that is not given is None."""
    for name, setting in reversed(TARGETS.items()):
        default = getattr(WarmTargets(), name)
        unset = f"default {default}" if default else "default: not set"
        option = f"--{name.replace('_', '-')}-target"
        command = click.option(option, name, type=click.IntRange(min=0), help=f"{setting}; {unset}.")(command)
    return command


@click.command("warm-pool")
@click.argument("instance_type", metavar="TYPE")
@click.option("--pods", type=click.IntRange(min=0), required=True, help="Pods that need an address (not hostNetwork).")
@click.option("--max-pods", "most", type=click.IntRange(min=1), help="Of the kubelet. Default: as `moorage max-pods`.")
@networking_options
@target_options
@click.option("--security-groups-for-pods", "trunk", is_flag=True, help="ENABLE_POD_ENI: a trunk takes an interface.")
@click.option("--then", "steps", type=click.IntRange(min=0), multiple=True, help="And then so many pods; repeatable.")
@click.option("--wait", type=click.IntRange(min=0), default=120, show_default=True, help="Seconds after each --then.")
@click.option("--scatter", is_flag=True, help="Pods spread over all prefixes, which is the worst that can happen.")
@click.option("--instance-types", metavar="FILE", help="JSON of `aws ec2 describe-instance-types`, for newer limits.")
@output_option
def warm_pool(
    *,
    instance_type: str,
    pods: int,
    most: int | None,
    steps: tuple[int, ...],
    wait: int,
    scatter: bool,
    instance_types: str | None,
    output: str,
    **settings: Any,
) -> int:
    """Say which interfaces, prefixes and addresses a node holds for so many pods.

    \b
    moorage warm-pool m5.large --pods 1 --mode prefix
    moorage warm-pool m5.large --pods 25 --then 15 --then 30 --mode prefix --warm-ip-target 1

    With --then the pods of the node come and go, one every 5 seconds when they come and all at once when they go.

    Exit code 0 when all pods get an address, 1 when not or when the CNI refuses the settings, 2 for bad input.
    """
    given = {name: value for name in TARGETS if (value := settings.pop(name)) is not None}
    (found, *more) = find_types([instance_type], instance_types)
    if more:
        raise BadInput(f"{quoted(instance_type)} names {len(more) + 1} instance types; name one")
    networking = networking_of(**settings)
    node = _Node(found, networking, WarmTargets(**given), most or _max_pods(found, networking))
    history = list(node.history([pods, *steps], wait=wait, scatter=scatter))
    refusal = node.targets.refusal(node.mode)
    answer = {
        "instanceType": found[0].name,
        "mode": node.mode.value,
        "maxPods": node.max_pods,
        "inForce": node.targets.in_force(node.mode),
        **_described(history[-1]),
        "refused": refusal is not None,
        "warnings": list(node.warnings(frozenset(given), pods=history[-1].pods)),
    }
    if steps:
        answer["steps"] = [{"pods": each.pods, **_described(each)} for each in history]
        answer["bounds"] = node.bounds(history)
    emit(answer, output, lambda: _table(answer, history))
    return 1 if refusal is not None or history[-1].failed_pods else 0


def _max_pods(found: Found, networking: Networking) -> int:
    pods = max_pods(found[0], networking, default_convention(networking.mode)).pods
    if pods is None:
        raise BadInput(f"the max pods of {found[0].name} are not known; give --max-pods")
    return pods


@dataclass(frozen=True, slots=True)
class _Node:
    """A node that is asked about."""

    found: Found
    networking: Networking
    targets: WarmTargets
    max_pods: int

    @property
    def mode(self) -> Mode:
        return self.networking.mode_on(self.found[0])

    def history(self, counts: list[int], *, wait: int, scatter: bool) -> Iterator[Pool]:
        """Return what it holds with each of these numbers of pods."""
        instance = self.found[0]
        if len(counts) == 1 and not scatter:
            yield attached(instance, self.networking, self.targets, max_pods=self.max_pods, pods=counts[0])
            return
        node = Ipamd(instance, self.networking, self.targets, max_pods=self.max_pods, scatter=scatter)
        before = 0
        for number, pods in enumerate(counts):
            node.leave(max(before - pods, 0))
            for _ in range(pods - before):
                node.come(1)
                node.wait(PASS_SECONDS)
            before = pods
            node.wait(wait) if number else node.settle()
            yield node.pool()

    def bounds(self, history: list[Pool]) -> dict[str, list[int]]:
        """Return the least and the most that can be attached after such a past, whatever chance did.

        It is what a node of the same pods holds that has no past, and the most that was ever attached.
        """
        instance, pods = self.found[0], history[-1].pods
        least = attached(instance, self.networking, self.targets, max_pods=self.max_pods, pods=pods)
        numbers = {
            "enis": [each.enis for each in (least, *history)],
            "prefixes": [each.prefixes for each in (least, *history)],
            "podAddresses": [each.pod_addresses for each in (least, *history)],
        }
        return {name: [min(counts[0], counts[-1]), max(counts)] for name, counts in numbers.items()}

    def warnings(self, given: frozenset[str], *, pods: int) -> Iterator[str]:
        """Say what is refused, does harm or has no effect; `given` are the targets that were set by hand."""
        instance, remark = self.found
        if remark:
            yield remark
        yield from self.networking.remarks(instance)
        if refusal := self.targets.refusal(self.mode):
            yield refusal
        yield from self.targets.traps(self.mode, custom_networking=self.networking.custom_networking)
        yield from self.targets.unread(self.mode, given=given)
        attainable = self.networking.addresses(instance)
        if attainable is not None and self.max_pods - HOST_NETWORK_PODS > attainable:
            yield f"max pods {self.max_pods} promises more than the {attainable} addresses that the interfaces carry"
        if pods > self.max_pods:
            yield f"{pods} pods are more than the kubelet admits ({self.max_pods})"


def _described(pool: Pool) -> dict[str, Any]:
    return {
        "enis": pool.enis,
        "slotsPerEni": list(pool.slots_per_eni),
        "prefixes": pool.prefixes,
        "podAddresses": pool.pod_addresses,
        "unused": pool.unused,
        "failedPods": pool.failed_pods,
        "subnetAddresses": pool.subnet_addresses,
    }


def _table(answer: dict[str, Any], history: list[Pool]) -> str:
    header = ("PODS", "ENIS", "SLOTS", "PREFIXES", "POD ADDRESSES", "UNUSED", "FAILED PODS", "SUBNET ADDRESSES")
    rows = [
        (
            str(each.pods),
            str(each.enis),
            "/".join(map(str, each.slots_per_eni)),
            str(each.prefixes),
            str(each.pod_addresses),
            str(each.unused),
            str(each.failed_pods),
            str(each.subnet_addresses),
        )
        for each in history
    ]
    low, high = answer.get("bounds", {}).get("podAddresses", (0, 0))
    after = [f"as chance has it, from {low} to {high} pod addresses are attached"] if low < high else []
    facts = f"{answer['instanceType']}, {answer['mode']} mode, max pods {answer['maxPods']}, {answer['inForce']}"
    return "\n".join([columns([header, *rows]), "", facts, *after, *(f"note: {each}" for each in answer["warnings"])])
