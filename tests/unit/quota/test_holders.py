"""Who holds what a quota counts: the workloads that objects belong to, largest first."""

from typing import Any

import pytest

from moorage.quantity import canonical
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import Requirement
from moorage.quota.usage import ObjectUse
from tests.builders import nano, object_use, owned_by, pod_use, service_use, volume_claim_use

NAMES = frozenset({"pods", "count/pods", "requests.cpu", "requests.storage", "secrets", "services.nodeports"})


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.set_quota("team-a", "q", Terms(NAMES))
    return ledger


def held(ledger: Ledger, resource: str = "requests.cpu", most: int | None = 5) -> list[tuple[str, str, int]]:
    return [(each.workload, canonical(each.used), each.pods) for each in ledger.holders("team-a", "q", resource, most)]


def pod_of(workload: str, name: str, cpu: str | None = "1", **keywords: Any) -> ObjectUse:
    return pod_use(name, owner=owned_by(workload), cpu=cpu, **keywords)


class TestTheWorkload:
    @pytest.mark.parametrize(
        ("workload", "template_hash", "holder"),
        [
            pytest.param("ReplicaSet/web-6c9f", "6c9f", "Deployment/web", id="a Deployment through its ReplicaSet"),
            pytest.param("ReplicaSet/a-b-6c9f", "6c9f", "Deployment/a-b", id="with dashes in its name"),
            pytest.param("ReplicaSet/web", None, "ReplicaSet/web", id="a ReplicaSet of its own"),
            pytest.param("ReplicaSet/web-6c9f", "7d7d", "ReplicaSet/web-6c9f", id="whose hash is not in its name"),
            pytest.param("ReplicaSet/web-6c9f", "", "ReplicaSet/web-6c9f", id="whose hash is empty"),
            pytest.param("ReplicaSet/web6c9f", "6c9f", "ReplicaSet/web6c9f", id="whose name only ends like it"),
            pytest.param("StatefulSet/db", "6c9f", "StatefulSet/db", id="a StatefulSet"),
            pytest.param("Job/import-2901", None, "Job/import-2901", id="a Job"),
            pytest.param("DaemonSet/agent", None, "DaemonSet/agent", id="a DaemonSet"),
            pytest.param("Workflow/etl", None, "Workflow/etl", id="any other controller"),
        ],
    )
    def test_a_pod_belongs_to_its_controller(self, workload: str, template_hash: str | None, holder: str) -> None:
        assert pod_use("p", owner=owned_by(workload), template_hash=template_hash).holder == holder

    @pytest.mark.parametrize("controller", [False, None])
    def test_an_owner_that_does_not_control_it_is_no_workload(self, controller: bool | None) -> None:
        assert pod_use("p", owner=owned_by("Node/n1", controller=controller)).holder == "Pod/p"

    def test_an_object_of_nobody_holds_itself(self) -> None:
        assert pod_use("p").holder == "Pod/p"
        assert object_use("s").holder == "Secret/s"
        assert volume_claim_use("v").holder == "PersistentVolumeClaim/v"
        assert service_use("w").holder == "Service/w"

    def test_a_replica_set_belongs_to_its_deployment(self) -> None:
        use = object_use("web-6c9f", resource="replicasets.apps", kind="ReplicaSet", owner=owned_by("Deployment/web"))
        assert use.holder == "Deployment/web"


