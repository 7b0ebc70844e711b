"""Usage of pods, case by case as the native quota controller of Kubernetes v1.36.3 showed it on a live cluster.

The cases also hold verdicts and messages of admission; these are for the part that explains admission.
"""

import pytest

from moorage.quantity import parse_nano
from moorage.quota.names import pod_source
from tests.unit.native_cases import CASES, Play, expected

COUNTS_NO_PODS = "counts objects that are no pods"
MADE_BY_CONTROLLERS = "its pods are made by controllers, which only a control plane runs"
LIMIT_RANGER = "needs what a LimitRange fills in"
LIMIT_RANGER_REFUSES = "is about refusals by a LimitRange and has no usage"
REFUSED_QUOTA = "the quota itself is refused and has no usage"
CLAIMS = "ResourceClaims are charged to the same names as pods"

NOT_COVERED = {
    "scope-volume-attributes-class": COUNTS_NO_PODS,
    "scope-vac-with-class-key": COUNTS_NO_PODS,
    "scope-job-deadline-is-not-pod-deadline": MADE_BY_CONTROLLERS,
    "pvc-default-class": COUNTS_NO_PODS,
    "pvc-fraction-rounds-up": COUNTS_NO_PODS,
    "pvc-status-never-refused": COUNTS_NO_PODS,
    "pvc-terminating-still-counts": COUNTS_NO_PODS,
    "pvc-expansion-charged": COUNTS_NO_PODS,
    "svc-mix": COUNTS_NO_PODS,
    "svc-nodeport-zero-allows-clusterip": COUNTS_NO_PODS,
    "svc-type-change-charged": COUNTS_NO_PODS,
    "svc-lb-toggle-off-keeps-ports": COUNTS_NO_PODS,
    "svc-count-subkey-never-tracked": COUNTS_NO_PODS,
    "count-legacy-and-generic": COUNTS_NO_PODS,
    "count-workloads": MADE_BY_CONTROLLERS,
    "count-crd": COUNTS_NO_PODS,
    "adm-limited-resource-needs-quota": "is about the API server's admission configuration and has no usage",
    "lag-crd-created-after-quota": COUNTS_NO_PODS,
    "val-besteffort-with-cpu": REFUSED_QUOTA,
    "val-conflicting-scopes": REFUSED_QUOTA,
    "val-selector-operator": REFUSED_QUOTA,
    "val-selector-values": REFUSED_QUOTA,
    "val-unknown-names": REFUSED_QUOTA,
    "val-hugepages-under-scope": REFUSED_QUOTA,
    "val-storage-class-above-9pi": REFUSED_QUOTA,
    "val-vac-scope-with-pods": REFUSED_QUOTA,
    "lr-request-above-default-limit": LIMIT_RANGER_REFUSES,
    "lr-explicit-zero-is-kept": LIMIT_RANGER,
    "lr-max-min-messages": LIMIT_RANGER_REFUSES,
    "lr-ratio": LIMIT_RANGER_REFUSES,
    "lr-pod-level-hugepages-blind": LIMIT_RANGER_REFUSES,
    "lr-resize-injects-defaults": LIMIT_RANGER,
    "lr-two-objects-conflict": LIMIT_RANGER_REFUSES,
    "lr-validation-duplicate-type": LIMIT_RANGER_REFUSES,
    "dra-extended-resource-both-sides": CLAIMS,
    "dra-missing-class-depends-on-other-keys": COUNTS_NO_PODS,
    "dra-template-not-claim": COUNTS_NO_PODS,
    "dra-scheduler-claim-not-double-charged": CLAIMS,
    "lag-nodeport-ports-shrink": COUNTS_NO_PODS,
    "leak-already-exists": COUNTS_NO_PODS,
}

OTHER_NAMES = {
    "scope-nonstandard-names-slip-through": {"count/secrets"},
    "usage-objects-older-than-quota": {"count/configmaps"},
}
"""Names in covered cases that count objects which are no pods."""

