"""What the webhook refuses: only what the API server refuses too, and then with everything that stands against it."""

from __future__ import annotations

import re

import pytest

from moorage.admission.review import MalformedReviewError
from moorage.admission.view import KnownQuota
from tests.builders import limits, quota_state
from tests.unit.admission.judging import (
    Object,
    container,
    counted,
    knowing,
    known,
    of_deployment,
    pod,
    request,
)

FULL = {"hard": {"pods": "10", "requests.cpu": "2"}, "used": {"pods": "10", "requests.cpu": "1900m"}}
SMALL = limits(max={"cpu": "1"}, min={"memory": "16Mi"})
NATIVE = re.compile(r"^exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)")
"""As clients look for it."""


# Whole texts


def test_a_refusal_lists_every_limit_who_holds_it_and_what_would_help() -> None:
    team = known(
        **FULL,
        held={"pods": [("Deployment/web", "8", 8), ("Job/import", "2", 2)], "requests.cpu": [("Job/import", "1", 2)]},
    )
    answer = knowing(team).create(pod("web-x", cpu="500m"))
    assert not answer.allowed
    assert answer.message.splitlines() == [
        "exceeded quota: moorage-team, requested: pods=1,requests.cpu=500m, used: pods=10,requests.cpu=1900m, "
        "limited: pods=10,requests.cpu=2 ",
        "2 limits stand against pod web-x:",
        "  - NamespaceQuota team: pods: 1 requested, but 10 of 10 is used, which leaves 0; most is held by "
        "Deployment/web (8) and Job/import (2); 1 must be freed, as by 1 pod less of Deployment/web",
        "  - NamespaceQuota team: requests.cpu: 500m requested, but 1900m of 2 is used, which leaves 100m; most is "
        "held by Job/import (1, 2 pods); 400m must be freed, as by 1 pod less of Job/import",
    ]


def test_bounds_alone_are_told_as_bounds() -> None:
    answer = knowing(known("team", SMALL)).create(pod(cpu="2", memory="1Mi"))
    assert answer.message.splitlines() == [
        "maximum cpu per Container is 1, but container app requests 2, "
        "minimum memory per Container is 16Mi, but container app requests 1Mi ",
        "2 limits stand against pod web-0:",
        "  - NamespaceQuota team: maximum cpu per Container is 1, but container app requests 2",
        "  - NamespaceQuota team: minimum memory per Container is 16Mi, but container app requests 1Mi",
    ]


def test_an_amount_that_is_missing_is_told_in_the_words_of_the_api_server() -> None:
    team = known(hard={"requests.cpu": "2", "limits.memory": "1Gi"})
    answer = knowing(team).create(pod("a", container("b"), container("a", requests={"cpu": "1"})))
    first = answer.message.splitlines()[0]
    assert first == "failed quota: team: must specify limits.memory for: a,b; requests.cpu for: b "


# What is named


@pytest.mark.parametrize(
    ("quotas", "object_", "named"),
    [
        pytest.param(
            [known("a", **FULL), known("b", hard={"requests.memory": "1Gi"}, used={"requests.memory": "1Gi"})],
            pod(cpu="500m", memory="1Mi"),
            ["NamespaceQuota a: pods", "NamespaceQuota a: requests.cpu", "NamespaceQuota b: requests.memory"],
            id="totals of two quotas",
        ),
        pytest.param(
            [known("a", SMALL, **FULL)],
            pod(cpu="2", memory="1Gi"),
            ["maximum cpu", "NamespaceQuota a: pods", "NamespaceQuota a: requests.cpu"],
            id="a bound and totals",
        ),
        pytest.param(
            [known("a", hard={"pods": "1", "requests.cpu": "1"}, used={"pods": "1", "requests.cpu": "0"})],
            pod(),
            ["must specify requests.cpu", "NamespaceQuota a: pods"],
            id="a missing amount and a count",
        ),
    ],
)  # fmt: skip
def test_all_that_fails_is_named(quotas: list[KnownQuota], object_: Object, named: list[str]) -> None:
    answer = knowing(*quotas).create(object_)
    assert [text for text in named if text not in answer.message] == []
    assert NATIVE.match(answer.message)


