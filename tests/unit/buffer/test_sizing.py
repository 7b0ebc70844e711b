"""How many units a buffer holds, and how many of them are active and standby."""

from fractions import Fraction

import pytest

from moorage.buffer.rate import parse_duration, parse_rate
from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import MAX_REPLICAS, Bounds, Size, SizingError
from moorage.buffer.sizing import size
from tests.builders import nano

ACTIVE, STANDBY = Strategy.ACTIVE, Strategy.STANDBY
ONE_CPU = nano(cpu="1")


def arrivals(rate: str | int = 2, resume: str = "30s", cold: str = "90s") -> ScaleUp:
    return ScaleUp(rate=parse_rate(rate), resume=parse_duration(resume), cold=parse_duration(cold))


def tiers(result: Size) -> tuple[int, int]:
    assert result.active + result.standby == result.replicas
    return result.active, result.standby


class TestFromRateAndLatencies:
    @pytest.mark.parametrize(
        ("rate", "resume", "cold", "active", "standby"),
        [
            pytest.param(2, "30s", "90s", 60, 120, id="the published example"),
            pytest.param("0.5", "35s", "120s", 18, 42, id="17.5 rounds up and the total stays 60"),
            pytest.param("0.07", "100s", "200s", 7, 7, id="no float surprise: 7 and 14"),
            pytest.param("0.1", "30s", "90s", 3, 6, id="nor here: 0.1 x 30"),
            pytest.param("0.29", "100s", "1000s", 29, 261, id="nor here: 0.29 x 100"),
            pytest.param("120/m", "30s", "1m30s", 60, 120, id="per minute"),
            pytest.param("1/h", "30s", "90s", 1, 0, id="one pod an hour: one unit"),
            pytest.param("0.001", "0", "1s", 0, 1, id="a thousandth of a pod is a unit"),
            pytest.param("0.35", "10s", "10.001s", 4, 0, id="3.5 and 3.50035: the total is rounded up once"),
            pytest.param(2, "500ms", "90s", 1, 179, id="below a second"),
            pytest.param(0, "30s", "90s", 0, 0, id="no arrivals"),
            pytest.param(2, "0", "90s", 0, 180, id="instant resume: all standby"),
            pytest.param(2, "90s", "90s", 180, 0, id="resume as slow as a cold start: all active"),
            pytest.param(2, "90s", "60s", 120, 0, id="resume slower: active covers the cold start"),
            pytest.param(2, "0", "0", 0, 0, id="no latency at all"),
        ],
    )
    def test_active_covers_the_resume_and_standby_the_rest_of_the_cold_start(
        self, rate: str | int, resume: str, cold: str, active: int, standby: int
    ) -> None:
        assert tiers(size(arrivals(rate, resume, cold), Bounds())) == (active, standby)

    def test_the_rate_is_named_as_what_decided(self) -> None:
        result = size(arrivals(), Bounds())
        assert (result.bound_by, result.floor, result.cap) == ("rate", None, None)