AHEAD_OF_NATIVE = {
    "lag-resize-down": [{"requests.cpu": "1"}],
    "lag-resize-down-up-double-charge": [{"requests.cpu": "3"}],
    "lag-resize-status-first-appearance": [{"requests.cpu": "1"}, {"requests.cpu": "2"}],
    "pod-deleted-grace-twice": [
        {"pods": "1", "count/pods": "1", "requests.cpu": "1"},
        {"pods": "0", "count/pods": "1", "requests.cpu": "0"},
    ],
}
"""What Moorage says at each look at the status, where the native one waits for a recount."""

SPELLED_OTHERWISE = {
    "pod-suffix-decimal-first": {"requests.memory": "1049576Ki"},
}
"""Native sums are spelled like their first term, in an order that is not fixed; ours always in powers of 1024."""

COVERED = sorted(CASES.keys() - NOT_COVERED.keys())


@pytest.mark.parametrize("case", COVERED)
def test_usage_is_what_the_native_controller_counts(case: str) -> None:
    counted = Play(CASES[case]).used()
    for quota, used in expected(CASES[case]).items():
        assert amounts(counted[quota]) == amounts(without(used, OTHER_NAMES.get(case, set())))


@pytest.mark.parametrize("case", COVERED)
def test_usage_is_spelled_as_the_native_controller_spells_it(case: str) -> None:
    counted = Play(CASES[case]).used()
    for quota, used in expected(CASES[case]).items():
        assert counted[quota] == without(used, OTHER_NAMES.get(case, set())) | SPELLED_OTHERWISE.get(case, {})


@pytest.mark.parametrize("case", [case for case in COVERED if Play(CASES[case]).steps])
def test_usage_on_the_way_is_what_the_native_status_shows_or_will_show_later(case: str) -> None:
    steps = Play(CASES[case]).steps
    ours = AHEAD_OF_NATIVE.get(case)
    for at, (native, counted) in enumerate(steps):
        right = native if ours is None else {"q": ours[at]}
        assert {quota: amounts(counted[quota]) for quota in right} == {quota: amounts(right[quota]) for quota in right}


@pytest.mark.parametrize("case", [case for case in COVERED if "absent" in CASES[case]["expect"]])
def test_names_that_kubernetes_accepts_and_never_tracks_are_said_to_be_uncounted(case: str) -> None:
    play = Play(CASES[case])
    assert play.rules("q").uncounted == tuple(sorted(CASES[case]["expect"]["absent"]))
    assert play.used()["q"].keys().isdisjoint(CASES[case]["expect"]["absent"])


class TestTheLists:
    """A later part makes the exclusions shorter; nothing may stay in them that is covered."""

    def test_they_name_cases_that_exist(self) -> None:
        assert NOT_COVERED.keys() <= CASES.keys()
        assert OTHER_NAMES.keys() | AHEAD_OF_NATIVE.keys() | SPELLED_OTHERWISE.keys() <= set(COVERED)

    @pytest.mark.parametrize("case", sorted(NOT_COVERED))
    def test_no_case_that_is_left_out_comes_out_right_as_it_is(self, case: str) -> None:
        native = expected(CASES[case])
        if any(native.values()):
            counted = Play(CASES[case]).used()
            assert any(amounts(counted[quota]) != amounts(used) for quota, used in native.items())

    @pytest.mark.parametrize("case", COVERED)
    def test_every_case_that_is_run_has_usage_to_compare(self, case: str) -> None:
        assert any(expected(CASES[case]).values())

    @pytest.mark.parametrize("case", COVERED)
    def test_only_names_that_count_no_pods_are_skipped(self, case: str) -> None:
        names = {name for used in expected(CASES[case]).values() for name in used}
        assert OTHER_NAMES.get(case, set()) == {name for name in names if pod_source(name) is None}

    def test_native_is_late_wherever_we_are_ahead_of_it(self) -> None:
        for case, ours in AHEAD_OF_NATIVE.items():
            shown = [native["q"] for native, _ in Play(CASES[case]).steps]
            assert len(shown) == len(ours)
            assert shown != ours


def amounts(used: dict[str, str]) -> dict[str, int]:
    """Return amounts in nano-units, to compare numbers and not texts."""
    return {name: parse_nano(text) for name, text in used.items()}


def without(used: dict[str, str], names: set[str]) -> dict[str, str]:
    """Return usage without these names."""
    return {name: text for name, text in used.items() if name not in names}
