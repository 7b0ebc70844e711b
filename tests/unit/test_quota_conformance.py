"""Usage, case by case as the native quota controller of Kubernetes v1.36.3 showed it on a live cluster.

The cases also hold verdicts and messages of admission; these are for the part that explains admission.
"""

import pytest

from moorage.quantity import parse_nano
from tests.unit.native_cases import CASES, Case, Play, expected

LIMIT_RANGER_REFUSES = "is about refusals by a LimitRange and has no usage"
REFUSED_QUOTA = "the quota itself is refused and has no usage"

WITHOUT_USAGE = {
    "adm-limited-resource-needs-quota": "is about the API server's admission configuration and has no usage",
    "val-besteffort-with-cpu": REFUSED_QUOTA,
    "val-conflicting-scopes": REFUSED_QUOTA,
    "val-selector-operator": REFUSED_QUOTA,
    "val-selector-values": REFUSED_QUOTA,
    "val-unknown-names": REFUSED_QUOTA,
    "val-hugepages-under-scope": REFUSED_QUOTA,
    "val-storage-class-above-9pi": REFUSED_QUOTA,
    "val-vac-scope-with-pods": REFUSED_QUOTA,
    "lr-request-above-default-limit": LIMIT_RANGER_REFUSES,
    "lr-max-min-messages": LIMIT_RANGER_REFUSES,
    "lr-ratio": LIMIT_RANGER_REFUSES,
    "lr-pod-level-hugepages-blind": LIMIT_RANGER_REFUSES,
    "lr-two-objects-conflict": LIMIT_RANGER_REFUSES,
    "lr-validation-duplicate-type": "LimitRanges themselves are refused and there is no usage",
}

AHEAD_OF_NATIVE = {
    "lag-nodeport-ports-shrink": [{"services.nodeports": "3"}, {"services.nodeports": "1"}],
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

COVERED = sorted(CASES.keys() - WITHOUT_USAGE.keys())


@pytest.mark.parametrize("case", COVERED)
def test_usage_is_what_the_native_controller_counts(case: str) -> None:
    counted = Play(CASES[case]).used()
    for quota, used in expected(CASES[case]).items():
        assert amounts(counted[quota]) == amounts(used)


@pytest.mark.parametrize("case", COVERED)
def test_usage_is_spelled_as_the_native_controller_spells_it(case: str) -> None:
    counted = Play(CASES[case]).used()
    for quota, used in expected(CASES[case]).items():
        assert counted[quota] == used | SPELLED_OTHERWISE.get(case, {})


@pytest.mark.parametrize("case", [case for case in COVERED if Play(CASES[case]).steps])
def test_usage_on_the_way_is_what_the_native_status_shows_or_will_show_later(case: str) -> None:
    steps = Play(CASES[case]).steps
    ours = AHEAD_OF_NATIVE.get(case)
    for at, (native, counted) in enumerate(steps):
        right = native if ours is None else {"q": ours[at]}
        assert {quota: amounts(counted[quota]) for quota in right} == {quota: amounts(right[quota]) for quota in right}


@pytest.mark.parametrize("case", [case for case in COVERED if "absent" in CASES[case]["expect"]])
def test_names_that_kubernetes_accepts_and_never_tracks_are_told_and_have_no_usage(case: str) -> None:
    status = Play(CASES[case]).status("q")
    absent = CASES[case]["expect"]["absent"]
    assert status.used.keys().isdisjoint(absent)
    ready = status.conditions[0]
    assert (ready.type, ready.status) == ("Ready", "False")
    assert [name for name in absent if name.removeprefix("count/") not in ready.message] == []


@pytest.mark.parametrize("case", [case for case in COVERED if "stored" in CASES[case]["expect"]])
def test_the_play_stores_what_the_api_server_stores(case: str) -> None:
    objects = Play(CASES[case]).api.objects
    for name, parts in CASES[case]["expect"]["stored"].items():
        for part, fields in parts.items():
            assert objects[name][part].items() >= fields.items()


class TestTheLists:
    def test_every_case_with_usage_is_run_and_every_other_is_listed(self) -> None:
        assert {case for case in CASES if not has_usage(CASES[case])} == WITHOUT_USAGE.keys()

    def test_they_name_cases_that_are_run(self) -> None:
        assert AHEAD_OF_NATIVE.keys() | SPELLED_OTHERWISE.keys() <= set(COVERED)

    def test_native_is_late_wherever_we_are_ahead_of_it(self) -> None:
        for case, ours in AHEAD_OF_NATIVE.items():
            shown = [native["q"] for native, _ in Play(CASES[case]).steps]
            assert len(shown) == len(ours)
            assert shown != ours


def has_usage(case: Case) -> bool:
    """Whether a case says anything about usage, at its end or on the way."""
    return any(expected(case).values()) or any("used" in step for step in case.get("steps", ()))


def amounts(used: dict[str, str]) -> dict[str, int]:
    """Return amounts in nano-units, to compare numbers and not texts."""
    return {name: parse_nano(text) for name, text in used.items()}