class TestWhatBelongsToAPod:
    """Volumes and devices that a pod template asks for belong to the pods, and so to the pods' workload."""

    CLAIM = volume_claim_use("scratch", storage="3", owner=owned_by("Pod/p", "p"))

    def test_its_workload_holds_it(self, ledger: Ledger) -> None:
        ledger.put(pod_of("ReplicaSet/web-1", "p", template_hash="1"))
        ledger.put(self.CLAIM)
        assert held(ledger, "requests.storage") == [("Deployment/web", "3", 1)]

    def test_also_when_the_pod_is_seen_later(self, ledger: Ledger) -> None:
        ledger.put(self.CLAIM)
        assert held(ledger, "requests.storage") == [("Pod/p", "3", 0)]
        ledger.put(pod_of("StatefulSet/db", "p"))
        assert held(ledger, "requests.storage") == [("StatefulSet/db", "3", 1)]

    def test_until_the_pod_is_gone(self, ledger: Ledger) -> None:
        ledger.put(pod_of("StatefulSet/db", "p"))
        ledger.put(self.CLAIM)
        ledger.delete("p")
        assert held(ledger, "requests.storage") == [("Pod/p", "3", 0)]

    def test_a_pod_of_nobody_holds_it_itself(self, ledger: Ledger) -> None:
        ledger.put(pod_use("p"))
        ledger.put(self.CLAIM)
        assert held(ledger, "requests.storage") == [("Pod/p", "3", 1)]

    def test_a_pod_of_the_same_name_is_another_pod(self, ledger: Ledger) -> None:
        ledger.put(pod_of("StatefulSet/db", "p", uid="p2"))
        ledger.put(self.CLAIM)
        assert held(ledger, "requests.storage") == [("Pod/p", "3", 0)]

    def test_a_pod_that_belongs_to_a_pod_takes_what_is_its_own_along(self, ledger: Ledger) -> None:
        ledger.put(self.CLAIM)
        ledger.put(pod_use("p", owner=owned_by("Pod/parent", "parent"), cpu="1"))
        assert held(ledger, "requests.storage") == [("Pod/parent", "3", 1)]
        ledger.delete("p")
        ledger.delete("scratch", "persistentvolumeclaims")
        assert ledger.recount()["team-a", "q"] == ledger.usage("team-a", "q")
        assert held(ledger, "requests.storage") == []


class TestOrder:
    def test_the_largest_comes_first_and_of_equals_the_first_by_name(self, ledger: Ledger) -> None:
        for uid, workload, cpu in (
            ("1", "Job/small", "1"),
            ("2", "StatefulSet/b", "2"),
            ("3", "StatefulSet/a", "2"),
            ("4", "Job/large", "5"),
        ):
            ledger.put(pod_of(workload, uid, cpu))
        assert [workload for workload, *_ in held(ledger)] == [
            "Job/large",
            "StatefulSet/a",
            "StatefulSet/b",
            "Job/small",
        ]

    def test_five_are_shown_unless_all_are_asked_for(self, ledger: Ledger) -> None:
        for number in range(9):
            ledger.put(pod_of(f"Job/job-{number}", str(number), f"{number + 1}"))
        assert [workload for workload, *_ in held(ledger)] == [f"Job/job-{number}" for number in (8, 7, 6, 5, 4)]
        assert len(held(ledger, most=None)) == 9
        assert held(ledger, most=None)[:5] == held(ledger)

    def test_ties_at_the_fifth_place_are_broken_by_name(self, ledger: Ledger) -> None:
        for name in "fedcba":
            ledger.put(pod_of(f"Job/{name}", name))
        assert [workload for workload, *_ in held(ledger)] == [f"Job/{name}" for name in "abcde"]


class TestSums:
    def test_pods_of_one_workload_add_up(self, ledger: Ledger) -> None:
        for uid, cpu in (("1", "1"), ("2", "500m")):
            ledger.put(pod_of("ReplicaSet/web-1", uid, cpu, template_hash="1"))
        ledger.put(pod_of("ReplicaSet/web-2", "3", "250m", template_hash="2"))
        assert held(ledger) == [("Deployment/web", "1750m", 3)]

    def test_each_resource_has_its_own_holders(self, ledger: Ledger) -> None:
        ledger.put(pod_of("Job/a", "1"))
        ledger.put(volume_claim_use("data", storage="3", owner=owned_by("StatefulSet/db")))
        ledger.put(object_use("s"))
        ledger.put(service_use("w", type="NodePort", ports=2))
        assert held(ledger, "requests.cpu") == held(ledger, "pods") == [("Job/a", "1", 1)]
        assert held(ledger, "requests.storage") == [("StatefulSet/db", "3", 0)]
        assert held(ledger, "secrets") == [("Secret/s", "1", 0)]
        assert held(ledger, "services.nodeports") == [("Service/w", "2", 0)]

    def test_a_workload_holds_with_objects_of_several_kinds(self, ledger: Ledger) -> None:
        ledger.put(pod_of("StatefulSet/db", "1"))
        ledger.put(volume_claim_use("data", storage="3", owner=owned_by("StatefulSet/db")))
        assert held(ledger, "requests.cpu") == [("StatefulSet/db", "1", 1)]
        assert held(ledger, "requests.storage") == [("StatefulSet/db", "3", 1)]

    def test_one_that_uses_nothing_of_a_resource_does_not_hold_it(self, ledger: Ledger) -> None:
        ledger.put(pod_of("Job/a", "1", None))
        ledger.put(pod_of("Job/b", "2", "0"))
        assert held(ledger) == []
        assert held(ledger, "pods") == [("Job/a", "1", 1), ("Job/b", "1", 1)]

    def test_only_what_the_quotas_scope_selects_is_held(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(NAMES, (Requirement("Terminating"),)))
        ledger.put(pod_of("Job/a", "1", deadline=60))
        ledger.put(pod_of("Job/a", "2"))
        assert held(ledger) == [("Job/a", "1", 1)]

    def test_names_that_mean_the_same_have_the_same_holders(self) -> None:
        ledger = Ledger()
        ledger.set_quota("team-a", "q", Terms(frozenset({"cpu", "requests.cpu"})))
        ledger.put(pod_of("Job/a", "1"))
        assert held(ledger, "cpu") == held(ledger, "requests.cpu") == [("Job/a", "1", 1)]

    def test_a_name_that_is_not_counted_has_none_to_ask_for(self, ledger: Ledger) -> None:
        with pytest.raises(KeyError):
            ledger.holders("team-a", "q", "x.com/gpu")


