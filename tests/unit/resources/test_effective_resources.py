"""What a pod counts for: its effective requests and limits, resource by resource."""

import pytest

from moorage.objects import PodSpec, PodTemplate
from moorage.quantity import QuantityError
from moorage.resources import pod_resources
from tests.builders import container, nano, pod_spec, resources, sidecar


def requests_of(spec: PodSpec) -> dict[str, int]:
    return dict(pod_resources(spec).requests)


def limits_of(spec: PodSpec) -> dict[str, int]:
    return dict(pod_resources(spec).limits)


class TestAppContainers:
    def test_containers_are_summed_and_requests_and_limits_are_apart(self) -> None:
        spec = pod_spec(
            containers=[
                container("a", cpu="250m", memory="128Mi", limits={"cpu": "500m", "memory": "256Mi"}),
                container("b", cpu="0.5", memory="64Mi", limits={"cpu": 1}),
            ]
        )
        assert requests_of(spec) == nano(cpu="750m", memory="192Mi")
        assert limits_of(spec) == nano(cpu="1500m", memory="256Mi")

    def test_a_container_without_a_limit_adds_nothing_to_the_limits(self) -> None:
        spec = pod_spec(containers=[container("a", limits={"cpu": "1"}), container("b", cpu="3")])
        assert limits_of(spec) == nano(cpu="1")

    def test_a_limit_is_no_request_before_the_api_server_made_it_one(self) -> None:
        assert requests_of(pod_spec(limits={"cpu": "1"})) == {}

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param(PodSpec(), id="empty spec"),
            pytest.param(PodTemplate().spec, id="empty template"),
            pytest.param(pod_spec(), id="container without resources"),
            pytest.param(pod_spec(containers=[container(requests={}, limits={})]), id="empty lists"),
            pytest.param(PodSpec(containers=None, init_containers=None), id="null lists"),
        ],
    )
    def test_a_pod_that_asks_for_nothing_counts_for_nothing(self, spec: PodSpec) -> None:
        assert requests_of(spec) == limits_of(spec) == {}

    def test_an_explicit_zero_is_kept(self) -> None:
        assert requests_of(pod_spec(cpu="0")) == {"cpu": 0}
        assert requests_of(pod_spec(init=[container("i", cpu="0"), sidecar(memory="0")])) == {"cpu": 0, "memory": 0}

    def test_every_resource_counts_under_its_own_name(self) -> None:
        asked = {"ephemeral-storage": "1Gi", "hugepages-2Mi": "4Mi", "example.com/gpu": "1"}
        spec = pod_spec(requests=asked)
        assert requests_of(spec) == nano(**asked)

    def test_memory_in_milli_units_is_a_fraction_of_a_byte(self) -> None:
        assert requests_of(pod_spec(memory="100m")) == {"memory": 10**8}

    def test_an_amount_that_is_no_quantity_is_an_error(self) -> None:
        with pytest.raises(QuantityError, match="'1 core' is not a quantity"):
            pod_resources(pod_spec(cpu="1 core"))


class TestInitContainers:
    @pytest.mark.parametrize(
        ("init", "cpu", "memory"),
        [
            pytest.param([], "300m", "300Mi", id="none"),
            pytest.param([("100m", "100Mi")], "300m", "300Mi", id="smaller: the app decides"),
            pytest.param([("500m", "100Mi")], "500m", "300Mi", id="each resource on its own"),
            pytest.param([("500m", "100Mi"), ("50m", "400Mi")], "500m", "400Mi", id="one after another: the largest"),
        ],
    )
    def test_they_run_before_the_app_so_the_larger_of_both_counts(
        self, init: list[tuple[str, str]], cpu: str, memory: str
    ) -> None:
        spec = pod_spec(
            init=[container(f"i{at}", cpu=cpu, memory=memory) for at, (cpu, memory) in enumerate(init)],
            containers=[container("a", cpu="100m", memory="200Mi"), container("b", cpu="200m", memory="100Mi")],
        )
        assert requests_of(spec) == nano(cpu=cpu, memory=memory)

    def test_a_resource_that_only_an_init_container_asks_for_counts(self) -> None:
        spec = pod_spec(cpu="1", init=[container("i", requests={"example.com/gpu": "2"}, limits={"memory": "1Gi"})])
        assert requests_of(spec) == nano(cpu="1", **{"example.com/gpu": "2"})
        assert limits_of(spec) == nano(memory="1Gi")


