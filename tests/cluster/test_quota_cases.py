"""Every row of quota-cases.yaml on a real cluster: ours counts what the native quota counts, and is there first.

All rows run at the same time, each in a namespace of its own, save for those that change the whole cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.case_objects import CASES, LIMITED, LIMITED_ADMISSION, Prerequisites
from tests.cluster.quota_case import CasePlay
from tests.cluster.rest import Rest, rest_client
from tests.controlplane.control_plane import ControlPlane
from tests.controlplane.waiting import BUSY_FACTOR
from tests.figures import tell
from tests.operator_process import OperatorProcess

ALONE = {
    "scope-global-default-priorityclass": "its class is written into every pod of the cluster",
    "pvc-default-class": "its class is written into every claim of the cluster",
    "adm-not-enforced-before-status": "it freezes the native controller",
    "pod-deleted-grace-twice": "what is right is so for seconds, which is too short on a busy machine",
}
SLOWER = {"pod-deleted-grace-twice": 2}
"""And so it goes slower than it could, but ends before pods on nodes that are not there are taken away (60 s)."""
WE_ACCEPT = {
    "val-storage-class-above-9pi": "the native test for integers overflows (kubernetes/kubernetes#88965)",
}
"""Quotas that the API server refuses and ours need not."""

RIGHT_ON_THE_WAY: dict[str, list[dict[str, str]]] = {
    "lag-nodeport-ports-shrink": [{"services.nodeports": "3"}, {"services.nodeports": "1"}],
    "lag-resize-down": [{"requests.cpu": "1"}],
    "lag-resize-down-up-double-charge": [{"requests.cpu": "3"}],
    "lag-resize-status-first-appearance": [{"requests.cpu": "1"}, {"requests.cpu": "2"}],
    "pod-deleted-grace-twice": [
        {"pods": "1", "count/pods": "1", "requests.cpu": "1"},
        {"pods": "0", "count/pods": "1", "requests.cpu": "0"},
    ],
}
"""What is right at each look at the status, where the native one waits for a recount."""

TOGETHER = sorted(CASES.keys() - ALONE.keys() - set(LIMITED))
THREADS = 16
SECONDS = 170.0 * BUSY_FACTOR


def play(rest: Rest, case: str, **further: Any) -> CasePlay:
    further |= {"accepted": case in WE_ACCEPT, "slower": SLOWER.get(case, 1)}
    played = CasePlay(rest, CASES[case], right=RIGHT_ON_THE_WAY.get(case), **further)
    played.run()
    return played


class Tally:
    """What has been compared."""

    def __init__(self) -> None:
        self.cases: list[CasePlay] = []

    def __str__(self) -> str:
        comparisons = sum(each.comparisons for each in self.cases)
        verdicts = sum(each.verdicts for each in self.cases)
        late = sum(each.tolerated for each in self.cases)
        return (
            f"{len(self.cases)} cases, {comparisons} numbers of ours compared, {verdicts} verdicts of the API server; "
            f"{late} times the native quota was behind and let in what it has to refuse"
        )


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """Tells the sum in the end."""
    counted = Tally()
    yield counted
    tell(request.config, f"quota-cases.yaml: {counted}")


@pytest.fixture(scope="module")
def plays(
    request: pytest.FixtureRequest, operator: OperatorProcess, rest: Rest
) -> Iterator[dict[str, Future[CasePlay]]]:
    """The cases that were chosen, all on their way."""
    chosen = {
        item.callspec.params["together"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "together" in getattr(item, "fixturenames", ())
    }
    with ThreadPoolExecutor(THREADS) as pool:
        # Those that take longest first.
        ordered = sorted(chosen, key=lambda case: (case not in RIGHT_ON_THE_WAY and "crd" not in case, case))
        yield {case: pool.submit(play, rest, case) for case in ordered}


@pytest.mark.parametrize("together", TOGETHER)
def test_ours_counts_as_the_native_quota(plays: dict[str, Future[CasePlay]], tally: Tally, together: str) -> None:
    tally.cases.append(plays[together].result(SECONDS))


@pytest.mark.parametrize("case", sorted(ALONE))
def test_so_it_does_where_the_whole_cluster_changes(
    own_control_plane: ControlPlane, plays: dict[str, Future[CasePlay]], rest: Rest, tally: Tally, case: str
) -> None:
    for each in plays.values():
        each.exception(SECONDS)
    name = "kube-controller-manager"
    freeze = {"pause": lambda: own_control_plane.pause(name), "resume": lambda: own_control_plane.resume(name)}
    tally.cases.append(play(rest, case, **freeze))


def test_so_it_does_where_the_api_server_admits_some_objects_only_under_a_quota(
    start_control_plane: Callable[..., ControlPlane], tmp_path: Path, tally: Tally
) -> None:
    config = tmp_path / "admission.json"
    config.write_text(json.dumps(LIMITED_ADMISSION))
    cluster = start_control_plane(extra={"kube-apiserver": [f"--admission-control-config-file={config}"]})
    cluster.kubectl("apply", "--server-side", "-f", "crds/")
    operator = OperatorProcess(cluster.kubeconfig, tmp_path / "operator.log")
    operator.start_and_wait()
    try:
        with rest_client(cluster.kubeconfig) as client:
            Prerequisites(client).make()
            for case in LIMITED:
                tally.cases.append(play(client, case))
    finally:
        operator.stop()


def small_pod(name: str) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "app"}]}}


def case_of_two_pods(hard: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """A case in which the second pod has to be refused."""
    first, second = small_pod("first"), small_pod("second")
    refused = {"create": second, "verdict": "forbidden", "messageContains": "exceeded quota"}
    return {"quota": {"hard": {"pods": hard}}, "objects": [first], "steps": [*steps, refused], "expect": {}}


@pytest.mark.usefixtures("operator")
def test_a_native_quota_that_is_behind_is_asked_again(rest: Rest) -> None:
    """As after a recount from an old list (kubernetes/kubernetes#123434)."""
    behind = {"patch": "ResourceQuota/q", "sub": "status", "with": {"status": {"used": {"pods": "0"}}}}
    known = {"waitAdmitted": small_pod("third")}  # the cache of what refuses pods is behind that of what is read
    played = CasePlay(rest, case_of_two_pods("1", {"used": {"pods": "1"}}, behind | {"verdict": "allowed"}, known))
    played.run()
    assert played.tolerated == 1


@pytest.mark.usefixtures("operator")
def test_what_is_admitted_without_being_too_much_is_no_fault_of_the_native_quota(rest: Rest) -> None:
    played = CasePlay(rest, case_of_two_pods("2"))
    with pytest.raises(TimeoutError, match="no quota of ours has less room than it takes"):
        played.run()
    assert played.tolerated == 0


def test_the_lists_name_cases_that_exist() -> None:
    assert ALONE.keys() | WE_ACCEPT.keys() | RIGHT_ON_THE_WAY.keys() <= CASES.keys()
