"""What the API server writes into a pod before it is stored, done here for manifests and templates."""

import pytest

from moorage.objects import PodSpec, ResourceRequirements
from moorage.quantity import QuantityError
from moorage.resources import pod_resources, with_defaults
from tests.builders import container, nano, pod_spec, resources, sidecar


def stored(spec: PodSpec) -> ResourceRequirements | None:
    """Return what the spec's only container asks for once it is stored."""
    (only,) = with_defaults(spec).containers or ()
    return only.resources


class TestContainers:
    @pytest.mark.parametrize(
        ("requests", "limits", "stored_requests"),
        [
            pytest.param(None, {"cpu": "300m"}, {"cpu": "300m"}, id="a limit becomes the request"),
            pytest.param({"cpu": "100m"}, {"cpu": "300m"}, {"cpu": "100m"}, id="a request stays"),
            pytest.param({"cpu": "0"}, {"cpu": "300m"}, {"cpu": "0"}, id="a request of 0 stays"),
            pytest.param({"memory": "1Gi"}, {"cpu": "1"}, {"memory": "1Gi", "cpu": "1"}, id="each resource on its own"),
            pytest.param({"cpu": "1"}, None, {"cpu": "1"}, id="a request is no limit"),
            pytest.param(None, {"example.com/gpu": "2"}, {"example.com/gpu": "2"}, id="extended resources too"),
        ],
    )
    def test_a_limit_without_a_request_becomes_the_request(
        self, requests: dict | None, limits: dict | None, stored_requests: dict
    ) -> None:
        result = stored(pod_spec(requests=requests, limits=limits))
        assert result is not None
        assert result.requests == stored_requests
        assert (result.limits or {}) == (limits or {})

    def test_init_containers_and_sidecars_are_treated_alike(self) -> None:
        spec = with_defaults(pod_spec(init=[container("i", limits={"cpu": "2"}), sidecar("s", limits={"cpu": "1"})]))
        assert [each.resources.requests for each in spec.init_containers or () if each.resources] == [
            {"cpu": "2"},
            {"cpu": "1"},
        ]
        assert [each.is_sidecar for each in spec.init_containers or ()] == [False, True]

    def test_a_container_without_resources_stays_without(self) -> None:
        assert stored(pod_spec()) is None


class TestWholeMilliUnits:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [("100u", "1m"), ("1n", "1m"), ("1500u", "2m"), ("0", "0"), ("1500m", "1500m"), ("0.50", "0.50"), (2, 2)],
    )
    def test_what_is_finer_is_rounded_up_and_all_else_keeps_its_spelling(self, given: str, kept: str) -> None:
        result = stored(pod_spec(requests={"cpu": given}, limits={"cpu": given}))
        assert result == ResourceRequirements(requests={"cpu": kept}, limits={"cpu": kept})

    def test_overhead_and_pod_level_resources_are_rounded_as_well(self) -> None:
        spec = with_defaults(pod_spec(overhead={"cpu": "1u"}, pod_level=resources({"cpu": "1u"}, {"cpu": "1001u"})))
        assert spec.overhead == {"cpu": "1m"}
        assert spec.resources == ResourceRequirements(requests={"cpu": "1m"}, limits={"cpu": "2m"})


class TestPodLevel:
    def test_a_missing_request_follows_the_containers(self) -> None:
        spec = pod_spec(
            pod_level=resources(None, {"cpu": "2", "memory": "1Gi"}),
            init=[container("i", cpu="700m")],
            containers=[container("a", cpu="300m"), container("b", cpu="100m")],
        )
        assert pod_resources(with_defaults(spec)).requests == nano(cpu="700m", memory="1Gi")

    def test_without_any_container_request_it_is_the_pods_own_limit(self) -> None:
        spec = pod_spec(pod_level=resources(None, {"cpu": "1"}))
        assert pod_resources(with_defaults(spec)).requests == nano(cpu="1")

    def test_a_container_limit_counts_as_its_request_there(self) -> None:
        spec = pod_spec(limits={"cpu": "500m"}, pod_level=resources(None, {"cpu": "2"}))
        assert pod_resources(with_defaults(spec)).requests == nano(cpu="500m")

    def test_a_resource_that_only_containers_ask_for_is_taken_over_too(self) -> None:
        spec = with_defaults(pod_spec(memory="1Gi", pod_level=resources(None, {"cpu": "2"})))
        assert spec.resources is not None
        assert spec.resources.requests == {"memory": "1073741824", "cpu": "2"}

    def test_given_requests_stay(self) -> None:
        spec = pod_spec(cpu="1", pod_level=resources({"cpu": "300m"}, {"cpu": "2"}))
        assert pod_resources(with_defaults(spec)).requests == nano(cpu="300m")

    def test_requests_alone_are_left_alone(self) -> None:
        pod_level = resources({"cpu": "300m"})
        assert with_defaults(pod_spec(memory="1Gi", pod_level=pod_level)).resources == ResourceRequirements(
            requests={"cpu": "300m"}, limits={}
        )

    def test_storage_and_extended_resources_stay_with_the_containers(self) -> None:
        asked = {"ephemeral-storage": "1Gi", "example.com/gpu": "1"}
        spec = with_defaults(pod_spec(requests=asked, pod_level=resources(None, {"cpu": "2"})))
        assert spec.resources is not None
        assert spec.resources.requests == {"cpu": "2"}


class TestHugepages:
    """They cannot be overcommitted, so the pod's request is its limit and its limit that of the containers."""

    def test_the_pods_request_is_its_own_limit_not_what_the_containers_ask_for(self) -> None:
        spec = pod_spec(limits={"hugepages-2Mi": "4Mi"}, pod_level=resources(None, {"hugepages-2Mi": "8Mi"}))
        assert pod_resources(with_defaults(spec)).requests == nano(**{"hugepages-2Mi": "8Mi"})

    def test_a_missing_limit_of_the_pod_is_the_sum_of_the_containers(self) -> None:
        spec = pod_spec(
            containers=[
                container("a", limits={"hugepages-2Mi": "4Mi"}),
                container("b", limits={"hugepages-2Mi": "2Mi"}),
            ],
            pod_level=resources(None, {"cpu": "1"}),
        )
        assert with_defaults(spec).resources == ResourceRequirements(
            requests={"cpu": "1", "hugepages-2Mi": "6291456"}, limits={"cpu": "1", "hugepages-2Mi": "6291456"}
        )

    def test_a_request_given_for_the_pod_gets_no_limit(self) -> None:
        pod_level = resources({"hugepages-2Mi": "4Mi"}, {"cpu": "1"})
        result = with_defaults(pod_spec(limits={"hugepages-2Mi": "4Mi"}, pod_level=pod_level)).resources
        assert result is not None
        assert result.limits == {"cpu": "1"}

    def test_a_pod_without_pod_level_resources_gets_none(self) -> None:
        assert with_defaults(pod_spec(limits={"hugepages-2Mi": "4Mi"})).resources is None
        empty = resources({}, {})
        assert with_defaults(pod_spec(limits={"hugepages-2Mi": "4Mi"}, pod_level=empty)).resources == empty


def test_everything_else_stays() -> None:
    spec = pod_spec(cpu="1", priority_class="high", deadline=5)
    result = with_defaults(spec)
    assert (result.priority_class_name, result.active_deadline_seconds) == ("high", 5)


def test_an_amount_that_is_no_quantity_is_an_error() -> None:
    with pytest.raises(QuantityError):
        with_defaults(pod_spec(limits={"cpu": "lots"}))