def test_other_resource_quotas_that_fail_too_are_named() -> None:
    other = quota_state("legacy", hard={"requests.memory": "1Gi"}, used={"requests.memory": "1Gi"})
    answer = knowing(known(**FULL), others=[other]).create(pod(cpu="500m", memory="1Mi"))
    assert "ResourceQuota legacy: requests.memory: 1Mi requested" in answer.message


def test_the_native_text_has_what_clients_look_for() -> None:
    answer = knowing(known(**FULL)).create(pod(cpu="500m"))
    found = NATIVE.match(answer.message)
    assert found
    assert found.groups() == (
        "moorage-team",
        "pods=1,requests.cpu=500m",
        "pods=10,requests.cpu=1900m",
        "pods=10,requests.cpu=2",
    )


def test_a_long_list_is_cut() -> None:
    hard = {f"requests.example.com/{number}": "1" for number in range(20)}
    answer = knowing(known(hard=hard)).create(pod(**{f"example.com/{number}": "2" for number in range(20)}))
    assert answer.message.splitlines()[1] == "20 limits stand against pod web-0:"
    assert answer.message.splitlines()[-1] == "  - and 8 more"


@pytest.mark.parametrize(
    ("hard", "used", "held", "cpu", "says"),
    [
        pytest.param("2", "1", [("Job/a", "1", 4)], "1500m", "500m must be freed, as by 2 pods less of Job/a", id="2"),
        pytest.param(
            "2", "2", [("Job/a", "1", 1), ("Job/b", "900m", 9)], "1500m", "1500m must be freed", id="none has so much"
        ),
        pytest.param("2", "3", [("Job/a", "3", 3)], "1", "2 must be freed, as by 2 pods less of Job/a", id="above"),
        pytest.param("2", "1", [("Job/a", "1", 1)], "3", "no room can be made for it", id="more than all of it"),
        pytest.param("0", "0", [], "1", "more than the whole 0", id="a ban"),
    ],
)
def test_what_would_make_room(hard: str, used: str, held: list[tuple[str, str, int]], cpu: str, says: str) -> None:
    team = known(hard={"requests.cpu": hard}, used={"requests.cpu": used}, held={"requests.cpu": held})
    assert says in knowing(team).create(pod(cpu=cpu)).message


# What is not refused


@pytest.mark.parametrize(
    ("quota", "object_"),
    [
        pytest.param(known(**FULL, current=False), pod(cpu="500m"), id="totals that are not proved current"),
        pytest.param(known(**FULL, projected=False), pod(cpu="500m"), id="totals that nothing enforces"),
        pytest.param(
            known(**FULL, native_hard={"pods": "20", "requests.cpu": "4"}),
            pod(cpu="500m"),
            id="totals that are enforced differently",
        ),
        pytest.param(known("team", SMALL, policies_proved=False), pod(cpu="2", memory="1Gi"), id="bounds not proved"),
        pytest.param(known(hard={"requests.cpu": "1"}, policies_proved=False), pod(), id="must specify, not proved"),
    ],
)
def test_what_the_api_server_might_admit_is_left_to_it_and_counted(quota: KnownQuota, object_: Object) -> None:
    bench = knowing(quota)
    assert bench.create(object_).allowed
    assert bench.counters.unsure == 1
    assert (bench.told, counted(bench.counters.refused)) == ([], {})


def test_a_native_quota_that_has_lost_count_is_not_followed() -> None:
    team = known(**FULL, native_used={"pods": "9", "requests.cpu": "1"})
    message = knowing(team).create(pod(cpu="500m")).message
    assert message.splitlines()[0] == (
        "exceeded quota: moorage-team, requested: pods=1,requests.cpu=500m, used: pods=10,requests.cpu=1900m, "
        "limited: pods=10,requests.cpu=2 "
    )


