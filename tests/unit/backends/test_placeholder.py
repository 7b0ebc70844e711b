"""Placeholders: pods that take the room of a unit, do nothing, and give way to any other pod."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import msgspec
import pytest

from moorage.backends.placeholder import placeholder_document, priority_problem
from moorage.objects import PodSpec
from moorage.resources import pod_resources, with_defaults
from tests.unit.backends.templates import app, plan, template

OURS = {"app.kubernetes.io/managed-by": "moorage", "moorage.dev/buffer": "web"}


def deployment(made_of: dict[str, Any] | None = None, *, replicas: int = 3, **further: Any) -> dict[str, Any]:
    return placeholder_document(plan(made_of, **further), replicas=replicas)


def pod(made_of: dict[str, Any] | None = None, **further: Any) -> dict[str, Any]:
    found: dict[str, Any] = deployment(made_of, **further)["spec"]["template"]["spec"]
    return found


def effective(spec: dict[str, Any]) -> Any:
    return pod_resources(with_defaults(msgspec.convert(spec, PodSpec)))


class TestTheDeployment:
    def test_kubernetes_reads_it(self) -> None:
        kubernetes_validate.validate(deployment(preload_images=True, placement="Spread"), "1.36", strict=True)

    def test_it_has_as_many_pods_as_there_are_units(self) -> None:
        assert deployment(replicas=60)["spec"]["replicas"] == 60
        assert deployment()["metadata"]["name"] == "web-placeholder"

    def test_pending_placeholders_are_no_failure_to_rollout_status_and_gitops(self) -> None:
        """A Deployment with this deadline never says ProgressDeadlineExceeded."""
        assert deployment()["spec"]["progressDeadlineSeconds"] == 2**31 - 1

    def test_a_new_shape_makes_no_more_pods_than_units_and_waits_for_no_room(self) -> None:
        assert deployment()["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": "100%"}

    def test_no_service_or_disruption_budget_of_the_workload_finds_its_pods(self) -> None:
        assert deployment()["spec"]["template"]["metadata"]["labels"] == OURS
        assert deployment()["spec"]["selector"] == {"matchLabels": OURS}


class TestThePod:
    def test_it_gives_way_within_a_second(self) -> None:
        assert pod()["priorityClassName"] == "moorage-placeholder"
        assert pod()["terminationGracePeriodSeconds"] == 1, "with 0 the scheduler may leave a pod waiting for 5 minutes"

    def test_the_class_is_always_that_of_placeholders(self) -> None:
        urgent = template(priorityClassName="urgent", priority=1000, preemptionPolicy="PreemptLowerPriority")
        assert pod(urgent)["priorityClassName"] == "moorage-placeholder"
        assert not {"priority", "preemptionPolicy"} & pod(urgent).keys()

    def test_it_does_not_keep_a_node_from_being_removed(self) -> None:
        annotations = deployment()["spec"]["template"]["metadata"]["annotations"]
        assert annotations == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}

    def test_it_is_admitted_where_the_restricted_policy_holds(self) -> None:
        own = template(app(securityContext={"privileged": True}), hostNetwork=True, hostPID=True)
        assert pod(own)["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        for container in pod(own)["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            }
        assert not {"hostNetwork", "hostPID", "volumes"} & pod(own).keys()

    def test_it_gets_no_token_and_no_account(self) -> None:
        assert pod(template(serviceAccountName="web"))["automountServiceAccountToken"] is False
        assert "serviceAccountName" not in pod(template(serviceAccountName="web"))

    def test_windows_has_no_linux_fields(self) -> None:
        windows = pod(template(os={"name": "windows"}))
        assert windows["os"] == {"name": "windows"}
        assert "securityContext" not in windows
        assert "securityContext" not in windows["containers"][0]

    def test_it_goes_where_the_unit_would(self) -> None:
        fields: dict[str, Any] = {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
            "runtimeClassName": "gvisor",
            "schedulerName": "other",
        }
        assert pod(template(**fields)).items() >= fields.items()

    def test_images_are_pulled_only_when_asked_for(self) -> None:
        own = template(app(), app("log"), initContainers=[app("init"), app()], imagePullSecrets=[{"name": "key"}])
        assert "volumes" not in pod(own)
        preloading = pod(own, preload_images=True)
        assert [each["image"]["reference"] for each in preloading["volumes"]] == [
            "example/init:1",
            "example/app:1",
            "example/log:1",
        ]
        assert preloading["imagePullSecrets"] == [{"name": "key"}]


SHAPES = {
    "one container": template(app()),
    "no requests": template(app(requests={})),
    "limits alone": template(app(resources={"limits": {"cpu": "2", "nvidia.com/gpu": 1}})),
    "two containers": template(app(), app("log", {"cpu": "100m"})),
    "a sidecar": template(app(), initContainers=[app("proxy", {"cpu": "250m"}, restartPolicy="Always")]),
    "a large init container": template(app(), initContainers=[app("init", {"cpu": "4", "memory": "512Mi"})]),
    "a sidecar before a large init container": template(
        app(), initContainers=[app("proxy", {"cpu": "1"}, restartPolicy="Always"), app("init", {"cpu": "4"})]
    ),
    "resources of the pod": template(app(requests={"cpu": "1"}), resources={"requests": {"cpu": "3"}}),
    "limits of an init container": template(
        app(resources={"limits": {"memory": "1Gi"}}),
        initContainers=[app("init", resources={"limits": {"memory": "2Gi"}})],
    ),
}


class TestItsSize:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_it_requests_what_a_pod_of_the_workload_would(self, shape: str) -> None:
        wanted, made = effective(SHAPES[shape]["spec"]), effective(pod(SHAPES[shape]))
        assert {name: amount for name, amount in made.requests.items() if amount} == {
            name: amount for name, amount in wanted.requests.items() if amount
        }

    @pytest.mark.parametrize("shape", SHAPES)
    def test_it_has_the_limits_too_that_a_quota_counts(self, shape: str) -> None:
        assert effective(pod(SHAPES[shape])).limits == effective(SHAPES[shape]["spec"]).limits

    def test_overhead_is_left_to_the_runtime_class(self) -> None:
        """Admission adds it to every pod of the class."""
        with_class = pod(template(runtimeClassName="gvisor", overhead={"cpu": "250m"}))
        assert "overhead" not in with_class
        assert effective(with_class).requests["cpu"] == 10**9

    def test_bounds_on_single_containers_hold_for_it_as_for_the_workload(self) -> None:
        two = template(app(requests={"cpu": "2"}), app("log", {"cpu": "2"}))
        assert [each["resources"]["requests"]["cpu"] for each in pod(two)["containers"]] == ["2", "2"]


def term(**selector: str) -> dict[str, Any]:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class TestAffinityAndSpread:
    def test_units_keep_away_from_each_other_and_from_the_workload(self) -> None:
        """The workload's own label is what its anti-affinity names, and placeholders do not have it."""
        own = template(affinity={"podAntiAffinity": {REQUIRED: [term(app="web")]}})
        assert pod(own)["affinity"]["podAntiAffinity"][REQUIRED] == [term(app="web"), term(**OURS)]

    def test_units_are_drawn_to_each_other_where_the_workload_is_drawn_to_its_like(self) -> None:
        own = template(affinity={"podAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": term(app="web")}]}})
        assert pod(own)["affinity"]["podAffinity"][PREFERRED] == [{"weight": 5, "podAffinityTerm": term(**OURS)}]

    def test_units_are_spread_among_themselves(self) -> None:
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        like = {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["pod-template-hash"]}
        own = template(topologySpreadConstraints=[spread | like])
        assert pod(own)["topologySpreadConstraints"] == [spread | {"labelSelector": {"matchLabels": OURS}}]

    @pytest.mark.parametrize(
        "other",
        [
            term(app="cache"),
            term(app="web") | {"namespaces": ["team-b"]},
            term(app="web") | {"namespaceSelector": {"matchLabels": {"team": "b"}}},
            {"topologyKey": "zone"},
        ],
        ids=["other label", "other namespace", "selected namespaces", "no selector"],
    )
    def test_what_is_said_about_other_pods_stays(self, other: dict[str, Any]) -> None:
        own = template(affinity={"podAffinity": {REQUIRED: [other]}, "podAntiAffinity": {REQUIRED: [other]}})
        assert pod(own)["affinity"] == own["spec"]["affinity"]

    @pytest.mark.parametrize("place", [{"namespaces": ["team-a", "b"]}, {"namespaceSelector": {}}], ids=str)
    def test_its_own_namespace_may_be_named(self, place: dict[str, Any]) -> None:
        own = template(affinity={"podAffinity": {REQUIRED: [term(app="web") | place]}})
        assert pod(own)["affinity"]["podAffinity"][REQUIRED] == [term(**OURS)]

    @pytest.mark.parametrize(
        ("expression", "own"),
        [
            ({"key": "app", "operator": "In", "values": ["web", "api"]}, True),
            ({"key": "app", "operator": "NotIn", "values": ["web"]}, False),
            ({"key": "app", "operator": "Exists"}, True),
            ({"key": "tier", "operator": "Exists"}, False),
            ({"key": "tier", "operator": "DoesNotExist"}, True),
            ({"key": "tier", "operator": "NotIn", "values": ["x"]}, True),
        ],
    )
    def test_selectors_are_read_as_kubernetes_reads_them(self, expression: dict[str, Any], own: bool) -> None:
        alike = {"topologyKey": "zone", "labelSelector": {"matchExpressions": [expression]}}
        made = pod(template(affinity={"podAffinity": {REQUIRED: [alike]}}))["affinity"]["podAffinity"][REQUIRED]
        assert (made != [alike]) is own


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"value": -10}, ""),
        ({"value": -1}, ""),
        (None, "there is no PriorityClass moorage-placeholder"),
        ({"value": -1000}, "below -10 Cluster Autoscaler adds no nodes"),
        ({"value": 0}, "pods without a class cannot push placeholders out"),
        ({}, "has the value 0"),
    ],
)
def test_a_priority_class_that_would_not_work_is_told(stored: dict[str, Any] | None, words: str) -> None:
    problem = priority_problem(stored)
    assert words in problem
    assert bool(problem) is bool(words)


