"""What containers get that say nothing themselves, before anything is judged or counted."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.objects import PodSpec, ResourceList
from moorage.quota.bounds import Limits, defaulted, defaults_in_force, fill_in
from moorage.resources import nano_of
from tests.builders import container, limits, nano, pod_spec, resources, sidecar

REQUEST_AND_LIMIT = limits(default={"memory": "512Mi"}, default_request={"cpu": "200m", "memory": "256Mi"})


def given(spec: PodSpec, *entries: Limits) -> dict[str, tuple[dict[str, int], dict[str, int]]]:
    """Return requests and limits of each container, filled in."""
    return {
        each.name: (_amounts(each.given("requests")), _amounts(each.given("limits")))
        for each in fill_in(spec, entries).all_containers
    }


def _amounts(texts: ResourceList) -> dict[str, int]:
    return {name: nano_of(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("own", "requests", "limit"),
    [
        pytest.param({}, {"cpu": "200m", "memory": "256Mi"}, {"memory": "512Mi"}, id="nothing given"),
        pytest.param(
            {"requests": {"cpu": "0"}},
            {"cpu": "0", "memory": "256Mi"},
            {"memory": "512Mi"},
            id="an explicit 0 is a value, and each resource is filled in by itself",
        ),
        pytest.param(
            {"limits": {"cpu": "2"}},
            {"cpu": "2", "memory": "256Mi"},
            {"cpu": "2", "memory": "512Mi"},
            id="a limit alone is the request already, so that the default request comes too late",
        ),
        pytest.param(
            {"requests": {"memory": "1Gi"}},
            {"cpu": "200m", "memory": "1Gi"},
            {"memory": "1Gi"},
            id="a default limit is raised to a larger request",
        ),
        pytest.param(
            {"requests": {"memory": "100Mi"}, "limits": {"memory": "200Mi"}},
            {"cpu": "200m", "memory": "100Mi"},
            {"memory": "200Mi"},
            id="what is given stays",
        ),
    ],
)
def test_a_container_gets_what_it_does_not_say(own: Any, requests: dict[str, str], limit: dict[str, str]) -> None:
    assert given(pod_spec(**own), REQUEST_AND_LIMIT) == {"app": (nano(**requests), nano(**limit))}


def test_a_default_limit_becomes_the_request_where_there_is_none() -> None:
    assert given(pod_spec(), limits(default={"memory": "1Gi"})) == {"app": (nano(memory="1Gi"), nano(memory="1Gi"))}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(limits(max={"cpu": "1"}, min={"cpu": "1m"}, ratio={"cpu": "2"}), id="bounds fill in nothing"),
        pytest.param(limits("Pod", default_request={"cpu": "1"}), id="nor does an entry of another type"),
    ],
)
def test_nothing_is_implied(entry: Limits) -> None:
    assert given(pod_spec(), entry) == {"app": ({}, {})}


def test_init_containers_and_sidecars_get_them_too() -> None:
    spec = pod_spec(containers=[container("a")], init=[container("i"), sidecar("s", cpu="1")])
    filled = given(spec, limits(default_request={"cpu": "200m"}))
    assert {name: requests["cpu"] for name, (requests, _) in filled.items()} == nano(a="200m", i="200m", s="1")


class TestPodsThatGiveAmountsAsAWhole:
    @pytest.mark.parametrize(
        "whole",
        [resources({"cpu": "1"}), resources(None, {"cpu": "1"}), resources({"cpu": "1"}, {"cpu": "2"})],
        ids=["request", "limit", "both"],
    )
    def test_their_containers_get_none_of_that_resource_which_could_contradict_it(self, whole: Any) -> None:
        entry = limits(default={"cpu": "4"}, default_request={"cpu": "2", "memory": "1Gi"})
        assert given(pod_spec(pod_level=whole), entry) == {"app": (nano(memory="1Gi"), {})}

    def test_an_amount_that_the_api_server_derived_for_the_pod_counts_as_given(self) -> None:
        spec = pod_spec(
            containers=[container("a", memory="100Mi"), container("b")], pod_level=resources(None, {"cpu": "1"})
        )
        assert given(spec, limits(default_request={"memory": "1Gi"})) == {
            "a": (nano(memory="100Mi"), {}),
            "b": ({}, {}),
        }

    def test_what_is_filled_in_then_counts_for_the_pod(self) -> None:
        spec = fill_in(pod_spec(pod_level=resources(None, {"cpu": "1"})), [limits(default_request={"memory": "1Gi"})])
        assert spec.resources is not None
        assert _amounts(spec.resources.given("requests")) == nano(cpu="1", memory="1Gi")


class TestSeveralQuotas:
    def test_the_first_that_has_a_value_gives_it(self) -> None:
        first, second = limits(default_request={"cpu": "1"}), limits(default_request={"cpu": "2", "memory": "1Gi"})
        assert given(pod_spec(), first, second) == {"app": (nano(cpu="1", memory="1Gi"), {})}

    def test_a_limit_of_one_is_raised_to_the_request_of_another(self) -> None:
        one, other = limits(default={"memory": "1Gi"}), limits(default_request={"memory": "2Gi"})
        assert given(pod_spec(), one, other) == {"app": (nano(memory="2Gi"), nano(memory="2Gi"))}


class TestInForce:
    ONE = limits(default={"memory": "512Mi"}, default_request={"cpu": "100m"})
    OTHER = limits(default_request={"cpu": "200m", "memory": "256Mi"})

    def test_the_first_has_those_of_all_and_the_others_none(self) -> None:
        assert defaults_in_force({"b": [self.OTHER], "a": [self.ONE, limits("Pod", max={"cpu": "1"})]}) == {
            "a": limits(default={"memory": "512Mi"}, default_request={"cpu": "100m", "memory": "256Mi"}),
            "b": limits(),
        }

    def test_together_they_fill_in_what_all_of_them_would(self) -> None:
        together = defaults_in_force({"a": [self.ONE], "b": [self.OTHER]})
        spec = pod_spec(containers=[container("app")])
        assert fill_in(spec, together.values()) == fill_in(spec, [self.ONE, self.OTHER])

    def test_those_without_defaults_have_no_part(self) -> None:
        assert defaults_in_force({"a": [limits(max={"cpu": "1"})], "b": [self.OTHER], "c": []}) == {"b": self.OTHER}


def test_what_was_filled_in_is_told_by_container_with_what_follows_from_it() -> None:
    spec = pod_spec(containers=[container("a", cpu="1"), container("b", cpu="1", limits={"memory": "1Gi"})])
    entry = limits(default={"memory": "512Mi"}, default_request={"cpu": "200m"})
    added = resources({"memory": "512Mi"}, {"memory": "512Mi"})
    assert defaulted(spec, fill_in(spec, [entry])) == {"a": added}


def test_amounts_are_spelled_canonically() -> None:
    filled = fill_in(pod_spec(), [limits(default={"memory": "1073741824", "cpu": "0.5", "example.com/gpu": "1000m"})])
    assert filled.all_containers[0].given("limits") == {"memory": "1Gi", "cpu": "500m", "example.com/gpu": "1"}
