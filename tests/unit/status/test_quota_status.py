"""The status of a NamespaceQuota: what is told of usage, of holders, and of all that keeps usage from being known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from moorage.api import parse_namespace_quota_spec
from moorage.api.conditions import Condition
from moorage.api.namespacequota import HolderStatus, NamespaceQuotaStatus, ResourceHolders
from moorage.quota.ledger import Holder, Ledger, Usage
from moorage.status.findings import is_provisional
from moorage.status.namespacequota import Trouble, View, aggregated_resources, known_names, quota_rules, quota_status
from tests.builders import nano, object_use, owned_by, pod_use, service_use

KNOWN = View()
LISTING = View(complete=False)
FORBIDDEN = View(complete=False, trouble=Trouble.FORBIDDEN, message="secrets cannot be read (no): give list")
NOT_SERVED = View(complete=False, trouble=Trouble.NOT_SERVED, message="the cluster serves no widgets.example.com")
STALE = View(trouble=Trouble.STALE, message="nothing has been heard of pods")
WIDGETS = "count/widgets.example.com"


def status_of(
    hard: Mapping[str, Any],
    views: Mapping[str, View] | None = None,
    *,
    used: Mapping[str, int] | None = None,
    pods: int = 3,
    holders: Mapping[str, list[Holder]] | None = None,
) -> NamespaceQuotaStatus:
    """Return the status of a quota; resources without a view are known, names without usage are unused."""
    rules = quota_rules(parse_namespace_quota_spec({"hard": dict(hard)}))
    usage = Usage(dict.fromkeys(hard, 0) | dict(used or {}), pods)
    return quota_status(
        rules,
        usage,
        lambda resource: (views or {}).get(resource, KNOWN),
        generation=7,
        holders=lambda name: (holders or {}).get(name, []),
    )


def ready(*arguments: Any, **keywords: Any) -> tuple[str, str, str]:
    condition = status_of(*arguments, **keywords).conditions[0]
    assert condition.type == "Ready"
    return condition.status, condition.reason, condition.message


def condition(status: NamespaceQuotaStatus, type_: str) -> Condition | None:
    return next((each for each in status.conditions if each.type == type_), None)


class TestReady:
    @pytest.mark.parametrize(
        ("hard", "message"),
        [
            pytest.param({"pods": 9}, "usage of 3 pods counted; the 1 resource tracked", id="pods"),
            pytest.param({"pods": 9, "secrets": 5}, "usage of 3 pods counted; all 2 resources tracked", id="both"),
            pytest.param({"secrets": 5}, "usage counted; the 1 resource tracked", id="no pods"),
            pytest.param({}, "nothing is limited: spec.hard names no resource", id="nothing"),
        ],
    )
    def test_it_is_true_once_everything_is_counted(self, hard: dict[str, Any], message: str) -> None:
        assert ready(hard) == ("True", "Reconciled", message)

    def test_all_conditions_belong_to_the_generation_they_were_made_of(self) -> None:
        status = status_of({"pods": 9, WIDGETS: 1}, {"widgets.example.com": View(aggregated=True)})
        assert status.observed_generation == 7
        assert [each.type for each in status.conditions] == ["Ready", "NearLimit", "Exceeded"]
        assert {each.observed_generation for each in status.conditions} == {7}


class TestCounting:
    def test_what_is_being_listed_is_named_in_the_order_of_display(self) -> None:
        hard = {"secrets": 5, "requests.cpu": 4, "pods": 9, WIDGETS: 1}
        assert ready(hard, {"pods": LISTING, "secrets": LISTING}) == (
            "Unknown",
            "Counting",
            "the objects behind requests.cpu, pods and secrets are being listed; usage follows",
        )

    def test_only_what_is_known_has_usage(self) -> None:
        status = status_of({"secrets": 5, "pods": 9}, {"secrets": LISTING}, used=nano(pods="3", secrets="4"))
        assert status.used == {"pods": "3"}
        assert status.hard == {"pods": "9", "secrets": "5"}

    def test_finished_pods_are_waited_for_where_they_count(self) -> None:
        hard = {"pods": 9, "count/pods": 9}
        assert ready(hard, {"pods": View(finished_too=False)}) == (
            "Unknown",
            "Counting",
            "the objects behind count/pods are being listed; usage follows",
        )
        assert ready({"pods": 9}, {"pods": View(finished_too=False)})[1] == "Reconciled"

    def test_extended_resources_need_the_claims_for_devices_too(self) -> None:
        hard = {"requests.x.com/gpu": 4, "requests.cpu": 4}
        known = known_names(
            quota_rules(parse_namespace_quota_spec({"hard": hard})),
            lambda resource: LISTING if resource == "resourceclaims.resource.k8s.io" else KNOWN,
        )
        assert known == {"requests.cpu"}

    @pytest.mark.parametrize(
        "problem",
        [
            pytest.param(({"x.com/gpu": 1}, {}), id="a name that nothing counts"),
            pytest.param(({"secrets": 1}, {"secrets": FORBIDDEN}), id="a kind that we may not list"),
        ],
    )
    def test_a_problem_does_not_hide_that_the_rest_is_still_being_listed(
        self, problem: tuple[dict[str, Any], dict[str, View]]
    ) -> None:
        hard, views = problem
        status, reason, message = ready({"pods": 9, **hard}, {"pods": LISTING, **views})
        assert (status, reason) == ("Unknown", "Counting")
        assert message.endswith("; the objects behind pods are being listed; usage follows")
        assert len(message.split("; ")) > 2
        assert is_provisional({"conditions": [{"reason": reason}]})


class TestProblems:
    def test_a_name_that_nothing_counts_is_told_with_the_right_one(self) -> None:
        assert ready({"x.com/gpu": 1, "pods": 9}) == (
            "False",
            "UnsupportedResource",
            "x.com/gpu is never counted; write requests.x.com/gpu; the other 1 resource is counted",
        )

    def test_all_of_them_are_told_at_once_and_the_rest_is_counted(self) -> None:
        hard = {"limits.x.com/gpu": 1, "count/services.loadbalancers": 1, "pods": 9, "requests.cpu": 4}
        assert ready(hard) == (
            "False",
            "UnsupportedResource",
            "count/services.loadbalancers would be a resource in API group loadbalancers; write services.loadbalancers;"
            " limits.x.com/gpu is never counted; write requests.x.com/gpu; the other 2 resources are counted",
        )

    def test_nothing_may_be_left(self) -> None:
        assert ready({"x.com/gpu": 1})[2].endswith("; nothing else is in hard")

    def test_a_kind_that_we_may_not_list_is_one_condition_with_its_rule(self) -> None:
        assert ready({"secrets": 5, "count/secrets": 6, "pods": 9}, {"secrets": FORBIDDEN}) == (
            "False",
            "Forbidden",
            "secrets cannot be read (no): give list; the other 1 resource is counted",
        )
        assert ready({"secrets": 5}, {"secrets": FORBIDDEN}) == ("False", "Forbidden", FORBIDDEN.message)

    def test_a_kind_that_is_not_served_is_told(self) -> None:
        assert ready({WIDGETS: 5, "pods": 9}, {"widgets.example.com": NOT_SERVED}) == (
            "False",
            "NotServed",
            "the cluster serves no widgets.example.com; the other 1 resource is counted",
        )

    def test_a_kind_of_which_nothing_is_heard_is_counted_as_last_known(self) -> None:
        status = status_of({"pods": 9, "requests.cpu": 4}, {"pods": STALE}, used=nano(pods="3"))
        assert status.used == {"pods": "3", "requests.cpu": "0"}
        assert ready({"pods": 9, "requests.cpu": 4}, {"pods": STALE}) == (
            "Unknown",
            "UsageStale",
            "nothing has been heard of pods; used is what was last known",
        )

    def test_only_that_kind_is(self) -> None:
        assert ready({"pods": 9, "requests.cpu": 4, "secrets": 5, "services": 5}, {"pods": STALE}) == (
            "Unknown",
            "UsageStale",
            "nothing has been heard of pods; used of requests.cpu and pods is what was last known; "
            "the other 2 resources are counted",
        )

    def test_rights_that_were_taken_away_leave_what_was_last_known(self) -> None:
        taken_away = View(trouble=Trouble.FORBIDDEN, message="secrets cannot be read (no): give list")
        assert ready({"secrets": 5, "pods": 9}, {"secrets": taken_away}) == (
            "False",
            "Forbidden",
            "secrets cannot be read (no): give list; used of secrets is what was last known; "
            "the other 1 resource is counted",
        )

    def test_a_kind_that_was_never_listed_has_no_last_known_usage(self) -> None:
        never = View(complete=False, trouble=Trouble.STALE, message="widgets could not be listed (500)")
        status = status_of({WIDGETS: 5, "pods": 9}, {"widgets.example.com": never})
        assert status.used == {"pods": "0"}
        assert status.conditions[0].message == "widgets could not be listed (500); the other 1 resource is counted"

    def test_all_problems_are_told_at_once_the_lasting_ones_as_reason(self) -> None:
        hard = {"x.com/gpu": 1, "secrets": 5, WIDGETS: 5, "pods": 9, "services": 5}
        views = {"pods": STALE, "secrets": FORBIDDEN, "widgets.example.com": NOT_SERVED}
        assert ready(hard, views) == (
            "False",
            "UnsupportedResource",
            "x.com/gpu is never counted; write requests.x.com/gpu; "
            "nothing has been heard of pods; "
            "secrets cannot be read (no): give list; "
            "the cluster serves no widgets.example.com; "
            "used of pods is what was last known; the other 1 resource is counted",
        )
        assert ready({"pods": 9, "secrets": 5}, views)[:2] == ("False", "Forbidden")


class TestAggregatedAPIs:
    def test_their_kinds_are_counted_and_can_be_told_apart(self) -> None:
        hard = {WIDGETS: 5, "count/gadgets.example.com": 5, "pods": 9}
        views = {"widgets.example.com": View(aggregated=True), "gadgets.example.com": View(aggregated=True)}
        rules = quota_rules(parse_namespace_quota_spec({"hard": hard}))
        assert aggregated_resources(rules, lambda name: views.get(name, View())) == (
            "gadgets.example.com",
            "widgets.example.com",
        )
        status = status_of(hard, views, used={WIDGETS: nano(x="2")["x"]})
        assert (status.used[WIDGETS], status.conditions[0].status) == ("2", "True")


class TestLimits:
    @pytest.mark.parametrize(
        ("used", "near", "exceeded"),
        [("8", "False", "False"), ("9", "True", "False"), ("10", "True", "False"), ("11", "True", "True")],
    )
    def test_counts_of_other_objects_come_near_and_are_exceeded_too(self, used: str, near: str, exceeded: str) -> None:
        status = status_of({WIDGETS: 10}, used={WIDGETS: nano(x=used)["x"]})
        found = {each.type: each.status for each in status.conditions}
        assert (found["NearLimit"], found["Exceeded"]) == (near, exceeded)

    @pytest.mark.parametrize(
        ("hard", "subject"),
        [
            ({"pods": 9, "requests.cpu": 4}, "resource"),
            ({"pods": 9, "x.com/gpu": 4}, "resource"),
            ({"pods": 9, "secrets": 4}, "resource whose usage is known"),
            ({"secrets": 4, "x.com/gpu": 4}, "resource whose usage is known"),
        ],
        ids=["all known", "all that can be", "not all", "none"],
    )
    def test_nothing_is_said_of_what_is_not_known(self, hard: dict[str, Any], subject: str) -> None:
        found = {each.type: each.message for each in status_of(hard, {"secrets": LISTING}).conditions}
        assert found["NearLimit"] == f"every {subject} is below 90%"
        assert found["Exceeded"] == f"no {subject} is above its limit"


class TestHolders:
    def test_they_are_told_by_resource_in_its_own_unit_and_in_the_order_of_display(self) -> None:
        holders = [Holder("Deployment/web", nano(x="3Gi")["x"], 3), Holder("Pod/one", nano(x="1Gi")["x"], 1)]
        status = status_of(
            {"secrets": 5, "requests.memory": "8Gi"},
            used=nano(**{"requests.memory": "4Gi", "secrets": "2"}),
            holders={"requests.memory": holders, "secrets": [Holder("Helm/app", nano(x="2")["x"], 0)]},
        )
        assert status.holders == (
            ResourceHolders(
                resource="requests.memory",
                top=(
                    HolderStatus(workload="Deployment/web", used="3Gi", pods=3),
                    HolderStatus(workload="Pod/one", used="1Gi", pods=1),
                ),
            ),
            ResourceHolders(resource="secrets", top=(HolderStatus(workload="Helm/app", used="2"),)),
        )

    def test_what_nothing_is_used_of_or_not_known_has_none(self) -> None:
        holder = [Holder("Deployment/web", nano(x="1")["x"], 1)]
        status = status_of(
            {"requests.cpu": 4, "requests.storage": "1Gi"},
            {"persistentvolumeclaims": LISTING},
            used=nano(**{"requests.storage": "1"}),
            holders={"requests.cpu": holder, "requests.storage": holder},
        )
        assert status.holders == ()

    @pytest.mark.parametrize("name", ["secrets", "count/secrets", WIDGETS, "services", "persistentvolumeclaims"])
    def test_that_an_object_holds_itself_is_not_worth_a_line(self, name: str) -> None:
        itself, two = Holder("It/self", nano(x="1")["x"], 0), Holder("Deployment/web", nano(x="2")["x"], 3)
        many = {name: nano(x="4")["x"]}
        assert status_of({name: 5}, used=many, holders={name: [itself, itself]}).holders == ()
        (line,) = status_of({name: 5}, used=many, holders={name: [two, itself]}).holders
        assert [each.workload for each in line.top] == ["Deployment/web"]

    @pytest.mark.parametrize("name", ["pods", "count/pods", "services.loadbalancers", "services.nodeports"])
    def test_but_a_pod_and_what_a_service_takes_are(self, name: str) -> None:
        one = Holder("It/self", nano(x="1")["x"], 0)
        (line,) = status_of({name: 5}, used=nano(**{name: "1"}), holders={name: [one]}).holders
        assert [each.workload for each in line.top] == ["It/self"]

    def test_those_of_a_ledger_add_up(self) -> None:
        ledger = Ledger()
        rules = quota_rules(parse_namespace_quota_spec({"hard": {"pods": 9, "secrets": 9, "services.nodeports": 9}}))
        ledger.set_quota("team-a", "q", rules.terms)
        for number in range(3):
            ledger.put(pod_use(f"p{number}", owner=owned_by("ReplicaSet/web-1"), template_hash="1"))
            ledger.put(object_use(f"s{number}", owner=owned_by("Helm/app")))
        ledger.put(service_use("svc", type="NodePort", ports=2))
        status = quota_status(
            rules,
            ledger.usage("team-a", "q"),
            lambda _: KNOWN,
            generation=1,
            holders=lambda name: ledger.holders("team-a", "q", name),
        )
        assert {each.resource: [(top.workload, top.used, top.pods) for top in each.top] for each in status.holders} == {
            "pods": [("Deployment/web", "3", 3)],
            "secrets": [("Helm/app", "3", 0)],
            "services.nodeports": [("Service/svc", "2", 0)],
        }