class TestSidecars:
    @pytest.mark.parametrize(
        ("init", "cpu"),
        [
            pytest.param([sidecar(cpu="500m")], "1500m", id="beside the app"),
            pytest.param([sidecar("s1", cpu="500m"), sidecar("s2", cpu="200m")], "1700m", id="all of them"),
            pytest.param([sidecar(cpu="500m"), container("i", cpu="4")], "4500m", id="beside a later init container"),
            pytest.param([container("i", cpu="4"), sidecar(cpu="500m")], "4", id="not beside an earlier one"),
            pytest.param(
                [sidecar("s1", cpu="500m"), container("i", cpu="1"), sidecar("s2", cpu="3")], "4500m", id="app decides"
            ),
        ],
    )
    def test_they_run_on_from_their_place_in_the_list(self, init: list, cpu: str) -> None:
        assert requests_of(pod_spec(cpu="1", init=init)) == nano(cpu=cpu)

    def test_limits_follow_the_same_rule(self) -> None:
        spec = pod_spec(
            init=[
                container("i1", cpu="400m", memory="600Mi", limits={"cpu": "400m"}),
                sidecar("s1", cpu="100m", memory="128Mi", limits={"cpu": "150m"}),
                container("i2", cpu="500m", memory="100Mi", limits={"cpu": "600m"}),
            ],
            containers=[container("a", cpu="200m", memory="512Mi", limits={"cpu": "300m"})],
        )
        assert requests_of(spec) == nano(cpu="600m", memory="640Mi")
        assert limits_of(spec) == nano(cpu="750m")

    def test_only_restart_policy_always_makes_a_sidecar(self) -> None:
        assert sidecar().is_sidecar
        assert not container().is_sidecar


class TestPodLevelResources:
    def test_they_replace_what_the_containers_ask_for_side_by_side(self) -> None:
        spec = pod_spec(
            cpu="200m", limits={"memory": "3Gi"}, pod_level=resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"})
        )
        assert requests_of(spec) == nano(cpu="1", memory="1Gi")
        assert limits_of(spec) == nano(cpu="2", memory="3Gi")

    def test_they_may_be_below_the_sum_of_the_containers(self) -> None:
        assert requests_of(pod_spec(cpu="4", pod_level=resources({"cpu": "1"}))) == nano(cpu="1")

    def test_hugepages_may_be_given_for_the_pod_and_other_resources_may_not(self) -> None:
        pod_level = {"hugepages-2Mi": "4Mi", "ephemeral-storage": "9Gi", "example.com/gpu": "9"}
        spec = pod_spec(requests={"ephemeral-storage": "1Gi"}, pod_level=resources(pod_level))
        assert requests_of(spec) == nano(**{"hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi"})

    @pytest.mark.parametrize("pod_level", [resources({}, {}), resources({}), resources(None, {})])
    def test_empty_ones_change_nothing(self, pod_level: object) -> None:
        assert requests_of(pod_spec(cpu="1", pod_level=pod_level)) == nano(cpu="1")


class TestOverhead:
    def test_it_is_added_to_requests_always(self) -> None:
        spec = pod_spec(cpu="0", overhead={"cpu": "120m", "memory": "64Mi"})
        assert requests_of(spec) == nano(cpu="120m", memory="64Mi")

    def test_it_is_added_to_limits_that_exist_and_are_not_0(self) -> None:
        spec = pod_spec(limits={"cpu": "0", "memory": "200Mi"}, overhead={"cpu": "120m", "memory": "64Mi", "x/y": "1"})
        assert limits_of(spec) == nano(cpu="0", memory="264Mi")

    def test_it_is_added_on_top_of_pod_level_resources_and_of_the_init_peak(self) -> None:
        pod_level = resources({"memory": "1Gi"}, {"memory": "2Gi"})
        spec = pod_spec(
            cpu="1", init=[container("i", cpu="3")], pod_level=pod_level, overhead={"cpu": "1", "memory": "1Gi"}
        )
        assert requests_of(spec) == nano(cpu="4", memory="2Gi")
        assert limits_of(spec) == nano(memory="3Gi")