class TestLeaving:
    def test_a_finished_pod_holds_only_its_object(self, ledger: Ledger) -> None:
        ledger.put(pod_of("Job/a", "1"))
        ledger.put(pod_of("Job/a", "1", phase="Succeeded"))
        assert held(ledger) == held(ledger, "pods") == []
        assert held(ledger, "count/pods") == [("Job/a", "1", 0)]

    def test_a_pod_whose_grace_is_over_holds_only_its_object(self, ledger: Ledger) -> None:
        ledger.put(pod_of("Job/a", "1", released_at=100.0))
        ledger.put(pod_of("Job/a", "2"))
        ledger.release_due(101.0)
        assert held(ledger) == [("Job/a", "1", 1)]
        assert held(ledger, "count/pods") == [("Job/a", "2", 1)]

    def test_a_workload_that_is_gone_leaves_no_entry_behind(self, ledger: Ledger) -> None:
        uses = [
            pod_of("Job/a", "1"),
            pod_of("Job/a", "2", phase="Failed"),
            pod_of("Job/a", "3", "0", released_at=100.0),
            object_use("s"),
            volume_claim_use("data", storage="0", owner=owned_by("Job/a")),
            service_use("w", type="NodePort"),
        ]
        for use in uses:
            ledger.put(use)
        ledger.release_due(101.0)
        for use in uses:
            ledger.delete(use.uid, use.shape.resource)
        account = ledger._accounts["team-a"]["q"]
        assert not any(account._held.values())
        assert account._pods_of == {}
        assert all(held(ledger, name) == [] for name in NAMES)

    def test_an_object_that_changes_hands_is_held_by_the_new_one(self, ledger: Ledger) -> None:
        ledger.put(pod_of("ReplicaSet/old", "1"))
        ledger.put(pod_use("1", cpu="1"))
        assert held(ledger) == [("Pod/1", "1", 1)]

    def test_a_new_quota_finds_the_holders_that_are_there(self, ledger: Ledger) -> None:
        ledger.put(pod_of("Job/a", "1", released_at=100.0))
        ledger.put(pod_of("Job/b", "2"))
        ledger.release_due(101.0)
        ledger.set_quota("team-a", "late", Terms(NAMES))
        for name in NAMES:
            assert ledger.holders("team-a", "late", name) == ledger.holders("team-a", "q", name)


def test_holders_of_everything_add_up_to_what_is_used(ledger: Ledger) -> None:
    for number in range(8):
        ledger.put(pod_of(f"Job/{number % 3}", str(number), f"{number}00m"))
    used = ledger.usage("team-a", "q")
    assert sum(each.used for each in ledger.holders("team-a", "q", "requests.cpu", None)) == nano(x="2800m")["x"]
    assert sum(each.pods for each in ledger.holders("team-a", "q", "pods", None)) == used.pods == 8