class TestStrategies:
    @pytest.mark.parametrize(
        ("strategy", "active", "standby"),
        [
            pytest.param(None, 60, 120, id="left out: both tiers"),
            pytest.param(ACTIVE, 180, 0, id="active alone covers the cold start"),
            pytest.param(STANDBY, 0, 120, id="standby alone: the wait for a resume is accepted"),
        ],
    )
    def test_with_sizing_all_of_the_total_is_of_the_tier_that_is_named(
        self, strategy: Strategy | None, active: int, standby: int
    ) -> None:
        assert tiers(size(arrivals(), Bounds(), strategy)) == (active, standby)

    @pytest.mark.parametrize(
        ("strategy", "active", "standby"),
        [(None, 10, 0), (ACTIVE, 10, 0), (STANDBY, 0, 10)],
        ids=["left out: active, as upstream", "active", "standby"],
    )
    def test_without_sizing_the_total_is_upstreams(self, strategy: Strategy | None, active: int, standby: int) -> None:
        assert tiers(size(None, Bounds(replicas=10), strategy)) == (active, standby)

    @pytest.mark.parametrize(("resume", "cold"), [("90s", "90s"), ("90s", "60s")])
    def test_standby_alone_that_resumes_no_quicker_than_a_cold_start_is_nothing(self, resume: str, cold: str) -> None:
        assert tiers(size(arrivals(2, resume, cold), Bounds(), STANDBY)) == (0, 0)

    def test_standby_alone_is_rounded_up_once(self) -> None:
        assert tiers(size(arrivals("0.5", "35s", "120s"), Bounds(), STANDBY)) == (0, 43)

    @pytest.mark.parametrize(("strategy", "active", "standby"), [(None, 60, 240), (ACTIVE, 300, 0), (STANDBY, 0, 300)])
    def test_a_floor_fills_the_tier_that_is_named_and_else_standby(
        self, strategy: Strategy | None, active: int, standby: int
    ) -> None:
        assert tiers(size(arrivals(), Bounds(replicas=300), strategy)) == (active, standby)

    def test_their_names_are_upstreams(self) -> None:
        assert ACTIVE == "buffer.x-k8s.io/active-capacity"
        assert STANDBY == "buffer.gke.io/standby-capacity"


class TestFloor:
    @pytest.mark.parametrize(
        ("replicas", "percentage", "workload", "total", "bound_by"),
        [
            pytest.param(10, None, None, 10, "replicas", id="replicas alone"),
            pytest.param(0, None, None, 0, "replicas", id="0 is a size"),
            pytest.param(None, 20, 10, 2, "percentage", id="percentage alone"),
            pytest.param(None, 33, 10, 4, "percentage", id="rounded up"),
            pytest.param(None, 20, 1, 1, "percentage", id="rounded up for a small workload"),
            pytest.param(None, 29, 100, 29, "percentage", id="no float surprise"),
            pytest.param(None, 200, 10, 20, "percentage", id="more than the workload"),
            pytest.param(None, 50, 0, 0, "percentage", id="a workload at zero"),
            pytest.param(None, 0, 10, 0, "percentage", id="0 percent is a size"),
            pytest.param(5, 20, 10, 5, "replicas", id="the larger: replicas"),
            pytest.param(1, 20, 10, 2, "percentage", id="the larger: percentage"),
            pytest.param(2, 20, 10, 2, "replicas", id="equal: replicas"),
            pytest.param(0, 20, 10, 2, "percentage", id="replicas 0 is only a floor"),
            pytest.param(3, 90, None, 3, "replicas", id="without a workload percentage is ignored"),
            pytest.param(MAX_REPLICAS, None, None, MAX_REPLICAS, "replicas", id="the largest count"),
        ],
    )
    def test_it_is_the_larger_of_replicas_and_percentage(
        self, replicas: int | None, percentage: int | None, workload: int | None, total: int, bound_by: str
    ) -> None:
        result = size(None, Bounds(replicas=replicas, percentage=percentage, workload_replicas=workload))
        assert (result.replicas, result.bound_by, result.floor) == (total, bound_by, total)

    @pytest.mark.parametrize(
        ("replicas", "active", "standby", "bound_by"),
        [(100, 60, 120, "rate"), (180, 60, 120, "rate"), (200, 60, 140, "replicas")],
        ids=["below what the rate asks for", "equal", "above: the rest is standby"],
    )
    def test_with_sizing_it_only_ever_raises_the_total(
        self, replicas: int, active: int, standby: int, bound_by: str
    ) -> None:
        result = size(arrivals(), Bounds(replicas=replicas))
        assert (*tiers(result), result.bound_by) == (active, standby, bound_by)

    def test_it_counts_when_nothing_arrives(self) -> None:
        assert tiers(size(arrivals(0), Bounds(replicas=10))) == (0, 10)

    def test_where_standby_buys_nothing_it_is_active(self) -> None:
        assert tiers(size(arrivals(2, "90s", "60s"), Bounds(replicas=300))) == (300, 0)


