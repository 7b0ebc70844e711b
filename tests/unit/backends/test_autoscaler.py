"""What the autoscalers' API is given for a buffer, and how what comes back is read."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest

from moorage.backends.autoscaler import Answer, Tier, answer_of, buffer_document, unit_template
from moorage.backends.plan import Owner, Plan
from tests.unit.backends.templates import OWNER, app, plan, template


def unit(**spec: Any) -> dict[str, Any]:
    """Return the pod spec of the unit that is made of a template."""
    found: dict[str, Any] = unit_template(plan(template(**spec)))["template"]["spec"]
    return found


class TestObjects:
    @pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
    def test_a_tier_is_a_buffer_with_a_fixed_size(self, version: str) -> None:
        made = buffer_document(plan(), Tier.ACTIVE, replicas=60, version=version)
        assert (made["apiVersion"], made["kind"]) == (f"autoscaling.x-k8s.io/{version}", "CapacityBuffer")
        assert (made["metadata"]["namespace"], made["metadata"]["name"]) == ("team-a", "web-active")
        assert made["spec"] == {
            "podTemplateRef": {"name": "web-unit"},
            "replicas": 60,
            "provisioningStrategy": "buffer.x-k8s.io/active-capacity",
        }

    def test_standby_has_a_strategy_and_annotations_of_its_own(self) -> None:
        annotations = {
            "buffer.gke.io/standby-capacity-init-time": "2m",
            "buffer.gke.io/standby-capacity-refresh-frequency": "never",
            "example.com/other": "x",
        }
        standby = buffer_document(plan(annotations=annotations), Tier.STANDBY, replicas=120, version="v1beta1")
        assert standby["metadata"]["name"] == "web-standby"
        assert standby["spec"]["provisioningStrategy"] == "buffer.gke.io/standby-capacity"
        assert standby["metadata"]["annotations"] == {
            "buffer.gke.io/standby-capacity-init-time": "2m",
            "buffer.gke.io/standby-capacity-refresh-frequency": "never",
        }
        active = buffer_document(plan(annotations=annotations), Tier.ACTIVE, replicas=60, version="v1beta1")
        assert "annotations" not in active["metadata"]

    def test_everything_is_owned_by_the_buffer_and_labelled(self) -> None:
        for made in (unit_template(plan()), buffer_document(plan(), Tier.ACTIVE, replicas=1, version="v1beta1")):
            assert made["metadata"]["labels"] == {
                "app.kubernetes.io/managed-by": "moorage",
                "moorage.dev/buffer": "web",
            }
            assert made["metadata"]["ownerReferences"] == [
                {
                    "apiVersion": "moorage.dev/v1alpha1",
                    "kind": "CapacityBuffer",
                    "name": "web",
                    "uid": "uid-1",
                    "controller": True,
                }
            ]

    def test_names_and_labels_stay_within_their_lengths(self) -> None:
        names = {
            Owner("team-a", name, "uid").named(suffix)
            for name in ("x" * 253, "x" * 252 + "y")
            for suffix in ("active", "standby", "unit", "placeholder")
        }
        assert len(names) == 8, "two long names do not meet"
        assert max(map(len, names)) == 253
        assert len(Owner("team-a", "a" * 100, "uid").label) == 63
        assert Owner("team-a", "web", "uid").label == "web"


class TestTheUnit:
    def test_it_is_a_pod_template_of_the_namespace(self) -> None:
        made = unit_template(plan())
        assert (made["kind"], made["metadata"]["name"], made["metadata"]["namespace"]) == (
            "PodTemplate",
            "web-unit",
            "team-a",
        )
        kubernetes_validate.validate(made, "1.36", strict=True)

    def test_labels_stay_for_the_units_own_spread_and_anti_affinity(self) -> None:
        assert unit_template(plan())["template"]["metadata"]["labels"] == {"app": "web", "moorage.dev/buffer": "web"}

    def test_all_that_decides_where_it_fits_stays(self) -> None:
        fields: dict[str, Any] = {
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "spot", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
            "runtimeClassName": "gvisor",
            "overhead": {"cpu": "100m"},
            "schedulerName": "other",
            "os": {"name": "linux"},
            "resources": {"requests": {"cpu": "3"}},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        }
        assert unit(**fields).items() >= fields.items()

    def test_the_rest_goes_so_that_it_changes_nothing(self) -> None:
        one = template(
            app(env=[{"name": "PASSWORD", "value": "secret"}], command=["serve"], volumeMounts=[]),
            nodeName="node-1",
            serviceAccountName="web",
            volumes=[{"name": "tmp", "emptyDir": {}}, {"name": "key", "secret": {"secretName": "key"}}],
        )
        assert unit_template(plan(one)) == unit_template(plan(template()))

    def test_the_priority_goes_since_units_below_minus_ten_would_be_dropped(self) -> None:
        assert "priorityClassName" not in unit(priorityClassName="low", priority=-100, preemptionPolicy="Never")

    def test_requests_are_taken_from_limits_as_for_a_pod(self) -> None:
        limited = {"name": "app", "image": "a", "resources": {"limits": {"cpu": "2"}}}
        [made] = unit_template(plan(template(limited)))["template"]["spec"]["containers"]
        assert made["resources"] == {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}

    def test_sidecars_init_containers_and_host_ports_stay(self) -> None:
        sidecar = app("proxy", {"cpu": "100m"}, restartPolicy="Always")
        web = app(ports=[{"containerPort": 80}, {"containerPort": 9, "hostPort": 9, "name": "metrics"}])
        spec = unit_template(plan(template(web, initContainers=[sidecar])))["template"]["spec"]
        assert spec["initContainers"][0]["restartPolicy"] == "Always"
        assert spec["containers"][0]["ports"] == [{"containerPort": 9, "hostPort": 9}]

    def test_devices_that_every_pod_gets_for_itself_stay(self) -> None:
        web = app(resources={"requests": {"cpu": "1"}, "claims": [{"name": "own"}, {"name": "shared"}]})
        claims = [
            {"name": "own", "resourceClaimTemplateName": "gpu"},
            {"name": "shared", "resourceClaimName": "one-gpu"},
        ]
        spec = unit_template(plan(template(web, resourceClaims=claims)))["template"]["spec"]
        assert spec["resourceClaims"] == claims[:1]
        assert spec["containers"][0]["resources"]["claims"] == [{"name": "own"}]


class TestDedication:
    def test_a_unit_asks_for_the_nodes_of_its_buffer(self) -> None:
        made = unit_template(Plan(OWNER, template(nodeSelector={"disk": "ssd"}), dedicated=True))["template"]["spec"]
        assert made["nodeSelector"] == {"disk": "ssd", "moorage.dev/dedicated": "web"}
        assert made["tolerations"] == [
            {"key": "moorage.dev/dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
        ]

    @pytest.mark.parametrize(
        "toleration",
        [
            {"key": "team", "operator": "Equal", "value": "web", "effect": "NoSchedule"},
            {"key": "team", "value": "web"},
            {"key": "team", "operator": "Exists"},
        ],
    )
    def test_one_that_has_nodes_of_its_own_keeps_to_them(self, toleration: dict[str, str]) -> None:
        own = template(nodeSelector={"team": "web"}, tolerations=[toleration])
        assert unit_template(plan(own, dedicated=True)) == unit_template(plan(own))

    @pytest.mark.parametrize(
        "toleration",
        [
            {"key": "spot", "operator": "Exists"},
            {"key": "team", "value": "other"},
            {"key": "team", "operator": "Exists", "effect": "PreferNoSchedule"},
        ],
    )
    def test_a_toleration_of_something_else_is_no_isolation(self, toleration: dict[str, str]) -> None:
        own = template(nodeSelector={"team": "web"}, tolerations=[toleration])
        made = unit_template(plan(own, dedicated=True))["template"]["spec"]
        assert "moorage.dev/dedicated" in made["nodeSelector"]
        assert toleration in made["tolerations"]


class TestPlacement:
    def test_spread_is_soft_and_over_zones_and_nodes(self) -> None:
        spec = unit_template(plan(placement="Spread"))["template"]["spec"]
        assert [each["topologyKey"] for each in spec["topologySpreadConstraints"]] == [
            "topology.kubernetes.io/zone",
            "kubernetes.io/hostname",
        ]
        assert {each["whenUnsatisfiable"] for each in spec["topologySpreadConstraints"]} == {"ScheduleAnyway"}

    def test_pack_draws_units_together_and_keeps_the_affinity_there_is(self) -> None:
        own = template(affinity={"nodeAffinity": {"x": 1}})
        affinity = unit_template(plan(own, placement="Pack"))["template"]["spec"]["affinity"]
        [term] = affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        assert term["podAffinityTerm"]["labelSelector"] == {"matchLabels": {"moorage.dev/buffer": "web"}}
        assert affinity["nodeAffinity"] == {"x": 1}


def stored(
    *conditions: dict[str, Any], generation: int = 2, spec: int = 5, status: int | None = None
) -> dict[str, Any]:
    return {
        "metadata": {"generation": generation},
        "spec": {"replicas": spec},
        "status": {"conditions": list(conditions), "provisioningStrategy": "s", "replicas": status},
    }


def said(
    type_: str = "ReadyForProvisioning", status: str = "True", reason: str = "Resolved", **more: Any
) -> dict[str, Any]:
    return {"type": type_, "status": status, "reason": reason, "message": "m", **more}


class TestAnswers:
    def test_nothing_written_is_no_answer(self) -> None:
        assert answer_of({"metadata": {"generation": 2}}) == Answer(2)
        assert not answer_of(stored()).answered

    @pytest.mark.parametrize(
        ("reason", "controller"),
        [
            ("Resolved", "Karpenter"),
            ("PodTemplateNotFound", "Karpenter"),
            ("AttributesSetSuccessfully", "Cluster Autoscaler"),
            ("error", "Cluster Autoscaler"),
            ("SomethingElse", "Other"),
        ],
    )
    def test_reasons_tell_the_controllers_apart(self, reason: str, controller: str) -> None:
        assert answer_of(stored(said(reason=reason))).controller == controller

    @pytest.mark.parametrize(("observed", "current"), [(1, False), (2, True)])
    def test_karpenter_says_which_generation_it_has_seen(self, observed: int, current: bool) -> None:
        assert answer_of(stored(said(observedGeneration=observed), status=5)).current is current

    @pytest.mark.parametrize(("size", "current"), [(5, True), (4, False), (None, False)])
    def test_of_cluster_autoscaler_the_size_tells(self, size: int | None, current: bool) -> None:
        assert answer_of(stored(said(reason="AttributesSetSuccessfully"), status=size)).current is current

    def test_a_size_that_quotas_cut_is_current_too(self) -> None:
        cut = said("LimitedByQuotas", reason="ResourceQuotasAllocated")
        answer = answer_of(stored(said(reason="AttributesSetSuccessfully"), cut, status=3))
        assert answer.current
        assert answer.limited_by == cut

    def test_an_error_is_current(self) -> None:
        answer = answer_of(stored(said(status="False", reason="error")))
        assert (answer.current, answer.ready, answer.message) == (True, False, "m")
