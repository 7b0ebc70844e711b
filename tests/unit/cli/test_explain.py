"""`moorage explain` judges manifests in their order, each with what the others before it use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Answer, Moorage

QUOTA: dict[str, Any] = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "NamespaceQuota",
    "metadata": {"name": "team-a", "namespace": "a"},
    "spec": {
        "hard": {"requests.cpu": "2000m", "requests.memory": "2048Mi", "pods": 6},
        "limits": [
            {"type": "Container", "defaultRequest": {"cpu": "200m", "memory": "256Mi"}},
            {"type": "Pod", "max": {"cpu": "1000m", "memory": "1024Mi"}},
        ],
    },
}


def quota(name: str = "q", kind: str = "NamespaceQuota", **spec: Any) -> dict[str, Any]:
    version = "v1" if kind == "ResourceQuota" else "moorage.dev/v1alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "a"}, "spec": spec}


def pod(name: str, **requests: str) -> dict[str, Any]:
    container = {"name": "app", **({"resources": {"requests": requests}} if requests else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def workload(kind: str, replicas: int | None = None, *, name: str = "web", cpu: str = "500m", **spec: Any) -> Any:
    group = "batch" if kind in ("Job", "CronJob") else "apps"
    own = {"template": {"spec": pod("", cpu=cpu)["spec"]}, **({} if replicas is None else {"replicas": replicas})}
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, "spec": {**own, **spec}}


@pytest.fixture
def explain(moorage: Moorage, tmp_path: Path) -> Any:
    """Run the command for these manifests, with quotas and objects in files."""

    def run(*manifests: Any, quotas: Any = (QUOTA,), objects: Any = (), arguments: tuple[str, ...] = ()) -> Answer:
        files = []
        for option, documents in (("--quota", quotas), ("--objects", objects)):
            if documents:
                path = tmp_path / f"{option[2:]}.yaml"
                path.write_text(yaml.safe_dump_all(documents))
                files += [option, str(path)]
        stdin = yaml.safe_dump_all(manifests)
        return moorage("explain", "-f", "-", "-n", "a", "-o", "json", *files, *arguments, stdin=stdin)

    return run


def brief(answer: Answer) -> list[tuple[str, str, list[str]]]:
    """Return name, verdict and failed steps of each object."""
    return [
        (each["name"], each["verdict"], [failure["step"] for failure in each["failures"]])
        for each in answer.json["objects"]
    ]


class TestTheStoryOfANamespace:
    def test_the_seventh_small_pod_is_refused_by_their_number(self, explain: Any) -> None:
        answer = explain(*(pod(f"p{number}") for number in range(7)))
        assert answer.code == 1
        assert answer.json["verdict"] == "Refused"
        assert brief(answer)[-2:] == [("p5", "Admitted", []), ("p6", "Refused", ["count"])]

    def test_what_was_filled_in_is_told_and_counts(self, explain: Any) -> None:
        answer = explain(pod("p"))
        (found,) = answer.json["objects"]
        assert answer.code == 0
        assert found["defaulted"] == {"app": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {}}}
        assert found["fits"] == 6

    def test_too_big_a_pod_uses_nothing(self, explain: Any) -> None:
        big = pod("big", cpu="1500m", memory="1Mi")
        answer = explain(big, pod("a", cpu="1", memory="1Mi"), pod("b", cpu="1", memory="1Mi"))
        assert brief(answer) == [("big", "Refused", ["bounds"]), ("a", "Admitted", []), ("b", "Admitted", [])]

    def test_without_defaults_silent_pods_are_refused(self, explain: Any) -> None:
        answer = explain(pod("p"), quotas=[quota(hard={"requests.cpu": "2"})])
        assert brief(answer) == [("p", "Refused", ["specify"])]
        (failure,) = answer.json["objects"][0]["failures"]
        assert failure == {
            "step": "specify",
            "quota": "q",
            "resource": "requests.cpu",
            "requested": None,
            "used": "0",
            "hard": "2",
            "message": "must specify requests.cpu for container app: the total is limited, and no default fills it in",
        }

    def test_what_is_there_already_counts(self, explain: Any) -> None:
        there = [
            {**pod(f"old{number}", cpu="900m"), "metadata": {"name": f"old{number}", "uid": f"u{number}"}}
            for number in (1, 2)
        ]
        answer = explain(pod("p", cpu="300m"), objects=there)
        (failure,) = answer.json["objects"][0]["failures"]
        numbers = {key: failure[key] for key in ("step", "resource", "requested", "used", "hard")}
        assert numbers == {
            "step": "total",
            "resource": "requests.cpu",
            "requested": "300m",
            "used": "1800m",
            "hard": "2",
        }

    def test_one_that_is_there_already_is_not_charged_again(self, explain: Any) -> None:
        there = [pod(f"p{number}") for number in range(6)]
        assert explain(pod("p0"), objects=there).code == 0
        assert explain(pod("p9"), objects=there).code == 1


class TestWorkloads:
    LIMIT = (quota(hard={"requests.cpu": "3", "pods": 10}),)

    @pytest.mark.parametrize(
        ("manifest", "replicas", "fits", "admitted"),
        [
            pytest.param(workload("Deployment", 6), 6, 6, True, id="Deployment"),
            pytest.param(workload("Deployment", 7), 7, 6, False, id="too many"),
            pytest.param(workload("StatefulSet"), 1, 6, True, id="StatefulSet"),
            pytest.param(workload("ReplicaSet", 0), 0, 6, True, id="none"),
            pytest.param(workload("DaemonSet"), 1, 6, True, id="DaemonSet, on a node"),
            pytest.param(workload("Job", parallelism=9, completions=2), 2, 6, True, id="Job"),
            pytest.param(workload("Job", parallelism=9), 9, 6, False, id="Job with too many at a time"),
            pytest.param(workload("Job", parallelism=9, suspend=True), 0, 6, True, id="suspended Job"),
            pytest.param(
                workload("CronJob", jobTemplate={"spec": workload("Job", parallelism=7)["spec"]}),
                7,
                6,
                False,
                id="one Job of a CronJob",
            ),
        ],
    )
    def test_are_judged_with_all_their_pods(
        self, explain: Any, manifest: Any, replicas: int, fits: int, admitted: bool
    ) -> None:
        answer = explain(manifest, quotas=self.LIMIT)
        (found,) = answer.json["objects"]
        assert (found["replicas"], found["fits"]) == (replicas, fits)
        assert (answer.code, found["verdict"]) == ((0, "Admitted") if admitted else (1, "Refused"))

    def test_can_be_judged_with_another_number_of_replicas(self, explain: Any) -> None:
        answers = [
            explain(workload("Deployment", 1), quotas=self.LIMIT, arguments=("--replicas", str(number)))
            for number in (6, 7)
        ]
        assert [each.code for each in answers] == [0, 1]

    def test_the_failure_is_that_of_the_first_pod_that_is_refused(self, explain: Any) -> None:
        (found,) = explain(workload("Deployment", 9), quotas=self.LIMIT).json["objects"]
        (failure,) = found["failures"]
        assert (failure["requested"], failure["used"], failure["hard"]) == ("500m", "3", "3")

    def test_leave_less_room_for_the_next(self, explain: Any) -> None:
        web, api = workload("Deployment", 4), workload("Deployment", 4, name="api")
        answer = explain(web, api, quotas=self.LIMIT)
        assert [(each["name"], each["fits"]) for each in answer.json["objects"]] == [("web", 6), ("api", 2)]

    def test_take_the_place_of_the_pods_that_they_have(self, explain: Any) -> None:
        there = [
            {
                **pod(f"web-{number}", cpu="500m"),
                "metadata": {
                    "name": f"web-{number}",
                    "uid": str(number),
                    "labels": {"pod-template-hash": "x"},
                    "ownerReferences": [{"kind": "ReplicaSet", "name": "web-x", "uid": "1", "controller": True}],
                },
            }
            for number in range(5)
        ]
        (found,) = explain(workload("Deployment", 6), quotas=self.LIMIT, objects=there).json["objects"]
        assert (found["verdict"], found["fits"]) == ("Admitted", 6)

    def test_are_counted_themselves_with_what_is_made_for_them(self, explain: Any) -> None:
        none = [quota(hard={"count/deployments.apps": 0, "count/replicasets.apps": 0, "pods": 9})]
        (found,) = explain(workload("Deployment", 2), quotas=none).json["objects"]
        assert [each["resource"] for each in found["failures"]] == ["count/deployments.apps", "count/replicasets.apps"]

    def test_claims_of_a_stateful_set_limit_it_too(self, explain: Any) -> None:
        template = {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "4Gi"}}}}
        manifest = workload("StatefulSet", 3, volumeClaimTemplates=[template])
        storage = [quota(hard={"requests.storage": "10Gi"})]
        (found,) = explain(manifest, quotas=storage).json["objects"]
        assert (found["fits"], [each["resource"] for each in found["failures"]]) == (2, ["requests.storage"])

        there = {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data-web-0", "uid": "1"},
            "spec": template["spec"],
        }
        (found,) = explain(manifest, quotas=storage, objects=[there]).json["objects"]
        assert (found["fits"], found["verdict"]) == (2, "Refused")

    def test_one_that_comes_from_a_cluster_is_judged_as_a_manifest(self, explain: Any) -> None:
        stored = workload("Deployment", 7)
        stored["metadata"] |= {"uid": "u", "resourceVersion": "3"}
        assert explain(stored, quotas=self.LIMIT).code == 1

    @pytest.mark.parametrize(
        ("manifest", "message"),
        [
            (workload("Deployment", template=None), "Deployment web: spec.template is missing"),
            (workload("CronJob", jobTemplate={}), "CronJob web: spec.jobTemplate.spec is missing"),
            (workload("Deployment", -1), "Deployment web: spec.replicas must be from 0 to 100000, not -1"),
            (
                workload("Deployment", strategy={"rollingUpdate": {"maxSurge": "lots"}}),
                "Deployment web: spec.strategy.rollingUpdate: maxSurge must be a number or a percentage, not 'lots'",
            ),
        ],
    )
    def test_what_cannot_be_judged_is_one_clear_line(self, explain: Any, manifest: Any, message: str) -> None:
        answer = explain(manifest, quotas=self.LIMIT)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err == f"moorage explain: standard input: {message}\n"


class TestRollouts:
    def rollout(self, explain: Any, pods: int, **rolling: Any) -> Any:
        strategy = {"rollingUpdate": rolling} if rolling else {}
        manifest = workload("Deployment", 4, strategy=strategy)
        (found,) = explain(manifest, quotas=[quota(hard={"pods": pods})]).json["objects"]
        assert found["verdict"] == "Admitted"
        return found["rollout"]

    def test_have_room_or_not(self, explain: Any) -> None:
        assert self.rollout(explain, 5) == {"surge": 1, "fits": 1, "hasRoom": True, "isStuck": False}
        assert self.rollout(explain, 4) == {"surge": 1, "fits": 0, "hasRoom": False, "isStuck": False}

    def test_are_stuck_when_no_old_pod_may_go_first(self, explain: Any) -> None:
        found = self.rollout(explain, 5, maxSurge="50%", maxUnavailable=0)
        assert found == {"surge": 2, "fits": 1, "hasRoom": False, "isStuck": False}
        assert self.rollout(explain, 4, maxSurge="50%", maxUnavailable=0)["isStuck"]

    def test_of_other_strategies_and_workloads_need_no_room(self, explain: Any) -> None:
        recreated = workload("Deployment", 4, strategy={"type": "Recreate"})
        answer = explain(recreated, workload("StatefulSet", 1, name="db"), quotas=[quota(hard={"pods": 9})])
        assert not any("rollout" in each for each in answer.json["objects"])


class TestOtherObjects:
    def test_claims_services_and_objects_of_any_kind(self, explain: Any) -> None:
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"resources": {"requests": {"storage": "20Gi"}}},
        }
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "LoadBalancer"}}
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        bound = {"type": "PersistentVolumeClaim", "max": {"storage": "10Gi"}}
        hard = {"services.loadbalancers": 0, "count/widgets.example.com": 1}
        answer = explain(claim, service, widget, quotas=[quota(hard=hard, limits=[bound])])
        assert brief(answer) == [
            ("data", "Refused", ["bounds"]),
            ("web", "Refused", ["count"]),
            ("w", "Admitted", []),
        ]

    def test_a_claim_that_is_there_can_be_applied_again_beyond_a_newer_bound(self, explain: Any) -> None:
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {"resources": {"requests": {"storage": "20Gi"}}},
        }
        bound = {"type": "PersistentVolumeClaim", "max": {"storage": "10Gi"}}
        assert explain(claim, quotas=[quota(limits=[bound])], objects=[claim]).code == 0


class TestQuotas:
    def test_among_the_manifests_hold_in_place_of_those_with_their_names(self, explain: Any) -> None:
        strict = quota("team-a", hard={"pods": 0})
        answer = explain(strict, pod("p"))
        assert brief(answer) == [("p", "Refused", ["count"])]

    def test_in_audit_mode_refuse_nothing_and_tell_what_they_would(self, explain: Any) -> None:
        answer = explain(pod("p", cpu="1"), quotas=[quota(hard={"pods": 0}, enforcement="Audit")])
        (found,) = answer.json["objects"]
        assert (answer.code, found["verdict"], found["failures"], found["fits"]) == (0, "Admitted", [], None)
        assert [each["resource"] for each in found["audited"]] == ["pods"]

    def test_of_kubernetes_itself_are_judged_by_its_own_rules(self, explain: Any) -> None:
        native = quota(kind="ResourceQuota", hard={"requests.memory": "9Gi", "ephemeral-storage": "9Gi"})
        (found,) = explain(pod("p"), quotas=[native]).json["objects"]
        assert [(each["quota"], each["resource"]) for each in found["failures"]] == [
            ("ResourceQuota/q", "requests.memory")
        ]

    def test_that_only_enforce_ours_say_nothing_twice(self, explain: Any) -> None:
        projected = quota("moorage-q", kind="ResourceQuota", hard={"pods": 0})
        projected["metadata"]["ownerReferences"] = [{"kind": "NamespaceQuota", "name": "q", "uid": "1"}]
        (found,) = explain(pod("p"), quotas=[quota(hard={"pods": 0}), projected]).json["objects"]
        assert [each["quota"] for each in found["failures"]] == ["q"]

    def test_are_taken_from_the_objects_when_no_file_has_them(self, explain: Any) -> None:
        assert explain(pod("p"), quotas=(), objects=[quota(hard={"pods": 0})]).code == 1

    def test_of_another_namespace_are_noted(self, explain: Any) -> None:
        elsewhere = {**pod("p"), "metadata": {"name": "p", "namespace": "b"}}
        answer = explain(elsewhere)
        assert (answer.code, brief(answer)) == (0, [("p", "Admitted", [])])
        assert answer.err == "moorage explain: namespace b has no quota; there are some in a: name one with -n\n"

    @pytest.mark.parametrize(
        ("manifests", "files"),
        [
            pytest.param(["a"], [None], id="of a file that names no namespace, to manifests that do"),
            pytest.param([None], ["a"], id="the other way round"),
            pytest.param([None], [None], id="where none does"),
            pytest.param(["a", None], ["a"], id="where some do"),
        ],
    )
    def test_belong_to_manifests_when_no_other_namespace_is_named(
        self, moorage: Moorage, tmp_path: Path, manifests: list[str | None], files: list[str | None]
    ) -> None:
        def placed(document: dict[str, Any], namespace: str | None) -> dict[str, Any]:
            meta = {"name": document["metadata"]["name"], **({"namespace": namespace} if namespace else {})}
            return {**document, "metadata": meta}

        path = tmp_path / "quota.yaml"
        path.write_text(yaml.safe_dump_all([placed(quota(hard={"pods": 0}), each) for each in files]))
        stdin = yaml.safe_dump_all([placed(pod(f"p{number}"), each) for number, each in enumerate(manifests)])
        answer = moorage("explain", "-f", "-", "--quota", str(path), "-o", "json", stdin=stdin)
        assert {each["verdict"] for each in answer.json["objects"]} == {"Refused"}

    def test_that_cannot_be_used_are_one_clear_line(self, explain: Any) -> None:
        answer = explain(pod("p"), quotas=[quota(limits=[{"type": "Pod", "default": {"cpu": 1}}])])
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "spec.limits[0].default: must be left out: only entries of type Container fill anything in" in answer.err

    def test_that_are_missing_are_asked_for(self, explain: Any) -> None:
        answer = explain(pod("p"), quotas=(), objects=[pod("other")])
        assert answer.code == 2
        assert "name a file that has one with --quota" in answer.err

    def test_limit_ranges_fill_in_and_refuse(self, explain: Any) -> None:
        entry = {"type": "Container", "defaultRequest": {"cpu": "300m"}, "max": {"cpu": "1"}}
        ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr"}, "spec": {"limits": [entry]}}
        silent, greedy = explain(pod("p"), objects=[ranges]), explain(pod("p", cpu="2"), objects=[ranges])
        [defaulted] = silent.json["objects"][0]["defaulted"].values()
        assert defaulted == {"requests": {"cpu": "300m", "memory": "256Mi"}, "limits": {"cpu": "1"}}
        assert {each["quota"] for each in greedy.json["objects"][0]["failures"]} >= {"LimitRange/lr"}

    def test_a_limit_range_that_cannot_be_read_is_one_clear_line(self, explain: Any) -> None:
        entry = {"type": "Container", "max": {"cpu": "much"}}
        ranges = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "lr"}, "spec": {"limits": [entry]}}
        answer = explain(pod("p"), objects=[ranges])
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "LimitRange lr: spec.limits: " in answer.err


class TestTheTable:
    def test_tells_a_person_what_happens(self, moorage: Moorage, tmp_path: Path) -> None:
        path = tmp_path / "quota.yaml"
        path.write_text(yaml.safe_dump(QUOTA))
        manifests = yaml.safe_dump_all(
            [workload("Deployment", 5, cpu="300m"), pod("big", cpu="1500m"), workload("Deployment", 4, name="api")]
        )
        answer = moorage("explain", "-f", "-", "-n", "a", "--quota", str(path), stdin=manifests)
        assert answer.out == (
            "Deployment a/web: 5 replicas admitted, 6 fit\n"
            "  filled in for app: requests memory=256Mi\n"
            "  a rollout makes 2 pods beside the old, of which 1 fits: it waits for old pods to go\n"
            "Pod a/big: refused\n"
            "  bounds (team-a): maximum cpu per Pod is 1, but the pod requests 1500m\n"
            "  total (team-a): requests.cpu: 1500m requested, but 1500m of 2 is used, which leaves 500m\n"
            "  filled in for app: requests memory=256Mi\n"
            "Deployment a/api: refused, 1 of 4 replicas fit\n"
            "  count (team-a): pods: 1 requested, but 6 of 6 is used, which leaves 0\n"
            "  total (team-a): requests.cpu: 500m requested, but 2 of 2 is used, which leaves 0\n"
            "  filled in for app: requests memory=256Mi\n"
        )

    def test_tells_of_stuck_rollouts_and_of_audits(self, moorage: Moorage, tmp_path: Path) -> None:
        path = tmp_path / "quota.yaml"
        path.write_text(
            yaml.safe_dump_all(
                [quota(hard={"pods": 2}), quota("watched", hard={"requests.cpu": "1"}, enforcement="Audit")]
            )
        )
        rolling = {"rollingUpdate": {"maxUnavailable": 0}}
        manifest = yaml.safe_dump(workload("Deployment", 2, cpu="600m", strategy=rolling))
        answer = moorage("explain", "-f", "-", "-n", "a", "--quota", str(path), stdin=manifest)
        assert answer.out == (
            "Deployment a/web: 2 replicas admitted, 2 fit\n"
            "  in Enforce mode total (watched): requests.cpu: 600m requested, but 600m of 1 is used, which leaves "
            "400m\n"
            "  a rollout makes 1 pod beside the old, of which 0 fit: it would be stuck until there is room, or "
            "maxUnavailable is above 0\n"
        )


def test_nothing_to_judge_is_bad_input(moorage: Moorage) -> None:
    answer = moorage("explain", "-f", "-", "--quota", "q.yaml", stdin="")
    assert (answer.code, answer.err) == (2, "moorage explain: -: there is nothing in it\n")
