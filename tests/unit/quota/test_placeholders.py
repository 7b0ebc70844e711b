"""Placeholders of buffers among the pods of a namespace: a total of their own, and no workload's."""

from __future__ import annotations

from moorage.quota.ledger import Holder, Ledger, Terms
from moorage.quota.scopes import PLACEHOLDER_CLASS, Requirement
from tests.builders import nano, owned_by, pod_use

TEAM, QUOTA = "team-a", "team"
NAMES = frozenset({"pods", "requests.cpu"})


def ledger(*requirements: Requirement) -> Ledger:
    """One real pod and two placeholders, of one CPU each."""
    found = Ledger()
    found.set_quota(TEAM, QUOTA, Terms(NAMES, requirements))
    found.put(pod_use("real", namespace=TEAM, cpu="1", owner=owned_by("Job/real")))
    for name in ("one", "two"):
        owner = owned_by("ReplicaSet/web-placeholder")
        found.put(pod_use(name, namespace=TEAM, cpu="1", priority_class=PLACEHOLDER_CLASS, owner=owner))
    return found


def test_the_whole_is_what_a_native_quota_counts_and_the_rest_is_what_pods_use() -> None:
    usage = ledger().usage(TEAM, QUOTA)
    assert usage.used == nano(**{"pods": "3", "requests.cpu": "3"})
    assert (usage.placeholders, usage.placeholder_pods) == (nano(**{"pods": "2", "requests.cpu": "2"}), 2)
    firm = usage.without_placeholders()
    assert (firm.used, firm.pods) == (nano(**{"pods": "1", "requests.cpu": "1"}), 1)


def test_one_that_goes_is_not_counted_any_more() -> None:
    found = ledger()
    for uid in list(found.objects("pods", TEAM)):
        found.delete(uid)
    usage = found.usage(TEAM, QUOTA)
    assert (usage.used, usage.placeholders) == (dict.fromkeys(NAMES, 0), {})
    assert usage == found.recount()[TEAM, QUOTA]


def test_they_are_no_workload_that_holds_something() -> None:
    assert ledger().holders(TEAM, QUOTA, "pods") == [Holder("Job/real", 1_000_000_000, 1)]


def test_a_quota_for_other_classes_has_none() -> None:
    usage = ledger(Requirement("PriorityClass", "DoesNotExist")).usage(TEAM, QUOTA)
    assert (usage.used["pods"], usage.placeholders) == (1_000_000_000, {})
