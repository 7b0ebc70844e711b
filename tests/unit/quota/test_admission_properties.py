"""What holds for pods of every shape under limits of every kind."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from moorage.objects import PodSpec
from moorage.quantity import NANO, parse_nano
from moorage.quota.admission import QuotaState, Step, judge_pod
from moorage.quota.bounds import Limits, fill_in
from moorage.quota.counting import pod_amounts
from moorage.quota.names import compute, counted
from moorage.resources import can_be_overcommitted, given_for_pod, nano_of, with_defaults
from tests.builders import pod
from tests.strategies import AMOUNTS, NAMES, pod_specs

HARD_NAMES = ("pods", "count/pods", "requests.cpu", "memory", "limits.memory", "limits.cpu", "requests.example.com/gpu")

amounts = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(AMOUNTS).map(parse_nano), max_size=3)
ratios = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([NANO, 3 * NANO // 2, 4 * NANO]), max_size=2)
defaulting = st.builds(Limits, st.just("Container"), default=amounts, default_request=amounts)
entries = st.builds(
    Limits,
    st.sampled_from(["Container", "Pod"]),
    default=amounts,
    default_request=amounts,
    min=amounts,
    max=amounts,
    max_limit_request_ratio=ratios,
)
hard = st.dictionaries(st.sampled_from(HARD_NAMES), st.integers(0, 6).map(lambda whole: whole * NANO), max_size=4)


@st.composite
def quotas(draw: st.DrawFn) -> list[QuotaState]:
    return [
        QuotaState(
            name,
            hard=(allowed := draw(hard)),
            used=dict.fromkeys(allowed, 0),
            limits=tuple(draw(st.lists(entries, max_size=2))),
        )
        for name in draw(st.lists(st.sampled_from("abc"), unique=True))
    ]


@given(pod_specs(), st.lists(defaulting, max_size=3))
def test_filling_in_twice_changes_nothing(spec: PodSpec, limits: list[Limits]) -> None:
    once = fill_in(spec, limits)
    assert fill_in(once, limits) == once


@given(pod_specs(), st.lists(defaulting, max_size=3))
def test_what_a_container_says_itself_stays(spec: PodSpec, limits: list[Limits]) -> None:
    for before, after in zip(with_defaults(spec).all_containers, fill_in(spec, limits).all_containers, strict=True):
        for side in ("requests", "limits"):
            assert before.given(side).items() <= after.given(side).items()


@given(pod_specs(), defaulting)
def test_every_container_has_what_there_is_a_default_for_unless_the_pod_gives_it(spec: PodSpec, entry: Limits) -> None:
    whole = given_for_pod(with_defaults(spec))
    for container in fill_in(spec, [entry]).all_containers:
        assert container.given("requests").keys() >= entry.default_request.keys() - whole
        assert container.given("limits").keys() >= entry.default.keys() - whole


@given(pod_specs(), st.lists(defaulting, max_size=3))
def test_no_limit_that_was_filled_in_is_below_its_request(spec: PodSpec, limits: list[Limits]) -> None:
    before = {each.name: each.given("limits") for each in with_defaults(spec).all_containers}
    for container in fill_in(spec, limits).all_containers:
        requests, ceilings = container.given("requests"), container.given("limits")
        added = ceilings.keys() - before[container.name].keys()
        assert all(nano_of(ceilings[name]) >= nano_of(requests[name]) for name in added)


@given(pod_specs(), quotas())
def test_a_pod_is_admitted_exactly_when_at_least_one_fits(spec: PodSpec, given_quotas: list[QuotaState]) -> None:
    verdict = judge_pod(pod(spec=spec), given_quotas)
    assert verdict.admitted == (verdict.fits is None or verdict.fits > 0)


GENEROUS = Limits(
    "Container",
    default=dict.fromkeys(("cpu", "memory"), NANO),
    default_request=dict.fromkeys(("cpu", "memory"), NANO // 10),
)


@given(pod_specs(pod_level=False), hard, st.integers(1, 6))
def test_exactly_as_many_fit_as_are_said_to(spec: PodSpec, given_hard: dict[str, int], most: int) -> None:
    quota = QuotaState("q", hard={**given_hard, "pods": most * NANO}, limits=(GENEROUS,))
    verdict = judge_pod(pod(spec=spec), [_with_used(quota, {}, 0)])
    assert verdict.spec is not None
    assert verdict.fits is not None
    counts = pod_amounts(pod(spec=verdict.spec, phase="Pending"))
    for number in range(most + 1):
        assert judge_pod(pod(spec=spec), [_with_used(quota, counts, number)]).admitted == (number < verdict.fits)


def _with_used(quota: QuotaState, counts: dict[str, int], pods: int) -> QuotaState:
    used = {name: pods * counts.get(what.source, 0) for name in quota.hard if (what := counted(name)) is not None}
    return QuotaState(quota.name, hard=quota.hard, used=used, limits=quota.limits)


@given(pod_specs(), quotas())
def test_failures_come_in_the_order_of_the_steps(spec: PodSpec, given_quotas: list[QuotaState]) -> None:
    steps = [list(Step).index(each.step) for each in judge_pod(pod(spec=spec), given_quotas).failures]
    assert steps == sorted(steps)


@given(pod_specs(), quotas())
def test_no_limited_compute_amount_of_an_admitted_pod_is_0_by_accident(
    spec: PodSpec, given_quotas: list[QuotaState]
) -> None:
    verdict = judge_pod(pod(spec=spec), given_quotas)
    assume(verdict.admitted)
    for name in {name for quota in given_quotas for name in quota.hard}:
        if (found := compute(name)) is not None:
            side, resource = found
            by_pod = verdict.spec.resources is not None and resource in verdict.spec.resources.given(side)
            assert by_pod or all(resource in each.given(side) for each in verdict.spec.all_containers)


@given(pod_specs(), quotas())
def test_watching_refuses_nothing_and_says_what_obeying_would(spec: PodSpec, given_quotas: list[QuotaState]) -> None:
    watched = [
        QuotaState(each.name, hard=each.hard, used=each.used, limits=each.limits, is_enforced=False)
        for each in given_quotas
    ]
    obeyed, seen = judge_pod(pod(spec=spec), given_quotas), judge_pod(pod(spec=spec), watched)
    assert (seen.admitted, seen.defaulted, seen.audited) == (True, {}, obeyed.failures)


def test_which_resources_can_be_overcommitted() -> None:
    assert [can_be_overcommitted(name) for name in NAMES] == [True, True, True, False, False]
