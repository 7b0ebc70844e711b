"""While a running pod is resized, the largest of what is asked, allocated and in force counts."""

import pytest

from moorage.objects import PodStatus
from moorage.resources import PodResources, pod_resources
from tests.builders import container, container_status, nano, pod_spec, pod_status, resources, sidecar


def counted(status: PodStatus, *, cpu: str = "500m", limit: str = "1") -> PodResources:
    return pod_resources(pod_spec(cpu=cpu, limits={"cpu": limit}), status)


@pytest.mark.parametrize(
    ("asked", "in_force", "allocated", "counts"),
    [
        pytest.param("500m", "500m", "500m", "500m", id="at rest"),
        pytest.param("900m", "500m", "500m", "900m", id="grown, not yet granted"),
        pytest.param("500m", "900m", "900m", "900m", id="shrunk, still in force"),
        pytest.param("500m", "800m", "900m", "900m", id="allocated is largest"),
        pytest.param("500m", "900m", None, "900m", id="nothing allocated is told"),
    ],
)
def test_the_largest_request_counts(asked: str, in_force: str, allocated: str | None, counts: str) -> None:
    given = container_status(requests={"cpu": in_force}, allocated={"cpu": allocated} if allocated else None)
    assert counted(pod_status(given), cpu=asked).requests == nano(cpu=counts)


@pytest.mark.parametrize(
    ("asked", "in_force", "counts"),
    [("1", "3", "3"), ("3", "1", "3"), ("1", "1", "1")],
    ids=["shrunk", "grown", "at rest"],
)
def test_the_larger_limit_counts_and_what_is_allocated_is_no_limit(asked: str, in_force: str, counts: str) -> None:
    given = container_status(limits={"cpu": in_force}, allocated={"cpu": "9"})
    assert counted(pod_status(given), limit=asked).limits == nano(cpu=counts)


def test_each_resource_is_compared_on_its_own() -> None:
    spec = pod_spec(cpu="500m", memory="1Gi", limits={"cpu": "1", "memory": "1Gi"})
    given = container_status(
        requests={"cpu": "800m", "memory": "2Gi"},
        limits={"cpu": "3", "memory": "512Mi"},
        allocated={"cpu": "900m", "memory": "512Mi"},
    )
    result = pod_resources(spec, pod_status(given))
    assert result.requests == nano(cpu="900m", memory="2Gi")
    assert result.limits == nano(cpu="3", memory="1Gi")


def test_a_resource_told_by_the_status_alone_counts() -> None:
    given = container_status(requests={"memory": "1Gi"}, limits={"memory": "2Gi"})
    assert counted(pod_status(given)).requests == nano(cpu="500m", memory="1Gi")
    assert counted(pod_status(given)).limits == nano(cpu="1", memory="2Gi")


def test_a_status_that_tells_no_resources_is_ignored_even_if_something_is_allocated() -> None:
    assert counted(pod_status(container_status(allocated={"cpu": "2"}))).requests == nano(cpu="500m")


def test_a_status_of_another_container_is_ignored() -> None:
    assert counted(pod_status(container_status("other", requests={"cpu": "9"}))).requests == nano(cpu="500m")


class TestInfeasible:
    """The node can never grant the resize, so what is asked does not count any more."""

    given = container_status(requests={"cpu": "500m"}, limits={"cpu": "1"}, allocated={"cpu": "600m"})

    def test_requests_are_what_is_allocated_or_in_force(self) -> None:
        status = pod_status(self.given, resize_pending="Infeasible")
        assert counted(status, cpu="3", limit="4").requests == nano(cpu="600m")

    def test_limits_are_those_in_force(self) -> None:
        status = pod_status(self.given, resize_pending="Infeasible")
        assert counted(status, cpu="3", limit="4").limits == nano(cpu="1")

    def test_limits_are_nothing_when_none_is_in_force(self) -> None:
        status = pod_status(container_status(requests={"cpu": "1"}), resize_pending="Infeasible")
        assert counted(status, limit="4").limits == {}

    def test_a_container_without_reported_resources_keeps_its_spec(self) -> None:
        status = pod_status(container_status(), resize_pending="Infeasible")
        assert counted(status, cpu="3", limit="4").requests == nano(cpu="3")

    @pytest.mark.parametrize("reason", ["Deferred", ""])
    def test_a_resize_that_is_only_put_off_still_counts(self, reason: str) -> None:
        status = pod_status(self.given, resize_pending=reason)
        assert counted(status, cpu="3", limit="4").requests == nano(cpu="3")
        assert counted(status, cpu="3", limit="4").limits == nano(cpu="4")

    def test_the_first_such_condition_decides(self) -> None:
        first = pod_status(self.given, resize_pending="Deferred")
        second = pod_status(resize_pending="Infeasible")
        both = PodStatus(
            container_statuses=first.container_statuses,
            conditions=[*(first.conditions or ()), *(second.conditions or ())],
        )
        assert counted(both, cpu="3").requests == nano(cpu="3")


class TestInitContainers:
    spec = pod_spec(cpu="1", init=[container("i", cpu="2"), sidecar("s", cpu="500m")])

    def test_a_sidecar_is_resized_like_an_app_container(self) -> None:
        status = pod_status(init=[container_status("s", requests={"cpu": "4"})])
        assert pod_resources(self.spec, status).requests == nano(cpu="5")

    def test_an_ordinary_init_container_counts_by_its_spec(self) -> None:
        status = pod_status(init=[container_status("i", requests={"cpu": "9"}, allocated={"cpu": "9"})])
        assert pod_resources(self.spec, status).requests == nano(cpu="2")


def test_resources_of_the_pod_as_a_whole_count_by_the_spec() -> None:
    spec = pod_spec(cpu="1", pod_level=resources({"cpu": "300m"}, {"cpu": "2"}))
    status = pod_status(container_status(requests={"cpu": "5"}, limits={"cpu": "9"}))
    assert pod_resources(spec, status).requests == nano(cpu="300m")
    assert pod_resources(spec, status).limits == nano(cpu="2")
