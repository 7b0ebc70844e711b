"""What holds for pods of every shape."""

from collections.abc import Iterable, Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from moorage.objects import Container, PodSpec, PodStatus, ResourceRequirements
from moorage.resources import amounts, is_pod_level, pod_resources, with_defaults
from tests.builders import container_status, pod_status
from tests.strategies import containers, pod_specs, statuses_of


def requests_of(spec: PodSpec, status: PodStatus | None = None) -> Mapping[str, int]:
    return pod_resources(spec, status).requests


def asked(container: Container) -> Mapping[str, int]:
    return {} if container.resources is None else amounts(container.resources.requests)


def total(lists: Iterable[Mapping[str, int]]) -> dict[str, int]:
    result: dict[str, int] = {}
    for each in lists:
        for name, amount in each.items():
            result[name] = result.get(name, 0) + amount
    return result


def at_least(more: Mapping[str, int], less: Mapping[str, int]) -> bool:
    return all(more.get(name, 0) >= amount for name, amount in less.items())


def everything(spec: PodSpec) -> list[Container]:
    return [*(spec.containers or ()), *(spec.init_containers or ())]


@given(pod_specs(pod_level=False))
def test_a_pod_counts_at_least_what_any_container_asks_for_and_at_most_their_sum(spec: PodSpec) -> None:
    counted = requests_of(spec)
    assert all(at_least(counted, asked(each)) for each in everything(spec))
    assert at_least(total([*map(asked, everything(spec)), amounts(spec.overhead)]), counted)


@given(containers("app", at_most=4), st.randoms())
def test_app_containers_are_a_plain_sum_in_any_order(apps: list[Container], random: object) -> None:
    shuffled = list(apps)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert requests_of(PodSpec(containers=apps)) == total(map(asked, apps))
    assert requests_of(PodSpec(containers=shuffled)) == requests_of(PodSpec(containers=apps))


@given(pod_specs(), containers("more", at_most=1))
def test_one_more_container_never_lowers_what_a_pod_counts_for(spec: PodSpec, more: list[Container]) -> None:
    as_app = msgspec.structs.replace(spec, containers=[*(spec.containers or ()), *more])
    as_init = msgspec.structs.replace(spec, init_containers=[*(spec.init_containers or ()), *more])
    assert at_least(requests_of(as_app), requests_of(spec))
    assert at_least(requests_of(as_init), requests_of(spec))
    assert at_least(requests_of(as_app), requests_of(as_init))


@given(pod_specs(pod_level=False))
def test_a_sidecar_that_starts_earlier_never_lowers_what_a_pod_counts_for(spec: PodSpec) -> None:
    init = spec.init_containers or []
    first = [*(each for each in init if each.is_sidecar), *(each for each in init if not each.is_sidecar)]
    assert at_least(requests_of(msgspec.structs.replace(spec, init_containers=first)), requests_of(spec))


@given(pod_specs())
def test_overhead_is_added_on_top(spec: PodSpec) -> None:
    without = requests_of(msgspec.structs.replace(spec, overhead=None))
    assert requests_of(spec) == total([without, amounts(spec.overhead)])


@given(pod_specs())
def test_pod_level_requests_win_over_the_containers(spec: PodSpec) -> None:
    without_overhead = msgspec.structs.replace(spec, overhead=None)
    given = amounts((spec.resources or ResourceRequirements()).requests)
    counted = requests_of(without_overhead)
    assert all(counted[name] == amount for name, amount in given.items() if is_pod_level(name))


@given(pod_specs())
def test_a_status_that_says_what_the_spec_says_changes_nothing(spec: PodSpec) -> None:
    at_rest = pod_status(
        *(
            container_status(
                each.name,
                requests=(each.resources or ResourceRequirements()).requests,
                limits=(each.resources or ResourceRequirements()).limits,
            )
            for each in everything(spec)
        )
    )
    assert pod_resources(spec, at_rest) == pod_resources(spec)


@given(st.data())
def test_unless_it_is_infeasible_a_resize_never_lowers_what_a_pod_counts_for(data: st.DataObject) -> None:
    spec = data.draw(pod_specs())
    status = data.draw(statuses_of(spec).filter(lambda status: status.conditions[-1].reason != "Infeasible"))
    assert at_least(requests_of(spec, status), requests_of(spec))
    assert at_least(pod_resources(spec, status).limits, pod_resources(spec).limits)


@given(st.data())
def test_nothing_is_ever_negative(data: st.DataObject) -> None:
    spec = data.draw(pod_specs())
    result = pod_resources(spec, data.draw(statuses_of(spec)))
    assert all(amount >= 0 for amount in [*result.requests.values(), *result.limits.values()])


@given(pod_specs())
def test_defaults_are_filled_in_once(spec: PodSpec) -> None:
    once = with_defaults(spec)
    assert with_defaults(once) == once


@given(pod_specs())
def test_after_defaults_every_limited_resource_of_a_container_is_requested(spec: PodSpec) -> None:
    for each in everything(with_defaults(spec)):
        if each.resources is not None:
            assert set(each.resources.limits or ()) <= set(each.resources.requests or ())


@given(pod_specs(pod_level=False))
def test_defaults_leave_limits_as_they_are_and_never_lower_requests(spec: PodSpec) -> None:
    before, after = pod_resources(spec), pod_resources(with_defaults(spec))
    assert after.limits == before.limits
    assert at_least(after.requests, before.requests)
