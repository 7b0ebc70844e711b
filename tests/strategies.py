"""Hypothesis strategies for pods of every shape."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from hypothesis import strategies as st

from moorage.objects import Container, ContainerStatus, PodSpec, PodStatus, ResourceList, ResourceRequirements
from tests.builders import container_status, pod_spec, pod_status

NAMES = ("cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu")
POD_LEVEL_NAMES = ("cpu", "memory", "hugepages-2Mi")
AMOUNTS = ("0", "1m", "100m", "0.5", "1", "2", "3", "64Mi", "1Gi", "1500k", "2e3")


@lru_cache
def resource_lists(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[ResourceList]:
    """Return lists of up to two resources; one choice each, which makes pods cheap to draw."""
    singles = [(name, amount) for name in names for amount in AMOUNTS]
    pairs = [dict(pair) for pair in combinations(singles, 2) if pair[0][0] != pair[1][0]]
    return st.sampled_from([{}, *(dict([single]) for single in singles), *pairs])


def requirements(names: tuple[str, ...] = NAMES) -> st.SearchStrategy[ResourceRequirements | None]:
    lists = st.none() | resource_lists(names)
    return st.none() | st.builds(ResourceRequirements, requests=lists, limits=lists)


def containers(prefix: str, *, sidecars: bool = False, at_most: int = 3) -> st.SearchStrategy[list[Container]]:
    policy = st.sampled_from([None, "Always"]) if sidecars else st.none()
    one = st.tuples(requirements(), policy)
    return st.lists(one, max_size=at_most).map(
        lambda many: [
            Container(name=f"{prefix}{at}", resources=asked, restart_policy=restart)
            for at, (asked, restart) in enumerate(many)
        ]
    )


@st.composite
def pod_specs(draw: st.DrawFn, *, pod_level: bool = True) -> PodSpec:
    return pod_spec(
        containers=draw(containers("app")),
        init=draw(containers("init", sidecars=True)),
        overhead=draw(st.none() | resource_lists(("cpu", "memory"))),
        pod_level=draw(requirements(POD_LEVEL_NAMES)) if pod_level else None,
        priority_class=draw(st.sampled_from([None, "low", "high"])),
        deadline=draw(st.sampled_from([None, 0, 600])),
    )


@st.composite
def statuses_of(draw: st.DrawFn, spec: PodSpec) -> PodStatus:
    """Return a status that tells something of some of the spec's containers."""

    def some(given: list[Container] | None) -> list[ContainerStatus]:
        return [
            container_status(
                each.name,
                requests=draw(st.none() | resource_lists()),
                limits=draw(st.none() | resource_lists()),
                allocated=draw(st.none() | resource_lists()),
            )
            for each in given or ()
            if draw(st.booleans())
        ]

    return pod_status(
        *some(spec.containers),
        init=some(spec.init_containers),
        phase=draw(st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"])),
        resize_pending=draw(st.sampled_from([None, "Deferred", "Infeasible"])),
    )
