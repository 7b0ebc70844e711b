"""The story of one namespace: defaults, then bounds, then the number of pods, then the totals."""

from __future__ import annotations

import pytest

from moorage.quota.admission import QuotaState, Verdict, judge_pod
from moorage.quota.bounds import Limits
from moorage.quota.ledger import Ledger, Terms
from tests.builders import limits, nano, pod, pod_use, quota_state, resources

HARD = {"requests.cpu": "2000m", "requests.memory": "2048Mi", "pods": "6"}
PER_POD = {"cpu": "1000m", "memory": "1024Mi"}
DEFAULT = {"cpu": "200m", "memory": "256Mi"}
NAMESPACE, NAME = "team-a", "team-a"


class Namespace:
    """A namespace with one quota: what is admitted is stored, what is refused is not."""

    def __init__(self, *entries: Limits) -> None:
        self._entries = entries
        self._ledger = Ledger()
        self._ledger.set_quota(NAMESPACE, NAME, Terms(frozenset(HARD)))

    @property
    def used(self) -> dict[str, int]:
        return dict(self._ledger.usage(NAMESPACE, NAME).used)

    @property
    def quota(self) -> QuotaState:
        state = quota_state(NAME, *self._entries, hard=HARD)
        return QuotaState(NAME, hard=state.hard, used=self.used, limits=state.limits)

    def create(self, name: str, *, cpu: str | None = None, memory: str | None = None) -> Verdict:
        verdict = judge_pod(pod(name, cpu=cpu, memory=memory), [self.quota])
        if verdict.admitted:
            self._ledger.put(pod_use(name, spec=verdict.spec))
        return verdict

    def delete(self, name: str) -> None:
        self._ledger.delete(name)


@pytest.fixture
def namespace() -> Namespace:
    return Namespace(limits(default_request=DEFAULT), limits("Pod", max=PER_POD))


def test_a_pod_without_requests_gets_the_default_and_is_counted_with_it(namespace: Namespace) -> None:
    verdict = namespace.create("p1")
    assert verdict.admitted
    assert verdict.defaulted == {"app": resources(DEFAULT, {})}
    assert namespace.used == nano(**{"requests.cpu": "200m", "requests.memory": "256Mi", "pods": "1"})


def test_too_big_a_pod_is_refused_though_the_total_has_room(namespace: Namespace) -> None:
    verdict = namespace.create("big", cpu="1500m", memory="256Mi")
    assert [(each.step, each.resource) for each in verdict.failures] == [("bounds", "cpu")]
    assert set(namespace.used.values()) == {0}


def test_the_seventh_small_pod_is_refused_by_their_number(namespace: Namespace) -> None:
    assert all(namespace.create(f"p{n}").admitted for n in range(6))
    verdict = namespace.create("p6", cpu="100m", memory="64Mi")
    assert [(each.step, each.message) for each in verdict.failures] == [
        ("count", "pods: 1 requested, but 6 of 6 is used, which leaves 0")
    ]


def test_the_total_refuses_what_would_exceed_it_and_a_deletion_frees_it(namespace: Namespace) -> None:
    assert namespace.create("a", cpu="1000m", memory="256Mi").admitted
    assert namespace.create("b", cpu="800m", memory="256Mi").admitted
    refused = namespace.create("c", cpu="201m", memory="256Mi")
    assert [(each.step, each.resource) for each in refused.failures] == [("total", "requests.cpu")]
    assert namespace.create("d", cpu="200m", memory="256Mi").admitted
    namespace.delete("b")
    assert namespace.create("c", cpu="201m", memory="256Mi").admitted


def test_without_the_default_pods_without_requests_are_refused_and_not_counted_as_0() -> None:
    namespace = Namespace(limits("Pod", max=PER_POD))
    verdict = namespace.create("p1")
    assert [(each.step, each.resource) for each in verdict.failures] == [
        ("specify", "requests.cpu"),
        ("specify", "requests.memory"),
    ]
    assert set(namespace.used.values()) == {0}
