"""A size says how it came about: each tier's formula, and of each bound whether it decided."""

from dataclasses import replace

import pytest

from moorage.buffer.scale_up import ScaleUp, Strategy
from moorage.buffer.size import Bounds
from moorage.buffer.sizing import size
from tests.builders import nano
from tests.unit.buffer.test_sizing import arrivals

ACTIVE, STANDBY = Strategy.ACTIVE, Strategy.STANDBY


def floor_and_cap(replicas: int | None = None, cpu: str | None = None) -> Bounds:
    return Bounds(replicas=replicas, limits=nano(cpu=cpu) if cpu else None, unit=nano(cpu="1"))


@pytest.mark.parametrize(
    ("scale_up", "bounds", "explanation"),
    [
        pytest.param(
            arrivals(2, "30s", "90s"),
            floor_and_cap(),
            "active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60",
            id="rate alone",
        ),
        pytest.param(
            arrivals(2, "30s", "90s"),
            floor_and_cap(10, "400"),
            "active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60; "
            "floor 10 is exceeded; cap 400 is not reached",
            id="neither floor nor cap reached",
        ),
        pytest.param(
            arrivals(),
            replace(floor_and_cap(300, "400"), room=80),
            "active 60 = 2 pods/s x 30s; standby 20 = 80 - 60; floor 300 is cut by quotas; cap 400 is not reached; "
            "quotas leave room for 80, which decides",
            id="quotas decide",
        ),
        pytest.param(
            None,
            replace(floor_and_cap(5), room=0),
            "active 0; floor 5 is cut by quotas; quotas leave room for 0, which decides",
            id="quotas leave nothing",
        ),
        pytest.param(
            arrivals("0.5", "35s", "2m"),
            floor_and_cap(),
            "active 18 = 0.5 pods/s x 35s; standby 42 = 0.5 pods/s x 120s - 18",
            id="rounded up",
        ),
        pytest.param(
            arrivals("40/h", "500ms", "90s"),
            floor_and_cap(),
            "active 1 = 0.0111111 pods/s x 500ms; standby 0 = 0.0111111 pods/s x 90s - 1",
            id="a rate without a short decimal",
        ),
        pytest.param(
            arrivals(0, "30s", "90s"),
            floor_and_cap(),
            "active 0 = 0 pods/s x 30s; standby 0 = 0 pods/s x 90s - 0",
            id="nothing arrives",
        ),
        pytest.param(
            arrivals(),
            floor_and_cap(300),
            "active 60 = 2 pods/s x 30s; standby 240 = 300 - 60; floor 300 decides",
            id="the floor decides",
        ),
        pytest.param(
            arrivals(),
            floor_and_cap(180, "180"),
            "active 60 = 2 pods/s x 30s; standby 120 = 2 pods/s x 90s - 60; "
            "floor 180 is just met; cap 180 is just reached",
            id="rate, floor and cap agree",
        ),
        pytest.param(
            arrivals(),
            floor_and_cap(300, "300"),
            "active 60 = 2 pods/s x 30s; standby 240 = 300 - 60; floor 300 decides; cap 300 is just reached",
            id="floor and cap agree",
        ),
        pytest.param(
            arrivals(),
            floor_and_cap(None, "100"),
            "active 60 = 2 pods/s x 30s; standby 40 = 100 - 60; cap 100 decides",
            id="the cap cuts standby",
        ),
        pytest.param(
            arrivals(),
            floor_and_cap(50, "40"),
            "active 40; standby 0 = 40 - 40; floor 50 is cut by the cap; cap 40 decides",
            id="the cap cuts active and the floor",
        ),
        pytest.param(
            arrivals(2, "90s", "60s"),
            floor_and_cap(),
            "active 120 = 2 pods/s x 60s; "
            "a resume of 90s is not quicker than a cold start of 60s, so standby buys nothing",
            id="standby buys nothing",
        ),
        pytest.param(
            arrivals(2, "90s", "60s"),
            floor_and_cap(None, "50"),
            "active 50; "
            "a resume of 90s is not quicker than a cold start of 60s, so standby buys nothing; cap 50 decides",
            id="standby buys nothing and the cap cuts",
        ),
        pytest.param(
            arrivals(999999999, "1h", "24h"),
            floor_and_cap(),
            "active 2147483647; standby 0 = 2147483647 - 2147483647; "
            "2147483647 is the largest count that Kubernetes stores",
            id="more than Kubernetes stores",
        ),
    ],
)
def test_both_tiers(scale_up: ScaleUp, bounds: Bounds, explanation: str) -> None:
    assert size(scale_up, bounds).explanation == explanation