class TestCap:
    @pytest.mark.parametrize(
        ("limits", "unit", "cap"),
        [
            pytest.param(nano(cpu="4"), nano(cpu="1"), 4, id="a whole number"),
            pytest.param(nano(cpu="4"), nano(cpu="1500m"), 2, id="rounded down"),
            pytest.param(nano(cpu="1"), nano(cpu="250m"), 4, id="milli-units"),
            pytest.param(nano(cpu="100m"), nano(cpu="200m"), 0, id="not one fits"),
            pytest.param(nano(cpu="0"), nano(cpu="1"), 0, id="nothing allowed"),
            pytest.param(nano(cpu="-1"), nano(cpu="1"), 0, id="less than nothing allowed"),
            pytest.param(
                nano(cpu="2", memory="2000Mi"), nano(cpu="100m", memory="200Mi"), 10, id="the tightest decides"
            ),
            pytest.param(
                nano(cpu="4", **{"x.com/gpu": "1"}), nano(cpu="1", memory="1Gi"), 4, id="only common resources"
            ),
            pytest.param(nano(cpu="4", memory="1"), {"cpu": 10**9, "memory": 0}, 4, id="a request of 0 limits nothing"),
            pytest.param(nano(cpu="1"), nano(cpu="1n"), 1000, id="requests are at least a milli-unit"),
            pytest.param(nano(cpu="1"), nano(cpu="1100u"), 500, id="requests are rounded up to milli-units"),
        ],
    )
    def test_it_is_how_many_units_fit_into_limits(self, limits: dict[str, int], unit: dict[str, int], cap: int) -> None:
        result = size(None, Bounds(limits=limits, unit=unit))
        assert (result.replicas, result.cap, result.bound_by) == (cap, cap, "limits")

    @pytest.mark.parametrize(
        ("replicas", "total", "bound_by"),
        [(30, 20, "limits"), (20, 20, "replicas"), (15, 15, "replicas"), (0, 0, "replicas")],
        ids=["cut", "just reached", "not reached", "replicas 0 is a size, so limits do not take over"],
    )
    def test_it_cuts_a_floor(self, replicas: int, total: int, bound_by: str) -> None:
        result = size(None, Bounds(replicas=replicas, limits=nano(cpu="20"), unit=ONE_CPU))
        assert (result.replicas, result.bound_by) == (total, bound_by)

    @pytest.mark.parametrize(
        ("cpu", "active", "standby", "bound_by"),
        [
            ("200", 60, 120, "rate"),
            ("180", 60, 120, "rate"),
            ("100", 60, 40, "limits"),
            ("60", 60, 0, "limits"),
            ("40", 40, 0, "limits"),
            ("0", 0, 0, "limits"),
        ],
        ids=[
            "not reached",
            "just reached",
            "cuts standby first",
            "down to the active ones",
            "then active",
            "to nothing",
        ],
    )
    def test_with_sizing_it_cuts_standby_first(self, cpu: str, active: int, standby: int, bound_by: str) -> None:
        result = size(arrivals(), Bounds(limits=nano(cpu=cpu), unit=ONE_CPU))
        assert (*tiers(result), result.bound_by) == (active, standby, bound_by)

    def test_with_sizing_it_is_no_size_of_its_own(self) -> None:
        assert tiers(size(arrivals(0), Bounds(limits=nano(cpu="20"), unit=ONE_CPU))) == (0, 0)

    def test_it_cuts_what_a_floor_raised(self) -> None:
        bounds = Bounds(replicas=5, percentage=80, workload_replicas=10, limits=nano(cpu="4"), unit=ONE_CPU)
        result = size(None, bounds)
        assert (result.replicas, result.floor, result.cap, result.bound_by) == (4, 8, 4, "limits")


