"""How many replicas fit, and whether a rollout has room for its pods beside the old ones."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.quota.admission import QuotaState, judge_claim, judge_pod
from moorage.quota.replicas import (
    RollingUpdate,
    after,
    judge_replicas,
    judge_rollout,
    rolling_update,
    together,
)
from moorage.quota.verdict import Verdict
from tests.builders import limits, nano, pod, quota_state, volume_claim

QUOTA = quota_state("q", hard={"pods": "10", "requests.cpu": "2"}, used={"pods": "1", "requests.cpu": "500m"})


def one(*quotas: QuotaState, cpu: str | None = "200m") -> Verdict:
    return judge_pod(pod(cpu=cpu), quotas)


class TestReplicas:
    def test_all_that_fit_are_admitted(self) -> None:
        verdict = judge_replicas(one(QUOTA), 7, [QUOTA])
        assert (verdict.admitted, verdict.fits) == (True, 7)

    def test_the_first_that_is_refused_says_why_with_what_the_others_use(self) -> None:
        verdict = judge_replicas(one(QUOTA), 8, [QUOTA])
        assert verdict.fits == 7
        assert [each.message for each in verdict.failures] == [
            "requests.cpu: 200m requested, but 1900m of 2 is used, which leaves 100m"
        ]

    def test_what_is_refused_for_itself_fits_not_once(self) -> None:
        bound = quota_state("b", limits(max={"cpu": "100m"}))
        verdict = judge_replicas(one(QUOTA, bound), 3, [QUOTA, bound])
        assert ([each.step.value for each in verdict.failures], verdict.fits) == (["bounds"], 0)

    def test_none_that_are_wanted_are_none_that_are_refused(self) -> None:
        full = quota_state("q", hard={"pods": "0"})
        verdict = judge_replicas(one(full), 0, [full])
        assert (verdict.admitted, verdict.fits) == (True, 0)

    def test_without_a_limit_any_number_fits(self) -> None:
        assert judge_replicas(one(), 10**6, []).fits is None

    def test_a_quota_that_only_watches_tells_of_the_first_that_it_would_refuse(self) -> None:
        watched = quota_state("w", hard={"pods": "2"}, audit=True)
        verdict = judge_replicas(one(watched), 3, [watched])
        assert (verdict.admitted, verdict.fits) == (True, None)
        assert [each.message for each in verdict.audited] == ["pods: 1 requested, but 2 of 2 is used, which leaves 0"]

    def test_claims_of_a_replica_come_together(self) -> None:
        quota = quota_state("q", hard={"requests.storage": "10Gi", "persistentvolumeclaims": "9"})
        claims = [judge_claim(volume_claim(storage=storage), [quota]) for storage in ("1Gi", "2Gi")]
        both = together(claims)
        assert both.growth == {"q": nano(**{"requests.storage": "3Gi", "persistentvolumeclaims": "2"})}
        assert judge_replicas(both, 4, [quota]).fits == 3


def test_what_has_grown_can_be_taken_back() -> None:
    growth = one(QUOTA).growth
    assert after(after([QUOTA], growth, 3), growth, -3) == [QUOTA]


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(10, None, None, (3, 2), id="a quarter, surge rounded up and unavailable down"),
        pytest.param(1, None, None, (1, 0), id="of one replica"),
        pytest.param(10, 0, 0, (0, 1), id="nothing at all would never end"),
        pytest.param(3, 0, "25%", (0, 1), id="nor what is rounded to nothing"),
        pytest.param(3, "100%", 0, (3, 0), id="percentages"),
        pytest.param(3, 2, 1, (2, 1), id="numbers"),
    ],
)
def test_how_a_deployment_rolls(replicas: int, surge: Any, unavailable: Any, expected: tuple[int, int]) -> None:
    assert rolling_update(replicas, surge, unavailable) == RollingUpdate(*expected)


@pytest.mark.parametrize("value", ["lots", "x%", "1.5%", "", "5"])
def test_anything_else_is_an_error(value: str) -> None:
    with pytest.raises(ValueError, match="maxSurge must be a number or a percentage"):
        rolling_update(1, value)


class TestRollouts:
    @pytest.mark.parametrize(
        ("pods", "update", "fits", "room", "stuck"),
        [
            pytest.param(4, RollingUpdate(1, 0), 3, True, False, id="there is room"),
            pytest.param(7, RollingUpdate(2, 1), 0, False, False, id="none, but an old one may go first"),
            pytest.param(7, RollingUpdate(2, 0), 0, False, True, id="none, and none may go first"),
            pytest.param(6, RollingUpdate(2, 0), 1, False, False, id="room for one of two"),
            pytest.param(7, RollingUpdate(0, 1), 0, True, False, id="no room is needed"),
        ],
    )
    def test_need_room_beside_the_old_pods(
        self, pods: int, update: RollingUpdate, fits: int, room: bool, stuck: bool
    ) -> None:
        unit = one(QUOTA)
        old = {quota: {name: pods * more for name, more in names.items()} for quota, names in unit.growth.items()}
        found = judge_rollout(update, unit, old, [QUOTA], pods=pods)
        assert (found.fits, found.has_room, found.is_stuck) == (fits, room, stuck)

    def test_no_quota_limits_them_that_is_only_watched(self) -> None:
        watched = quota_state("q", hard={"pods": "0"}, audit=True)
        found = judge_rollout(RollingUpdate(1, 0), one(watched), {}, [watched], pods=1)
        assert (found.fits, found.has_room, found.is_stuck) == (None, True, False)