def test_one_certain_reason_is_enough_and_all_are_told() -> None:
    team = known("team", SMALL, **FULL, current=False)
    answer = knowing(team).create(pod(cpu="2", memory="1Gi"))
    assert not answer.allowed
    assert "NamespaceQuota team: pods: 1 requested" in answer.message


def test_audit_refuses_nothing_and_warns() -> None:
    bench = knowing(known("team", SMALL, **FULL, audit=True))
    answer = bench.create(pod(cpu="2", memory="1Gi"))
    assert answer.allowed
    [warning] = answer.warnings
    assert warning.startswith("NamespaceQuota team is in Audit mode, else it would refuse this: maximum cpu per ")
    assert len(warning) <= 256
    assert counted(bench.counters.would_refuse) == {
        ("team-a", "team", "bounds"): 1,
        ("team-a", "team", "count"): 1,
        ("team-a", "team", "total"): 1,
    }
    assert [each.reason for each in bench.told] == ["WouldRefuse"]


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("pods", {"operation": "UPDATE"}),
        ("pods", {"operation": "DELETE"}),
        ("pods/eviction", {}),
        ("secrets", {}),
        ("daemonsets.apps", {}),
    ],
)
def test_nothing_else_is_looked_at(target: str, options: dict[str, str]) -> None:
    bench = knowing(known(**FULL))
    assert bench.ask(request(target, pod(cpu="9"), old=None, **options)).allowed
    assert bench.told == []


def test_namespaces_without_quotas_are_not_looked_at() -> None:
    bench = knowing()
    bench.view = None
    assert bench.ask(request(object={"spec": 7})).allowed


@pytest.mark.parametrize("object_", [None, {"spec": 7}, {"metadata": []}, pod("a", {"resources": {"requests": [1]}})])
def test_a_pod_that_cannot_be_read_is_malformed(object_: object) -> None:
    with pytest.raises(MalformedReviewError):
        knowing(known(**FULL)).ask(request(object=object_))


def test_a_pod_with_an_amount_that_is_none_is_left_to_the_api_server() -> None:
    assert knowing(known(**FULL)).create(pod(cpu="lots")).allowed


# Resizes


def test_a_resize_is_held_against_what_it_adds() -> None:
    bench = knowing(known(**FULL))
    resize = {"operation": "UPDATE", "old": pod(cpu="300m")}
    assert bench.ask(request("pods/resize", pod(cpu="400m"), **resize)).allowed
    answer = bench.ask(request("pods/resize", pod(cpu="500m"), **resize))
    assert not answer.allowed
    assert "requested: requests.cpu=200m" in answer.message
    assert "stands against this resize of pod web-0" in answer.message


# Counters and events


def test_what_happens_is_counted_by_quota_and_reason() -> None:
    bench = knowing(known("a", **FULL), known("b", SMALL), known("c", hard={"services": "1"}))
    bench.create(pod(cpu="500m", memory="1Mi"))
    assert counted(bench.counters.refused) == {
        ("team-a", "a", "count"): 1,
        ("team-a", "a", "total"): 1,
        ("team-a", "b", "bounds"): 1,
    }
    assert counted(bench.counters.admitted) == {}
    bench.view = knowing(known("a", hard={"pods": "9"}), known("b", SMALL), known("c", hard={"services": "1"})).view
    bench.create(pod(cpu="500m", memory="1Gi"))
    assert counted(bench.counters.admitted) == {("team-a", "a"): 1, ("team-a", "b"): 1}


