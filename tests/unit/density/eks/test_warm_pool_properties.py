"""Whatever a node is and however its CNI is set: the books of its pool close, and more pods need no fewer addresses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.density.eks.instances import InstanceType, instance_types
from moorage.density.eks.ipamd import Ipamd, Pool, attached
from moorage.density.eks.networking import PREFIX, Mode, Networking
from moorage.density.eks.targets import WarmTargets

SMALL = [each for each in instance_types().values() if each.enis * each.addresses_per_eni <= 60]

instances = st.sampled_from(SMALL)
networkings = st.builds(
    Networking, mode=st.sampled_from(Mode), custom_networking=st.booleans(), max_eni=st.sampled_from([None, 1, 2, 9])
)
targets = st.builds(
    WarmTargets,
    warm_eni=st.integers(0, 3),
    warm_ip=st.integers(0, 20),
    minimum_ip=st.integers(0, 40),
    warm_prefix=st.integers(0, 3),
)
limits = st.integers(4, 250)


def check(pool: Pool, instance: InstanceType, networking: Networking, max_pods: int) -> None:
    slot = networking.slot(instance)
    assert pool.pod_addresses == sum(pool.slots_per_eni) * slot
    assert pool.pod_addresses == pool.assigned + pool.unused
    assert pool.pods == pool.assigned + pool.failed_pods
    assert pool.subnet_addresses == pool.enis + pool.pod_addresses
    assert pool.prefixes == (sum(pool.slots_per_eni) if slot == PREFIX else 0)
    assert all(each <= instance.slots_per_eni for each in pool.slots_per_eni)
    attainable = networking.addresses(instance)
    assert attainable is not None
    assert pool.pod_addresses <= attainable
    assert pool.pod_addresses < max_pods + instance.slots_per_eni * slot, "no more than a chunk beyond max pods"


@given(instances, networkings, targets, limits, st.lists(st.integers(0, 120), min_size=2, max_size=2, unique=True))
def test_more_pods_never_need_fewer_addresses(
    instance: InstanceType, networking: Networking, warm: WarmTargets, max_pods: int, counts: list[int]
) -> None:
    fewer, more = (attached(instance, networking, warm, max_pods=max_pods, pods=each) for each in sorted(counts))
    assert fewer.subnet_addresses <= more.subnet_addresses
    assert fewer.enis <= more.enis
    for pool in (fewer, more):
        check(pool, instance, networking, max_pods)


@given(
    instances,
    networkings,
    targets,
    limits,
    st.booleans(),
    st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 100)), max_size=8),
)
@settings(deadline=None)
def test_the_books_close_whatever_comes_and_goes(
    instance: InstanceType,
    networking: Networking,
    warm: WarmTargets,
    max_pods: int,
    scatter: bool,
    changes: list[tuple[int, int]],
) -> None:
    node = Ipamd(instance, networking, warm, max_pods=max_pods, scatter=scatter)
    for pods, seconds in changes:
        node.come(pods) if pods > 0 else node.leave(-pods)
        node.wait(seconds)
        check(node.pool(), instance, networking, max_pods)


@given(instances, networkings, st.integers(0, 100), st.integers(0, 100))
def test_by_address_a_node_holds_what_the_closed_form_says(
    instance: InstanceType, networking: Networking, pods: int, warm_ip: int
) -> None:
    attainable = networking.addresses(instance)
    assert attainable is not None
    if warm_ip < 1 or pods + warm_ip > attainable:
        return
    pool = attached(instance, networking, WarmTargets(warm_ip=warm_ip), max_pods=10**6, pods=pods)
    slot = networking.slot(instance)
    assert pool.pod_addresses == -(-(pods + warm_ip) // slot) * slot


@given(st.integers(0, 400), st.integers(1, 4))
def test_by_prefix_a_node_holds_what_the_closed_form_says(pods: int, warm: int) -> None:
    instance = instance_types()["m5.24xlarge"]
    pool = attached(instance, Networking(Mode.PREFIX), WarmTargets(warm_prefix=warm), max_pods=10**6, pods=pods)
    assert pool.prefixes == -(-pods // PREFIX) + warm


@given(st.integers(0, 180), st.integers(1, 4))
def test_by_interface_a_node_holds_what_the_closed_form_says(pods: int, warm: int) -> None:
    instance = instance_types()["m5.24xlarge"]
    pool = attached(instance, Networking(), WarmTargets(warm_eni=warm), max_pods=10**6, pods=pods)
    assert pool.enis == max(-(-pods // instance.slots_per_eni) + warm, 1)
    assert pool.pod_addresses == pool.enis * instance.slots_per_eni
