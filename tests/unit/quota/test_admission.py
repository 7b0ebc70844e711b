"""What quotas say of an object that is to be stored: step by step, with every reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from moorage.objects import PodSpec
from moorage.quota.admission import Failure, Step, judge_claim, judge_object, judge_pod
from moorage.quota.scopes import Requirement
from tests.builders import (
    container,
    limits,
    nano,
    object_use,
    pod,
    pod_spec,
    quota_state,
    resources,
    service_use,
    sidecar,
    volume_claim,
)

HIGH = Requirement("PriorityClass", "In", frozenset({"high"}))


def brief(failures: tuple[Failure, ...]) -> list[tuple[str, str, str]]:
    return [(each.step.value, each.quota, each.resource) for each in failures]


class TestTotals:
    def test_a_pod_that_fills_a_quota_exactly_is_admitted(self) -> None:
        quota = quota_state(hard={"requests.cpu": "2", "pods": "2"}, used={"requests.cpu": "1", "pods": "1"})
        verdict = judge_pod(pod(cpu="1"), [quota])
        assert (verdict.admitted, verdict.fits) == (True, 1)

    def test_one_that_would_exceed_it_is_refused_with_all_the_numbers(self) -> None:
        quota = quota_state(hard={"requests.memory": "4Gi"}, used={"requests.memory": "3Gi"})
        (failure,) = judge_pod(pod(memory="1025Mi"), [quota]).failures
        amounts = nano(hard="4Gi", requested="1025Mi", used="3Gi")
        assert (failure.hard, failure.requested, failure.used) == tuple(amounts.values())
        assert failure.message == "requests.memory: 1025Mi requested, but 3Gi of 4Gi is used, which leaves 1Gi"

    def test_a_quota_that_is_overdrawn_refuses_only_what_adds_to_it(self) -> None:
        quota = quota_state(hard={"requests.cpu": "1", "pods": "9"}, used={"requests.cpu": "2", "pods": "1"})
        assert judge_pod(pod(cpu="0"), [quota]).admitted
        (failure,) = judge_pod(pod(cpu="1m"), [quota]).failures
        assert failure.message == "requests.cpu: 1m requested, but 2 of 1 is used, which leaves 0"

    def test_numbers_of_objects_come_before_amounts_and_all_that_fail_are_told(self) -> None:
        full = {"requests.cpu": "0", "pods": "0", "count/pods": "0", "limits.memory": "9Gi"}
        spec = pod_spec(cpu="1", limits={"memory": "1Gi"})
        assert brief(
            judge_pod(pod(spec=spec), [quota_state("b", hard=full), quota_state("a", hard=full)]).failures
        ) == [
            ("count", "a", "pods"),
            ("count", "a", "count/pods"),
            ("count", "b", "pods"),
            ("count", "b", "count/pods"),
            ("total", "a", "requests.cpu"),
            ("total", "b", "requests.cpu"),
        ]

    def test_what_was_filled_in_counts(self) -> None:
        quota = quota_state("q", limits(default_request={"cpu": "200m"}), hard={"requests.cpu": "100m"})
        assert brief(judge_pod(pod(), [quota]).failures) == [("total", "q", "requests.cpu")]

    def test_names_that_nothing_counts_or_whose_use_is_not_known_refuse_nothing(self) -> None:
        unknown = quota_state(hard={"limits.example.com/gpu": "0", "count/deployments": "0"})
        assert judge_pod(pod(), [unknown]).admitted

    def test_a_number_of_other_objects_is_judged_alike(self) -> None:
        quota = quota_state(
            "q", hard={"count/secrets": "3", "secrets": "2"}, used={"count/secrets": "2", "secrets": "2"}
        )
        verdict = judge_object(object_use(resource="secrets"), [quota])
        assert brief(verdict.failures) == [("count", "q", "secrets")]

    def test_a_service_counts_its_node_ports(self) -> None:
        quota = quota_state("q", hard={"services.nodeports": "2", "services": "1"})
        verdict = judge_object(service_use(type="NodePort", ports=3), [quota])
        assert brief(verdict.failures) == [("count", "q", "services.nodeports")]

    def test_a_claim_counts_its_storage(self) -> None:
        gold = "gold.storageclass.storage.k8s.io/"
        hard = {f"{gold}persistentvolumeclaims": "0", "requests.storage": "1Gi", f"{gold}requests.storage": "2Gi"}
        verdict = judge_claim(volume_claim(storage="2Gi", storage_class="gold"), [quota_state("q", hard=hard)])
        assert brief(verdict.failures) == [
            ("count", "q", f"{gold}persistentvolumeclaims"),
            ("total", "q", "requests.storage"),
        ]


class TestHowManyFit:
    @pytest.mark.parametrize(
        ("quotas", "fits"),
        [
            pytest.param([], None, id="no quota"),
            pytest.param([quota_state(hard={"requests.memory": "1Gi"})], 0, id="amounts that must be given"),
            pytest.param([quota_state(hard={"services": "0"})], None, id="a quota that has no say"),
            pytest.param([quota_state(hard={"requests.cpu": "1999m"})], 3, id="the last would not fit whole"),
            pytest.param(
                [quota_state(hard={"requests.cpu": "9", "pods": "7"}, used={"pods": "5"})], 2, id="the scarcest"
            ),
            pytest.param(
                [quota_state("a", hard={"pods": "7"}), quota_state("b", hard={"pods": "4"})], 4, id="any quota"
            ),
            pytest.param([quota_state(hard={"pods": "1"}, used={"pods": "4"})], 0, id="overdrawn"),
            pytest.param([quota_state("a", limits(max={"cpu": "1m"}), hard={"pods": "9"})], 0, id="beyond a bound"),
            pytest.param([quota_state("a", limits(max={"cpu": "1m"}))], 0, id="beyond a bound, whatever the totals"),
            pytest.param([quota_state(hard={"pods": "0"}, audit=True)], None, id="only watched"),
        ],
    )
    def test_is_told_for_a_pod_of_half_a_core(self, quotas: Any, fits: int | None) -> None:
        assert judge_pod(pod(cpu="500m"), quotas).fits == fits


class TestAmountsThatMustBeGiven:
    @pytest.mark.parametrize(
        ("name", "silent", "speaking"),
        [
            ("cpu", {"memory": "1"}, {"cpu": "0"}),
            ("requests.cpu", {}, {"cpu": "1"}),
            ("memory", {"cpu": "1"}, {"memory": "1"}),
            ("requests.memory", {}, {"memory": "0"}),
            ("ephemeral-storage", {}, {"ephemeral-storage": "1Gi"}),
            ("requests.ephemeral-storage", {}, {"ephemeral-storage": "1Gi"}),
        ],
    )
    def test_a_request_is_missing(self, name: str, silent: Any, speaking: Any) -> None:
        quota = quota_state("q", hard={name: "9Gi"})
        assert brief(judge_pod(pod(requests=silent), [quota]).failures) == [("specify", "q", name)]
        assert judge_pod(pod(requests=speaking), [quota]).admitted

    @pytest.mark.parametrize("name", ["limits.cpu", "limits.memory", "limits.ephemeral-storage"])
    def test_a_limit_is_missing(self, name: str) -> None:
        quota = quota_state("q", hard={name: "9Gi"})
        resource = name.removeprefix("limits.")
        assert brief(judge_pod(pod(requests={resource: "1"}), [quota]).failures) == [("specify", "q", name)]
        assert judge_pod(pod(limits={resource: "1"}), [quota]).admitted

    @pytest.mark.parametrize("name", ["pods", "requests.example.com/gpu", "hugepages-2Mi", "requests.storage"])
    def test_what_asks_for_none_of_these_has_none(self, name: str) -> None:
        assert judge_pod(pod(), [quota_state(hard={name: "9Gi"})]).admitted

    def test_every_container_that_is_silent_is_named(self) -> None:
        spec = pod_spec(
            containers=[container("b"), container("a", cpu="1")], init=[container("i"), sidecar("s", cpu="1")]
        )
        (failure,) = judge_pod(pod(spec=spec), [quota_state("q", hard={"requests.cpu": "9"})]).failures
        assert (failure.where, failure.requested, failure.used) == ("b,i", None, 0)
        assert failure.message == (
            "must specify requests.cpu for containers b, i: the total is limited, and no default fills it in"
        )

    @pytest.mark.parametrize(
        ("spec", "missing"),
        [
            pytest.param(pod_spec(pod_level=resources({"cpu": "1"})), ["limits.cpu", "requests.memory"], id="request"),
            pytest.param(pod_spec(pod_level=resources(None, {"cpu": "1"})), ["requests.memory"], id="limit"),
            pytest.param(
                pod_spec(memory="1Gi", pod_level=resources(None, {"cpu": "1"})), [], id="the rest by the containers"
            ),
            pytest.param(
                pod_spec(pod_level=resources({"hugepages-2Mi": "2Mi"})),
                ["requests.cpu", "limits.cpu", "requests.memory"],
                id="something else",
            ),
        ],
    )
    def test_the_pod_as_a_whole_speaks_for_what_it_gives_only(self, spec: PodSpec, missing: list[str]) -> None:
        hard = {"requests.cpu": "9", "limits.cpu": "9", "requests.memory": "9Gi"}
        assert [each.resource for each in judge_pod(pod(spec=spec), [quota_state(hard=hard)]).failures] == missing

    def test_a_default_speaks_for_them(self) -> None:
        entry = limits(default_request={"cpu": "1"}, default={"memory": "1Gi"})
        hard = {"requests.cpu": "9", "requests.memory": "9Gi", "limits.memory": "9Gi"}
        assert judge_pod(pod(), [quota_state("q", entry, hard=hard)]).admitted

    def test_only_quotas_that_count_the_pod_demand_them(self) -> None:
        quota = quota_state("q", hard={"requests.cpu": "9"}, requirements=[HIGH])
        assert judge_pod(pod(), [quota]).admitted
        assert brief(judge_pod(pod(priority_class="high"), [quota]).failures) == [("specify", "q", "requests.cpu")]

    @pytest.mark.parametrize(
        ("changes", "names"),
        [
            pytest.param({}, ["requests.memory"], id="memory, as the API server's own rule"),
            pytest.param({"pod_level": resources({"cpu": "1"})}, [], id="nothing of a pod that gives any as a whole"),
        ],
    )
    def test_a_resize_meets_the_native_rule_alone(self, changes: Any, names: list[str]) -> None:
        quota = quota_state(hard={"requests.memory": "9Gi", "ephemeral-storage": "9Gi"})
        old, new = (pod(spec=pod_spec(cpu=cpu, **changes)) for cpu in ("1", "500m"))
        assert [each.resource for each in judge_pod(new, [quota], old=old).failures] == names

    def test_a_native_quota_demands_what_the_native_rule_does(self) -> None:
        native = replace(quota_state("rq", hard={"requests.memory": "9Gi", "ephemeral-storage": "9Gi"}), is_native=True)
        assert brief(judge_pod(pod(), [native]).failures) == [("specify", "rq", "requests.memory")]
        whole = pod(spec=pod_spec(pod_level=resources({"cpu": "1"})))
        assert judge_pod(whole, [native]).admitted


class TestScopes:
    def test_select_for_totals_and_not_for_bounds_and_defaults(self) -> None:
        entry = limits(default_request={"cpu": "200m"}, max={"cpu": "1"})
        quota = quota_state("q", entry, hard={"pods": "0"}, requirements=[HIGH])
        assert judge_pod(pod(), [quota]).defaulted == {"app": resources({"cpu": "200m"}, {})}
        assert brief(judge_pod(pod(cpu="2"), [quota]).failures) == [("bounds", "q", "cpu")]
        assert brief(judge_pod(pod(cpu="1", priority_class="high"), [quota]).failures) == [("count", "q", "pods")]

    def test_look_at_the_pod_with_its_defaults(self) -> None:
        best_effort = quota_state("be", hard={"pods": "0"}, requirements=[Requirement("BestEffort")])
        assert not judge_pod(pod(), [best_effort]).admitted
        assert judge_pod(pod(), [best_effort, quota_state("q", limits(default_request={"cpu": "1"}))]).admitted


class TestUpdates:
    @pytest.mark.parametrize(
        ("old", "new", "admitted"),
        [("1", "2", True), ("1", "3", False), ("9", "8", True), ("9", "9", True)],
        ids=["grows within", "grows beyond", "shrinks", "stays"],
    )
    def test_are_charged_for_what_they_add(self, old: str, new: str, admitted: bool) -> None:
        quota = quota_state(hard={"requests.cpu": "10"}, used={"requests.cpu": "9"})
        assert judge_pod(pod(cpu=new), [quota], old=pod(cpu=old)).admitted is admitted

    def test_are_charged_whole_by_a_quota_that_did_not_count_them(self) -> None:
        terminating = quota_state(hard={"pods": "0"}, requirements=[Requirement("Terminating")])
        (failure,) = judge_pod(pod(deadline=600), [terminating], old=pod()).failures
        assert (failure.step, failure.requested) == (Step.COUNT, nano(pods="1")["pods"])

    def test_of_a_pod_that_is_being_resized_are_judged_by_what_it_has(self) -> None:
        quota = quota_state(hard={"requests.cpu": "4"}, used={"requests.cpu": "4"})
        assert judge_pod(pod(cpu="2", phase="Running"), [quota], old=pod(cpu="4", phase="Running")).admitted

    def test_that_change_neither_amounts_nor_deadline_are_admitted(self) -> None:
        quota = quota_state("q", limits(max={"cpu": "1m"}), hard={"requests.memory": "1Gi", "pods": "0"})
        assert judge_pod(pod(cpu="2"), [quota], old=pod(cpu="2")).admitted

    def test_of_a_service_are_judged_alike(self) -> None:
        quota = quota_state(hard={"services.nodeports": "2"}, used={"services.nodeports": "1"})
        grown = judge_object(service_use(type="NodePort", ports=3), [quota], old=service_use(type="NodePort", ports=1))
        assert [each.requested for each in grown.failures] == list(nano(ports="2").values())


class TestAudit:
    def test_refuses_and_fills_in_nothing_and_tells_what_would_have_been(self) -> None:
        entry = limits(default_request={"cpu": "2"}, max={"memory": "1Gi"})
        quota = quota_state("watched", entry, hard={"requests.cpu": "1", "limits.memory": "1Gi"}, audit=True)
        verdict = judge_pod(pod(memory="2Gi"), [quota])
        assert (verdict.admitted, verdict.defaulted, verdict.fits) == (True, {}, None)
        assert brief(verdict.audited) == [
            ("specify", "watched", "limits.memory"),
            ("bounds", "watched", "memory"),
            ("total", "watched", "requests.cpu"),
        ]

    def test_what_it_would_fill_in_is_not_held_against_other_quotas(self) -> None:
        watched = quota_state("watched", limits(default_request={"cpu": "2"}), audit=True)
        verdict = judge_pod(pod(), [watched, quota_state("enforced", hard={"requests.cpu": "1"})])
        assert brief(verdict.failures) == [("specify", "enforced", "requests.cpu")]
        assert verdict.audited == ()

    def test_claims_and_other_objects_are_watched_too(self) -> None:
        bound = limits("PersistentVolumeClaim", max={"storage": "1Gi"})
        watched = quota_state("watched", bound, hard={"persistentvolumeclaims": "0", "secrets": "0"}, audit=True)
        claim, secret = judge_claim(volume_claim(storage="2Gi"), [watched]), judge_object(object_use(), [watched])
        assert (claim.admitted, secret.admitted) == (True, True)
        assert brief(claim.audited) == [
            ("bounds", "watched", "storage"),
            ("count", "watched", "persistentvolumeclaims"),
        ]
        assert brief(secret.audited) == [("count", "watched", "secrets")]