@pytest.mark.parametrize("by", ["the policy, which marks it", "us, as long as no policy does"])
def test_defaulted_pods_are_counted(by: str) -> None:
    bench = knowing(known("a", limits(default_request={"cpu": "100m"}), hard={"pods": "9"}))
    object_ = pod() if by.startswith("us") else pod(cpu="100m")
    if not by.startswith("us"):
        object_["metadata"]["annotations"] = {"moorage.dev/defaulted": "by a: app requests.cpu=100m"}
    bench.create(object_)
    bench.create(pod(cpu="1"))
    assert counted(bench.counters.defaulted) == {"team-a": 1}


def test_a_dry_run_is_answered_and_leaves_no_trace() -> None:
    bench = knowing(known(**FULL))
    assert not bench.create(pod(cpu="500m"), dry_run=True).allowed
    assert (bench.told, counted(bench.counters.refused)) == ([], {})


def test_our_own_probes_are_left_to_the_policies() -> None:
    probe = pod(cpu="500m")
    probe["metadata"]["annotations"] = {"moorage.dev/probe": "team"}
    bench = knowing(known(**FULL))
    assert bench.create(probe, dry_run=True).allowed
    assert not bench.create(probe).allowed, "only dry runs are probes"


def test_a_refusal_is_an_event_on_the_quota_and_on_the_workload() -> None:
    bench = knowing(known(**FULL))
    bench.workloads["Deployment", "web"] = object()
    owned = pod("", owner=of_deployment(), cpu="500m")
    owned["metadata"]["labels"] = {"pod-template-hash": "5d4f"}
    bench.create(owned)
    on_quota, on_workload = bench.told
    assert (on_quota.regarding.kind, on_quota.regarding.uid, on_quota.reason) == (
        "NamespaceQuota",
        "uid of team",
        "Refused",
    )
    assert on_quota.note.startswith("refused pod web-... of Deployment/web: pods: 1 requested")
    assert (on_workload.regarding.kind, on_workload.regarding.name, on_workload.reason) == (
        "Deployment",
        "web",
        "PodRefused",
    )
    assert on_workload.note.startswith("refused pod web-... by NamespaceQuota team: pods: 1 requested")


@pytest.mark.parametrize(
    ("owner", "regarding"),
    [
        pytest.param(of_deployment(), ("apps/v1", "ReplicaSet", "web-5d4f", "uid of web-5d4f"), id="not known"),
        pytest.param(
            {"apiVersion": "batch/v1", "kind": "Job", "name": "import", "uid": "j"},
            ("batch/v1", "Job", "import", "j"),
            id="a Job",
        ),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_workload_that_is_not_known_is_named_as_the_pod_names_it(
    owner: dict[str, str] | None, regarding: tuple[str, ...] | None
) -> None:
    bench = knowing(known(**FULL))
    bench.create(pod(owner=owner, cpu="500m"))
    told = [each.regarding for each in bench.told if each.regarding.kind != "NamespaceQuota"]
    assert [(each.api_version, each.kind, each.name, each.uid) for each in told] == ([regarding] if regarding else [])


def test_the_pods_of_a_workload_make_one_event() -> None:
    bench = knowing(known(**FULL))
    for name in ("web-1", "web-2"):
        bench.create(pod(name, owner=of_deployment(), cpu="500m"))
    keys = [(each.regarding, each.reason, each.alike) for each in bench.told]
    assert keys[:2] == keys[2:]


# While there is room


def test_a_pod_that_brings_a_quota_near_its_limit_is_admitted_with_a_warning() -> None:
    team = known(hard={"pods": "10", "requests.cpu": "2"}, used={"pods": "3", "requests.cpu": "1700m"})
    answer = knowing(team).create(pod(cpu="100m"))
    assert answer.allowed
    assert answer.warnings == ("NamespaceQuota team: with this pod requests.cpu at 1800m of 2 (90%)",)
    assert knowing(team).create(pod(cpu="50m")).warnings == ()


def test_controllers_are_not_warned() -> None:
    team = known(hard={"pods": "1"})
    assert knowing(team).create(pod(owner=of_deployment())).warnings == ()