class TestWhatIsNotHeld:
    """Of some resources the API server counts placeholders like any pod; they would keep real ones out."""

    DISK = {"cpu": "1", "ephemeral-storage": "2Gi", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": "1"}
    LIMITS = {"ephemeral-storage": "3Gi", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": "1"}

    def resources(self, *not_held: str) -> dict[str, Any]:
        unit = template(app(resources={"requests": self.DISK, "limits": self.LIMITS}))
        found: dict[str, Any] = pod(unit, not_held=frozenset(not_held))["containers"][0]["resources"]
        return found

    def test_all_is_held_where_nothing_is_limited_so(self) -> None:
        assert self.resources() == {"requests": self.DISK, "limits": self.LIMITS}

    def test_none_of_it_is_asked_for_and_of_disk_none_by_name(self) -> None:
        assert self.resources("ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu") == {
            "requests": {"cpu": "1", "ephemeral-storage": "0"},
            "limits": {"ephemeral-storage": "3Gi"},
        }

    def test_nor_is_it_by_what_makes_up_for_init_containers(self) -> None:
        unit = template(app(), initContainers=[app("init", {"cpu": "3", "ephemeral-storage": "8Gi"})])
        whole = effective(pod(unit, not_held=frozenset({"ephemeral-storage"}))).requests
        assert whole["cpu"] == effective(unit["spec"]).requests["cpu"]
        assert whole["ephemeral-storage"] == 0

    def test_nor_by_the_pod_as_a_whole(self) -> None:
        unit = template(app(requests={"cpu": "1"}), resources={"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}})
        assert pod(unit, not_held=frozenset({"hugepages-2Mi"}))["resources"] == {"requests": {"cpu": "1"}}
