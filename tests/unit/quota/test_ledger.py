"""Running totals of what quotas use, moved by one step per event."""

import pytest

from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import Requirement
from tests.builders import nano, object_use, pod_use, service_use, volume_claim_use

ALL = Terms(frozenset({"pods", "count/pods", "requests.cpu", "requests.memory", "limits.cpu"}))
HIGH = Terms(frozenset({"pods"}), (Requirement("PriorityClass", "In", frozenset({"high"})),))


@pytest.fixture
def ledger() -> Ledger:
    """A ledger with one quota, `team-a/all`, and nothing to report."""
    ledger = Ledger()
    ledger.set_quota("team-a", "all", ALL)
    ledger.take_changed()
    return ledger


def used(ledger: Ledger, name: str = "all", namespace: str = "team-a") -> dict[str, int]:
    """Return what a quota uses, without its zeros."""
    return {key: amount for key, amount in ledger.usage(namespace, name).used.items() if amount}


def cpu_of(ledger: Ledger, name: str = "all", namespace: str = "team-a") -> int:
    return ledger.usage(namespace, name).used["requests.cpu"]


class TestPods:
    def test_a_new_pod_is_added_to_every_name_it_counts_under(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", memory="1Gi", limits={"cpu": "2"}))
        assert used(ledger) == nano(
            **{"pods": "1", "count/pods": "1", "requests.cpu": "1", "requests.memory": "1Gi", "limits.cpu": "2"}
        )

    def test_pods_add_up(self, ledger: Ledger) -> None:
        for uid, cpu in [("a", "100m"), ("b", "250m"), ("c", "1")]:
            ledger.put(pod_use(uid, cpu=cpu))
        assert cpu_of(ledger) == nano(cpu="1350m")["cpu"]
        assert ledger.usage("team-a", "all").pods == len(ledger) == 3

    def test_the_same_pod_twice_counts_once(self, ledger: Ledger) -> None:
        for version in (1, 2):
            ledger.put(pod_use("a", cpu="1", version=version))
        assert cpu_of(ledger) == nano(cpu="1")["cpu"]
        assert len(ledger) == 1

    def test_a_changed_pod_counts_by_its_last_record(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", memory="1Gi"))
        ledger.put(pod_use("a", cpu="3"))
        assert used(ledger) == nano(**{"pods": "1", "count/pods": "1", "requests.cpu": "3"})

    def test_a_deleted_pod_is_taken_back(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.delete("a")
        assert used(ledger) == {}
        assert len(ledger) == 0

    def test_deleting_a_pod_that_is_not_held_changes_nothing(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.delete("b")
        assert len(ledger) == 1
        assert ledger.take_changed() == {("team-a", "all")}

    def test_a_pod_can_come_again_after_it_was_deleted(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.delete("a")
        ledger.put(pod_use("a", cpu="2"))
        assert cpu_of(ledger) == nano(cpu="2")["cpu"]

    def test_the_last_record_is_held_even_when_nothing_that_counts_changed(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", version=1))
        ledger.put(pod_use("a", cpu="1", version=2))
        held = ledger.get("a")
        assert held is not None
        assert held.resource_version == 2
        assert ledger.objects(namespace="team-a") == ledger.objects() == {"a": held}

    def test_a_pod_that_is_not_held_is_none(self, ledger: Ledger) -> None:
        assert ledger.get("a") is None

    def test_pods_of_other_namespaces_do_not_count(self, ledger: Ledger) -> None:
        ledger.put(pod_use("b", namespace="team-b", cpu="1"))
        assert used(ledger) == {}
        assert list(ledger.objects(namespace="team-b")) == ["b"]
        assert list(ledger.objects(namespace="team-a")) == []


class TestFinishedPods:
    def test_one_that_finishes_frees_all_but_its_object(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", limits={"cpu": "1"}))
        ledger.put(pod_use("a", cpu="1", limits={"cpu": "1"}, phase="Succeeded"))
        assert used(ledger) == nano(**{"count/pods": "1"})
        assert ledger.usage("team-a", "all").pods == 0

    def test_deleting_it_frees_the_object_too(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", phase="Failed"))
        ledger.delete("a")
        assert used(ledger) == {}

    @pytest.mark.parametrize(
        ("names", "needed"), [({"pods", "requests.cpu"}, False), ({"pods", "count/pods"}, True), (set(), False)]
    )
    def test_they_are_needed_only_while_a_quota_counts_objects(self, names: set[str], needed: bool) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset(names)))
        assert ledger.counts_finished_pods is needed
        ledger.remove_quota("team-a", "q")
        assert not ledger.counts_finished_pods


class TestQuotas:
    def test_a_new_one_counts_the_pods_that_are_there(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.put(pod_use("b", cpu="2", phase="Failed"))
        ledger.put(pod_use("c", cpu="4", namespace="team-b"))
        ledger.set_quota("team-a", "late", ALL)
        assert used(ledger, "late") == used(ledger) == nano(**{"pods": "1", "count/pods": "2", "requests.cpu": "1"})

    def test_it_may_come_before_any_pod_of_its_namespace(self, ledger: Ledger) -> None:
        ledger.set_quota("team-b", "early", ALL)
        ledger.put(pod_use("b", namespace="team-b", cpu="1"))
        assert cpu_of(ledger, "early", "team-b") == nano(cpu="1")["cpu"]

    def test_names_that_count_alike_are_all_reported(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({"cpu", "requests.cpu"})))
        ledger.put(pod_use("a", cpu="1"))
        assert ledger.usage("team-a", "q").used == nano(**{"cpu": "1", "requests.cpu": "1"})

    def test_a_name_that_nothing_uses_is_0_and_one_that_nothing_ever_counts_is_left_out(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({"requests.x.com/gpu", "x.com/gpu", "services"})))
        assert ledger.usage("team-a", "q").used == {"requests.x.com/gpu": 0, "services": 0}

    def test_changed_names_are_counted_anew(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", memory="1Gi"))
        ledger.set_quota("team-a", "all", Terms(frozenset({"requests.memory"})))
        assert ledger.usage("team-a", "all").used == nano(**{"requests.memory": "1Gi"})
        assert ledger.take_changed() == {("team-a", "all")}

    def test_unchanged_terms_are_not_counted_again(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "all", Terms(frozenset(ALL.names)))
        assert ledger.take_changed() == set()

    def test_a_removed_one_is_gone_and_others_stay(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "other", ALL)
        ledger.put(pod_use("a", cpu="1"))
        ledger.remove_quota("team-a", "all")
        assert ledger.take_changed() == {("team-a", "other")}
        with pytest.raises(KeyError):
            ledger.usage("team-a", "all")
        assert cpu_of(ledger, "other") == nano(cpu="1")["cpu"]

    def test_removing_one_that_is_not_there_is_no_error(self, ledger: Ledger) -> None:
        ledger.remove_quota("team-a", "no-such")
        ledger.remove_quota("no-such", "all")

    def test_one_that_comes_back_counts_what_happened_meanwhile(self, ledger: Ledger) -> None:
        ledger.remove_quota("team-a", "all")
        ledger.put(pod_use("a", cpu="1"))
        ledger.set_quota("team-a", "all", ALL)
        assert cpu_of(ledger) == nano(cpu="1")["cpu"]

    def test_a_quota_that_was_never_set_has_no_usage(self, ledger: Ledger) -> None:
        with pytest.raises(KeyError):
            ledger.usage("team-b", "all")


class TestScopes:
    def test_only_pods_that_match_are_counted(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "high", HIGH)
        ledger.put(pod_use("a", priority_class="high"))
        ledger.put(pod_use("b", priority_class="low"))
        ledger.put(pod_use("c"))
        assert used(ledger, "high") == nano(pods="1")
        assert ledger.usage("team-a", "high").pods == 1
        assert ledger.usage("team-a", "all").pods == 3

    def test_a_pod_moves_between_scopes_when_it_gets_a_deadline(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "jobs", Terms(frozenset({"pods"}), (Requirement("Terminating"),)))
        ledger.set_quota("team-a", "rest", Terms(frozenset({"pods"}), (Requirement("NotTerminating"),)))
        ledger.put(pod_use("a"))
        ledger.put(pod_use("a", deadline=600))
        assert used(ledger, "jobs") == nano(pods="1")
        assert used(ledger, "rest") == {}

    def test_changed_scopes_are_counted_anew(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", priority_class="high"))
        ledger.put(pod_use("b", priority_class="low"))
        ledger.set_quota("team-a", "high", HIGH)
        low = Terms(HIGH.names, (Requirement("PriorityClass", "In", frozenset({"low", "mid"})),))
        ledger.take_changed()
        ledger.set_quota("team-a", "high", low)
        assert used(ledger, "high") == nano(pods="1")
        assert ledger.take_changed() == {("team-a", "high")}

    def test_finished_pods_count_as_objects_within_their_scope(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "high", Terms(frozenset({"count/pods"}), HIGH.requirements))
        ledger.put(pod_use("a", priority_class="high", phase="Succeeded"))
        ledger.put(pod_use("b", priority_class="low", phase="Succeeded"))
        assert used(ledger, "high") == nano(**{"count/pods": "1"})


class TestWhatChanged:
    def test_it_is_told_once(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        assert ledger.take_changed() == {("team-a", "all")}
        assert ledger.take_changed() == set()

    def test_a_new_quota_is_told_even_if_it_counts_nothing(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "empty", Terms(frozenset()))
        assert ledger.take_changed() == {("team-a", "empty")}

    def test_a_pod_that_changed_nowhere_that_counts_is_not_told(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1", version=1))
        ledger.take_changed()
        ledger.put(pod_use("a", cpu="1", version=2))
        assert ledger.take_changed() == set()

    def test_neither_are_pods_of_other_namespaces_or_outside_the_scope(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "high", HIGH)
        ledger.take_changed()
        ledger.put(pod_use("a", priority_class="low"))
        ledger.put(pod_use("b", priority_class="high", namespace="team-b"))
        assert ledger.take_changed() == {("team-a", "all")}

    def test_nor_is_a_pod_that_counts_under_none_of_its_names(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "live", Terms(frozenset({"pods"})))
        ledger.take_changed()
        ledger.put(pod_use("a", phase="Succeeded"))
        assert ledger.take_changed() == {("team-a", "all")}

    def test_a_removed_quota_is_not_told_any_more(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.remove_quota("team-a", "all")
        assert ledger.take_changed() == set()


class TestRelist:
    def test_pods_missed_while_the_watch_was_down_come_change_and_go(self, ledger: Ledger) -> None:
        for uid in ("stays", "changes", "goes"):
            ledger.put(pod_use(uid, cpu="1"))
        ledger.replace([pod_use("stays", cpu="1"), pod_use("changes", cpu="2"), pod_use("comes", cpu="4")])
        assert cpu_of(ledger) == nano(cpu="7")["cpu"]
        assert set(ledger.objects()) == {"stays", "changes", "comes"}

    def test_an_equal_list_changes_nothing(self, ledger: Ledger) -> None:
        pods = [pod_use("a", cpu="1"), pod_use("b", cpu="2")]
        ledger.replace(pods)
        ledger.take_changed()
        ledger.replace(pods)
        assert ledger.take_changed() == set()

    def test_an_empty_list_empties_everything(self, ledger: Ledger) -> None:
        ledger.put(pod_use("a", cpu="1"))
        ledger.put(pod_use("b", namespace="team-b"))
        ledger.replace([])
        assert (used(ledger), len(ledger)) == ({}, 0)

    def test_a_list_of_one_namespace_leaves_the_others_alone(self, ledger: Ledger) -> None:
        ledger.set_quota("team-b", "all", ALL)
        ledger.put(pod_use("a", cpu="1"))
        ledger.put(pod_use("b", namespace="team-b", cpu="1"))
        ledger.replace([pod_use("c", cpu="2")], namespace="team-a")
        assert cpu_of(ledger) == nano(cpu="2")["cpu"]
        assert cpu_of(ledger, namespace="team-b") == nano(cpu="1")["cpu"]

    def test_a_list_may_be_read_once_only(self, ledger: Ledger) -> None:
        ledger.replace(pod_use(uid, cpu="1") for uid in "abc")
        assert len(ledger) == 3


EVERYTHING = Terms(frozenset({"pods", "secrets", "count/widgets.example.com", "services", "requests.storage"}))


class TestSeveralResources:
    @pytest.fixture
    def ledger(self) -> Ledger:
        """A ledger with one quota, and one object of each kind that it counts."""
        ledger = Ledger()
        ledger.set_quota("team-a", "all", EVERYTHING)
        for use in (
            pod_use("p"),
            object_use("s"),
            object_use("w", resource="widgets.example.com", kind="Widget"),
            service_use("svc"),
            volume_claim_use("v", storage="3"),
        ):
            ledger.put(use)
        ledger.take_changed()
        return ledger

    def test_each_counts_under_its_own_names(self, ledger: Ledger) -> None:
        assert used(ledger) == nano(
            **{
                "pods": "1",
                "secrets": "1",
                "count/widgets.example.com": "1",
                "services": "1",
                "requests.storage": "3",
            }
        )
        assert len(ledger) == 5
        assert [len(ledger.objects(resource)) for resource in sorted(EVERYTHING.resources)] == [1, 1, 1, 1, 1]

    def test_a_list_of_one_leaves_the_others_alone(self, ledger: Ledger) -> None:
        before = used(ledger)
        ledger.replace([object_use("t"), object_use("u")], resource="secrets")
        assert used(ledger) == before | nano(secrets="2")
        ledger.replace([], resource="secrets")
        assert used(ledger) == {name: amount for name, amount in before.items() if name != "secrets"}
        assert ledger.objects("secrets") == ledger.objects("secrets", "team-a") == {}

    def test_a_list_of_one_namespace_and_resource_leaves_all_others_alone(self, ledger: Ledger) -> None:
        ledger.put(object_use("elsewhere", namespace="team-b"))
        ledger.replace([], resource="secrets", namespace="team-a")
        assert set(ledger.objects("secrets")) == {"elsewhere"}
        assert len(ledger) == 5

    def test_deleting_one_needs_its_resource(self, ledger: Ledger) -> None:
        ledger.delete("s")
        assert len(ledger) == 5
        ledger.delete("s", "secrets")
        assert ledger.get("s", "secrets") is None
        assert "secrets" not in used(ledger)

    def test_what_two_apis_serve_of_one_object_does_not_get_mixed_up(self) -> None:
        ledger = Ledger()
        names = frozenset({"count/rolebindings.rbac.authorization.k8s.io", "count/rolebindings.example.com"})
        ledger.set_quota("team-a", "all", Terms(names))
        both = [object_use("u", resource=name.removeprefix("count/"), kind="RoleBinding") for name in sorted(names)]
        for use in both:
            ledger.put(use)
        assert used(ledger) == {name: nano(x="1")["x"] for name in names}
        assert ledger.recount()["team-a", "all"] == ledger.usage("team-a", "all")
        for use in both:
            ledger.delete(use.uid, use.shape.resource)
        assert (used(ledger), len(ledger)) == ({}, 0)

    def test_the_resources_that_quotas_count_are_those_of_all_their_names(self, ledger: Ledger) -> None:
        everything = {"pods", "secrets", "widgets.example.com", "services", "persistentvolumeclaims"}
        assert ledger.resources() == everything
        ledger.set_quota("team-b", "gpu", Terms(frozenset({"requests.x.com/gpu", "x.com/gpu"})))
        assert ledger.resources() == everything | {"resourceclaims.resource.k8s.io"}
        ledger.remove_quota("team-a", "all")
        assert ledger.resources() == {"pods", "resourceclaims.resource.k8s.io"}

    def test_quotas_are_found_by_what_they_count(self, ledger: Ledger) -> None:
        ledger.set_quota("team-b", "gpu", Terms(frozenset({"requests.x.com/gpu"})))
        assert ledger.quotas_counting({"secrets"}) == [("team-a", "all")]
        assert ledger.quotas_counting({"resourceclaims.resource.k8s.io", "x"}) == [("team-b", "gpu")]
        assert set(ledger.quotas_counting({"pods"})) == {("team-a", "all"), ("team-b", "gpu")}
        assert ledger.quotas_counting(set()) == []

    def test_only_the_quotas_that_count_it_are_told_of_a_change(self, ledger: Ledger) -> None:
        ledger.set_quota("team-a", "services", Terms(frozenset({"services.nodeports"})))
        ledger.take_changed()
        ledger.put(object_use("another"))
        assert ledger.take_changed() == {("team-a", "all")}
        ledger.put(service_use("svc", type="NodePort"))
        assert ledger.take_changed() == {("team-a", "all"), ("team-a", "services")}


def test_a_recount_from_the_pods_alone_agrees_with_the_running_totals(ledger: Ledger) -> None:
    ledger.set_quota("team-a", "high", HIGH)
    ledger.put(pod_use("a", cpu="1", priority_class="high"))
    ledger.put(pod_use("b", cpu="2"))
    ledger.delete("b")
    recounted = ledger.recount()
    assert set(recounted) == {("team-a", "all"), ("team-a", "high")}
    assert recounted["team-a", "high"] == ledger.usage("team-a", "high")
    assert recounted["team-a", "all"] == ledger.usage("team-a", "all")