class TestInt32:
    @pytest.mark.parametrize(
        ("scale_up", "bounds"),
        [
            pytest.param(arrivals(999999999, "1h", "24h"), Bounds(), id="rate"),
            pytest.param(None, Bounds(percentage=MAX_REPLICAS, workload_replicas=MAX_REPLICAS), id="percentage"),
            pytest.param(None, Bounds(limits=nano(memory="10Ti"), unit=nano(memory="1")), id="limits"),
        ],
    )
    def test_a_size_beyond_it_is_cut_to_it(self, scale_up: ScaleUp | None, bounds: Bounds) -> None:
        result = size(scale_up, bounds)
        assert (result.replicas, result.bound_by) == (MAX_REPLICAS, "int32")
        assert sum(tiers(result)) == MAX_REPLICAS

    def test_a_huge_cap_is_no_reason_to_cut(self) -> None:
        result = size(None, Bounds(replicas=7, limits=nano(memory="10Ti"), unit=nano(memory="1")))
        assert (result.replicas, result.bound_by) == (7, "replicas")

    def test_percentages_are_not_multiplied_in_32_bits(self) -> None:
        result = size(None, Bounds(replicas=5, percentage=30_000, workload_replicas=100_000))
        assert (result.replicas, result.bound_by) == (30_000_000, "percentage")


class TestNoSize:
    @pytest.mark.parametrize(
        "bounds",
        [
            pytest.param(Bounds(), id="nothing"),
            pytest.param(Bounds(percentage=20), id="a percentage of no workload"),
            pytest.param(Bounds(workload_replicas=10, unit=ONE_CPU), id="a workload alone"),
        ],
    )
    def test_nothing_that_gives_a_size_is_an_error_that_says_what_would(self, bounds: Bounds) -> None:
        with pytest.raises(SizingError) as error:
            size(None, bounds)
        assert error.value.reason == "NoSize"
        assert str(error.value) == (
            "no size is given: set spec.sizing, spec.replicas, spec.percentage (with spec.scalableRef) or spec.limits"
        )

    @pytest.mark.parametrize("scale_up", [None, arrivals()], ids=["without sizing", "with sizing"])
    @pytest.mark.parametrize("replicas", [None, 3], ids=["limits alone", "with replicas"])
    @pytest.mark.parametrize(
        ("limits", "unit", "message"),
        [
            pytest.param(
                nano(**{"x.com/gpu": "4", "pods": "9"}),
                nano(memory="1Gi", cpu="1"),
                "spec.limits names pods, x.com/gpu, but a unit requests cpu, memory; "
                "name a resource that the pod template requests",
                id="nothing in common",
            ),
            pytest.param(
                nano(cpu="4"),
                {},
                "spec.limits names cpu, but a unit requests nothing; name a resource that the pod template requests",
                id="a unit without requests",
            ),
            pytest.param(
                nano(cpu="4"),
                nano(cpu="0"),
                "spec.limits names cpu, but a unit requests nothing; name a resource that the pod template requests",
                id="requests of 0",
            ),
            pytest.param(
                {},
                nano(cpu="1"),
                "spec.limits names nothing, but a unit requests cpu; name a resource that the pod template requests",
                id="empty limits",
            ),
        ],
    )
    def test_limits_that_name_nothing_a_unit_requests_are_an_error_not_ignored(
        self, limits: dict[str, int], unit: dict[str, int], message: str, replicas: int | None, scale_up: ScaleUp | None
    ) -> None:
        with pytest.raises(SizingError) as error:
            size(scale_up, Bounds(replicas=replicas, limits=limits, unit=unit))
        assert (error.value.reason, str(error.value)) == ("LimitsMatchNothing", message)

    def test_limits_without_a_shape_are_an_error(self) -> None:
        with pytest.raises(SizingError) as error:
            size(None, Bounds(replicas=3, limits=nano(cpu="4")))
        assert error.value.reason == "ShapeUnknown"
        assert str(error.value) == "spec.limits needs the requests of one unit, and these are not known"

    def test_a_shape_without_limits_is_not_needed(self) -> None:
        assert size(None, Bounds(replicas=3)).replicas == 3


@pytest.mark.parametrize(
    ("resume", "cold", "helps"), [(30, 90, True), (90, 90, False), (90, 30, False), (0, 1, True), (0, 0, False)]
)
def test_standby_helps_only_when_a_resume_is_quicker_than_a_cold_start(resume: int, cold: int, helps: bool) -> None:
    assert ScaleUp(Fraction(1), Fraction(resume), Fraction(cold)).standby_helps is helps