@pytest.mark.parametrize(
    ("scale_up", "strategy", "bounds", "explanation"),
    [
        pytest.param(arrivals(), ACTIVE, floor_and_cap(), "active 180 = 2 pods/s x 90s", id="active"),
        pytest.param(arrivals(), ACTIVE, floor_and_cap(300), "active 300; floor 300 decides", id="active by the floor"),
        pytest.param(
            arrivals(2, "90s", "60s"), ACTIVE, floor_and_cap(), "active 120 = 2 pods/s x 60s", id="slow resume"
        ),
        pytest.param(arrivals(), STANDBY, floor_and_cap(), "standby 120 = 2 pods/s x (90s - 30s)", id="standby"),
        pytest.param(
            arrivals(), STANDBY, floor_and_cap(None, "50"), "standby 50; cap 50 decides", id="standby by the cap"
        ),
        pytest.param(
            arrivals(2, "90s", "60s"),
            STANDBY,
            floor_and_cap(),
            "standby 0; a resume of 90s is not quicker than a cold start of 60s, so standby buys nothing",
            id="standby that buys nothing",
        ),
        pytest.param(
            arrivals(2, "90s", "60s"),
            STANDBY,
            floor_and_cap(5),
            "standby 5; "
            "a resume of 90s is not quicker than a cold start of 60s, so standby buys nothing; floor 5 decides",
            id="standby that buys nothing and is asked for all the same",
        ),
    ],
)
def test_one_tier(scale_up: ScaleUp, strategy: Strategy, bounds: Bounds, explanation: str) -> None:
    assert size(scale_up, bounds, strategy).explanation == explanation


@pytest.mark.parametrize(
    ("bounds", "strategy", "explanation"),
    [
        pytest.param(floor_and_cap(10), None, "active 10 from spec.replicas; floor 10 decides", id="replicas"),
        pytest.param(floor_and_cap(10), STANDBY, "standby 10 from spec.replicas; floor 10 decides", id="standby"),
        pytest.param(
            Bounds(percentage=20, workload_replicas=12),
            None,
            "active 3 from spec.percentage; floor 3 (20% of 12 replicas) decides",
            id="percentage",
        ),
        pytest.param(
            Bounds(replicas=1, percentage=20, workload_replicas=12, limits=nano(cpu="2"), unit=nano(cpu="1")),
            None,
            "active 2 from spec.limits; floor 3 (20% of 12 replicas) is cut by the cap; cap 2 decides",
            id="percentage cut by limits",
        ),
        pytest.param(floor_and_cap(None, "4"), None, "active 4 from spec.limits; cap 4 decides", id="limits alone"),
        pytest.param(
            floor_and_cap(4, "4"),
            None,
            "active 4 from spec.replicas; floor 4 decides; cap 4 is just reached",
            id="replicas that just fit",
        ),
        pytest.param(
            Bounds(percentage=2**31 - 1, workload_replicas=200),
            None,
            "active 2147483647; floor 4294967294 (2147483647% of 200 replicas) is cut; "
            "2147483647 is the largest count that Kubernetes stores",
            id="a percentage beyond what Kubernetes stores",
        ),
        pytest.param(
            Bounds(limits=nano(memory="10Ti"), unit=nano(memory="1")),
            None,
            "active 2147483647; "
            "cap 10995116277760 is not reached; 2147483647 is the largest count that Kubernetes stores",
            id="limits beyond what Kubernetes stores",
        ),
    ],
)
def test_without_sizing(bounds: Bounds, strategy: Strategy | None, explanation: str) -> None:
    assert size(None, bounds, strategy).explanation == explanation
