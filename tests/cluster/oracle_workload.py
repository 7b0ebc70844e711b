"""What happens in a namespace of the oracle: a sequence without end that a seed decides, whatever the cluster says."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.cluster.oracle_objects import DeviceClaims, Services, VolumeClaims
from tests.cluster.oracle_operations import Operation
from tests.cluster.oracle_others import Others
from tests.cluster.oracle_pod_life import PodLife


def workload(seed: str, *, limited: bool) -> Iterator[Operation]:
    """Yield one operation after another.

    `limited`: native quotas stand all the while, so pods have to say what they ask for, and what is too large is
    refused. Else pods say what they like.
    """
    chance = Random(seed)
    pods = PodLife(chance, specified=limited)
    parts = (pods, Services(chance), VolumeClaims(chance, limited=limited), DeviceClaims(chance, pods), Others(chance))
    weights, actions = zip(*(action for part in parts for action in part.actions()), strict=True)
    while True:
        yield from chance.choices(actions, weights)[0]()
