"""Backend Autoscaler: objects of autoscaling.x-k8s.io, kept as they should be, and chosen by who answers on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.backends import PRIORITY_CLASS, made, patch, wait_for_made
from tests.cluster.crds import install_crds
from tests.cluster.objects import (
    buffer,
    condition,
    deployment,
    pod_template,
    sizing,
    status_of,
    wait_for_condition,
    wait_for_rest,
    wait_for_status,
)
from tests.cluster.recorded import written
from tests.cluster.upstream import (
    UPSTREAM,
    cluster_autoscaler,
    controller,
    gke,
    install_upstream,
    karpenter,
    remove_upstream,
)
from tests.controlplane import ControlPlane
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.controlplane.waiting import wait_for
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}
PATIENCE_SECONDS = 6.0
"""How long the operator of these tests waits for an answer; it is a minute by default."""
TRUE_AGAIN_SECONDS = 30.0
AUTOSCALED = {"backend": {"name": "Autoscaler"}}
PLACEHOLDERS = {"backend": {"name": "Placeholder"}}
UNANSWERED = {
    "backend": {
        "name": "Placeholder",
        "reason": "the API group autoscaling.x-k8s.io is served, but no controller answers on a CapacityBuffer of it",
    }
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster of this module's own, since the autoscalers' API comes and goes in it as a whole."""
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane() as plane:
        install_crds(plane)
        plane.apply(PRIORITY_CLASS)
        yield plane


@pytest.fixture
def namespace(cluster: ControlPlane) -> Iterator[str]:
    with cluster.namespace() as name:
        yield name
    remove_upstream(cluster)


@pytest.fixture
def api(cluster: ControlPlane) -> None:
    install_upstream(cluster)


@pytest.fixture
def operator(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[OperatorProcess]:
    """An operator of the test's own, in its namespace alone."""
    flag = f"--wait-for-autoscaler={PATIENCE_SECONDS}"
    process = OperatorProcess(cluster.kubeconfig, tmp_path / "operator.log", "-n", namespace, flag)
    process.start_and_wait()
    yield process
    process.stop()


def hybrid(**spec: Any) -> Any:
    """60 active and 120 standby units."""
    return buffer(podTemplateRef=UNIT, sizing=sizing(), **({"backend": "Auto"} | spec))


def fixed(replicas: int, **spec: Any) -> Any:
    """So many units, all active."""
    return buffer(podTemplateRef=UNIT, replicas=replicas, **({"backend": "Auto"} | spec))


@pytest.mark.usefixtures("api", "operator")
class TestObjects:
    def test_each_tier_is_an_object_of_its_own_with_the_units_template(
        self, cluster: ControlPlane, namespace: str
    ) -> None:
        with controller(cluster, gke):
            annotations = {"buffer.gke.io/standby-capacity-init-time": "2m", "example.com/other": "x"}
            body = hybrid()
            body["metadata"]["annotations"] = annotations
            cluster.apply(pod_template(cpu="250m"), body, namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            found = made(cluster, namespace, UPSTREAM)
            assert found["buffer-standby"]["spec"]["provisioningStrategy"] == "buffer.gke.io/standby-capacity"
            assert found["buffer-standby"]["metadata"]["annotations"] == {
                "buffer.gke.io/standby-capacity-init-time": "2m"
            }
            unit = made(cluster, namespace, "podtemplates")["buffer-unit"]["template"]
            assert unit["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "250m", "memory": "64Mi"}
            assert unit["metadata"]["labels"]["app"] == "unit"
            backend = {"name": "Autoscaler", "controller": "Cluster Autoscaler"}
            wait_for_status(cluster, namespace, "cbuf/buffer", {"backend": backend})

    def test_changes_of_size_shape_and_annotations_arrive(self, cluster: ControlPlane, namespace: str) -> None:
        with controller(cluster, gke):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            patch(cluster, namespace, "cbuf/buffer", {"spec": {"sizing": {"scaleUpRate": 1}}})
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 30, "buffer-standby": 60})
            cluster.apply(pod_template(cpu="2"), namespace=namespace)
            _wait_for_unit_cpu(cluster, namespace, "2")
            frequency = "buffer.gke.io/standby-capacity-refresh-frequency"
            cluster.kubectl("annotate", "-n", namespace, "cbuf/buffer", f"{frequency}=never")
            wait_for(
                lambda: (
                    made(cluster, namespace, UPSTREAM)["buffer-standby"]["metadata"].get("annotations")
                    == {frequency: "never"}
                ),
                timeout=15,
                message="the annotation to be passed on",
            )

    @pytest.mark.parametrize(
        "edit",
        [
            ("patch", UPSTREAM, "buffer-active", "--type=merge", "-p", '{"spec": {"replicas": 1}}'),
            ("delete", UPSTREAM, "buffer-active", "--wait=false"),
            ("label", UPSTREAM, "buffer-active", "moorage.dev/buffer-"),
            ("patch", UPSTREAM, "buffer-active", "--type=json", "-p",
             '[{"op": "remove", "path": "/metadata/ownerReferences"}]'),
            ("delete", "podtemplate", "buffer-unit", "--wait=false"),
            ("patch", "podtemplate", "buffer-unit", "--type=json", "-p",
             '[{"op": "replace", "path": "/template/spec/containers/0/resources/requests/cpu", "value": "7"}]'),
        ],
        ids=["size", "deletion", "label", "owner", "deleted unit", "shape"],
    )  # fmt: skip
    def test_objects_edited_by_hand_are_put_back(
        self, cluster: ControlPlane, namespace: str, edit: tuple[str, ...]
    ) -> None:
        with controller(cluster, karpenter):
            cluster.apply(pod_template(), fixed(5), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 5})
            wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED)
            uid = cluster.get("-n", namespace, "cbuf/buffer")["metadata"]["uid"]
            verb, *rest = edit
            cluster.kubectl(verb, "-n", namespace, *rest)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 5}, timeout=30)
            _wait_for_unit_cpu(cluster, namespace, "100m")
            wait_for(
                lambda: [each["uid"] for each in _metadata(cluster, namespace).get("ownerReferences", ())] == [uid],
                timeout=15,
                message="the owner",
            )

    def test_an_object_of_the_same_name_that_somebody_else_made_is_not_touched(
        self, cluster: ControlPlane, namespace: str
    ) -> None:
        theirs = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "buffer-unit"}}
        cluster.apply(pod_template() | theirs, namespace=namespace)
        cluster.apply(pod_template(), fixed(5, backend="Autoscaler"), namespace=namespace)
        found = wait_for_condition(cluster, namespace, "cbuf/buffer", "Ready", "False", "NameTaken")
        assert found["message"] == "PodTemplate buffer-unit exists and was not made for this buffer; rename one of them"
        assert "ownerReferences" not in cluster.get("-n", namespace, "podtemplate", "buffer-unit")["metadata"]
        cluster.kubectl("delete", "-n", namespace, "podtemplate", "buffer-unit")
        wait_for_condition(cluster, namespace, "cbuf/buffer", "Ready", "True", "Reconciled", timeout=45)
        assert "buffer-unit" in made(cluster, namespace, "podtemplates")

    def test_a_paused_buffer_leaves_all_as_it_is(self, cluster: ControlPlane, namespace: str) -> None:
        with controller(cluster, karpenter):
            cluster.apply(pod_template(), fixed(5), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 5})
            cluster.kubectl("annotate", "-n", namespace, "cbuf/buffer", "moorage.dev/paused=true")
            wait_for_condition(cluster, namespace, "cbuf/buffer", "Paused", "True", "Annotated")
            patch(cluster, namespace, UPSTREAM + "/buffer-active", {"spec": {"replicas": 1}})
            cluster.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=9")
            wait_for_status(cluster, namespace, "cbuf/buffer", {"replicas": 9})
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 1})
            cluster.kubectl("annotate", "-n", namespace, "cbuf/buffer", "moorage.dev/paused-")
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 9})

            def goes_on() -> bool:
                status = status_of(cluster, namespace, "cbuf/buffer")
                return bool(status) and not condition(status, "Paused")

            wait_for(goes_on, timeout=15, message="the end of the pause in status")


@pytest.mark.usefixtures("operator")
class TestTheChoice:
    def test_where_the_api_is_not_served_units_are_placeholders(self, cluster: ControlPlane, namespace: str) -> None:
        cluster.apply(pod_template(), fixed(2), namespace=namespace)
        status = wait_for_status(cluster, namespace, "cbuf/buffer", PLACEHOLDERS)
        assert status["backend"]["reason"] == "the API group autoscaling.x-k8s.io is not served"
        wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 2})

    @pytest.mark.parametrize(("answer", "name"), [(karpenter, "Karpenter"), (cluster_autoscaler, "Cluster Autoscaler")])
    def test_the_controller_that_answers_is_named(
        self, cluster: ControlPlane, namespace: str, api: None, answer: Callable[..., Any], name: str
    ) -> None:
        with controller(cluster, answer):
            cluster.apply(pod_template(), fixed(2), namespace=namespace)
            status = wait_for_status(cluster, namespace, "cbuf/buffer", {"backend": {"controller": name}})
            assert status["backend"]["name"] == "Autoscaler"
        wait_for_made(cluster, namespace, "deployments", {})

    def test_without_an_answer_it_is_placeholders_and_an_empty_object_that_asks(
        self, cluster: ControlPlane, namespace: str, api: None
    ) -> None:
        cluster.apply(pod_template(), fixed(2), namespace=namespace)
        # The operator may have started before the API was served, and says that first.
        wait_for_status(cluster, namespace, "cbuf/buffer", UNANSWERED, timeout=PATIENCE_SECONDS + 15)
        wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 2})
        wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 0})
        with controller(cluster, karpenter):
            wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED)
            wait_for_made(cluster, namespace, "deployments", {})
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 2})

    def test_when_the_api_goes_it_is_placeholders_and_back_when_it_comes_again(
        self, cluster: ControlPlane, namespace: str, api: None, figure: Callable[[str], None]
    ) -> None:
        def assert_in_time(what: str, since: float) -> None:
            found = cluster.get("-n", namespace, "cbuf/buffer", "--show-managed-fields")
            took = written(found, part="status") - since
            figure(f"{what}: status true again after {max(took, 0):.0f} s")
            assert took <= TRUE_AGAIN_SECONDS

        with controller(cluster, karpenter):
            cluster.apply(pod_template(), fixed(2), namespace=namespace)
            wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED)
            remove_upstream(cluster)
            since = time.time()
            wait_for_status(cluster, namespace, "cbuf/buffer", PLACEHOLDERS, timeout=30)
            assert_in_time("the API was removed", since)
            wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 2}, timeout=30)
            install_upstream(cluster)
            since = time.time()
            wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED, timeout=30)
            assert_in_time("the API was installed", since)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 2}, timeout=30)
            wait_for_made(cluster, namespace, "deployments", {}, timeout=30)

    def test_the_older_version_alone_is_enough(self, cluster: ControlPlane, namespace: str) -> None:
        install_upstream(cluster, "v1alpha1")
        with controller(cluster, cluster_autoscaler, "v1alpha1"):
            cluster.apply(pod_template(), fixed(2), namespace=namespace)
            wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED, timeout=30)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 2})

    def test_a_set_autoscaler_waits_for_the_api_and_says_so(self, cluster: ControlPlane, namespace: str) -> None:
        cluster.apply(pod_template(), hybrid(backend="Autoscaler"), namespace=namespace)
        status = wait_for_status(cluster, namespace, "cbuf/buffer", AUTOSCALED)
        assert status["backend"]["reason"].endswith("is not served: nothing is made")
        assert made(cluster, namespace, "deployments") == {}


@pytest.mark.usefixtures("api", "operator")
class TestStandby:
    def test_karpenter_gets_no_standby_units(self, cluster: ControlPlane, namespace: str) -> None:
        """It does not look at the strategy and would run them at full cost."""
        with controller(cluster, karpenter):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            found = wait_for_condition(cluster, namespace, "cbuf/buffer", "StandbyUnsupported", "True", "Karpenter")
            assert found["message"].endswith(
                "120 standby units not made, which standbyFallback: Active would make active"
            )
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60})
            wait_for_status(cluster, namespace, "cbuf/buffer", {"standby": {"replicas": 120}})

    def test_they_are_made_active_when_asked_for(self, cluster: ControlPlane, namespace: str) -> None:
        with controller(cluster, karpenter):
            cluster.apply(pod_template(), hybrid(standbyFallback="Active"), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 180})
            status = wait_for_status(cluster, namespace, "cbuf/buffer", {"active": {"replicas": 180}})
            assert (status["standby"]["replicas"], status["replicas"]) == (0, 180)

    def test_cluster_autoscaler_is_asked_with_an_empty_object_and_ignores_it(
        self, cluster: ControlPlane, namespace: str
    ) -> None:
        with controller(cluster, cluster_autoscaler):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 0})
            _wait_until_ignored(cluster, namespace, "buffer")
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 0})

    def test_placeholders_have_none(self, cluster: ControlPlane, namespace: str) -> None:
        cluster.apply(pod_template(), hybrid(backend="Placeholder"), namespace=namespace)
        wait_for_condition(cluster, namespace, "cbuf/buffer", "StandbyUnsupported", "True", "PlaceholdersRun")
        wait_for_made(cluster, namespace, "deployments", {"buffer-placeholder": 60})


class TestTheEnd:
    def test_deletion_removes_all_while_the_operator_is_down(
        self, cluster: ControlPlane, namespace: str, api: None, operator: OperatorProcess
    ) -> None:
        with controller(cluster, gke):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            cluster.apply(buffer("other", podTemplateRef=UNIT, replicas=1, backend="Placeholder"), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            wait_for_made(cluster, namespace, "deployments", {"other-placeholder": 1})
            operator.kill()
            cluster.kubectl("delete", "cbuf", "-n", namespace, "--all", "--timeout=10s")
            for kind in (UPSTREAM, "podtemplates", "deployments", "pods"):
                wait_for_made(cluster, namespace, kind, {}, timeout=60)

    def test_a_change_that_was_cut_off_half_way_is_finished(
        self, cluster: ControlPlane, namespace: str, api: None, operator: OperatorProcess
    ) -> None:
        with controller(cluster, gke):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            operator.kill()
            # As if it had written one object of the new size, and made one of a backend that is not used any more.
            patch(cluster, namespace, "cbuf/buffer", {"spec": {"sizing": {"scaleUpRate": 1}}})
            patch(cluster, namespace, UPSTREAM + "/buffer-active", {"spec": {"replicas": 30}})
            meta = made(cluster, namespace, UPSTREAM)["buffer-active"]["metadata"]
            left = deployment("buffer-placeholder", replicas=3)
            left["metadata"] |= {"labels": meta["labels"], "ownerReferences": meta["ownerReferences"]}
            cluster.apply(left, namespace=namespace)
            operator.start_and_wait()
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 30, "buffer-standby": 60})
            wait_for_made(cluster, namespace, "deployments", {})
            wait_for_status(cluster, namespace, "cbuf/buffer", {"replicas": 90, **AUTOSCALED})

    def test_an_api_server_that_restarts_loses_and_doubles_nothing(
        self, cluster: ControlPlane, namespace: str, api: None, operator: OperatorProcess
    ) -> None:
        with controller(cluster, gke):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            patch(cluster, namespace, "cbuf/buffer", {"spec": {"sizing": {"scaleUpRate": 1}}})
            cluster.restart("kube-apiserver")
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 30, "buffer-standby": 60}, timeout=30)
            wait_for_status(cluster, namespace, "cbuf/buffer", {"replicas": 90, **AUTOSCALED}, timeout=30)
            assert made(cluster, namespace, "deployments") == {}

    def test_a_restart_writes_nothing(
        self, cluster: ControlPlane, namespace: str, api: None, operator: OperatorProcess
    ) -> None:
        with controller(cluster, gke):
            cluster.apply(pod_template(), hybrid(), namespace=namespace)
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 60, "buffer-standby": 120})
            status = wait_for_condition(
                cluster, namespace, "cbuf/buffer", "StandbyUnsupported", "False", "ResumeFaster"
            )
            _wait_for_answers(cluster, namespace)
            wait_for_rest(cluster, namespace, "cbuf/buffer")
            before = _versions(cluster, namespace)
            operator.stop()
            operator.start_and_wait()
            cluster.apply(buffer("later", podTemplateRef=UNIT, replicas=1, backend="Auto"), namespace=namespace)
            wait_for_status(cluster, namespace, "cbuf/later", {"backend": {"controller": "Cluster Autoscaler"}})
            after = _versions(cluster, namespace)
            assert {name: after[name] for name in before} == before
            assert status["status"] == "False"

    def test_nor_does_one_while_standby_units_are_active(
        self, cluster: ControlPlane, namespace: str, api: None, operator: OperatorProcess
    ) -> None:
        """Asked anew, the controller that ignores the strategy would cost the buffer these units for a minute."""
        with controller(cluster, cluster_autoscaler):
            cluster.apply(pod_template(), hybrid(standbyFallback="Active"), namespace=namespace)
            _wait_until_ignored(cluster, namespace, "buffer")
            wait_for_made(cluster, namespace, UPSTREAM, {"buffer-active": 180, "buffer-standby": 0})
            wait_for_rest(cluster, namespace, "cbuf/buffer")
            before = _versions(cluster, namespace)
            operator.stop()
            operator.start_and_wait()
            later = hybrid()
            later["metadata"]["name"] = "later"
            cluster.apply(later, namespace=namespace)
            _wait_until_ignored(cluster, namespace, "later")
            after = _versions(cluster, namespace)
            assert {name: after[name] for name in before} == before


def _wait_until_ignored(cluster: ControlPlane, namespace: str, name: str) -> None:
    wait_for_condition(
        cluster, namespace, f"cbuf/{name}", "StandbyUnsupported", "True", "StrategyIgnored",
        timeout=PATIENCE_SECONDS + 15,
    )  # fmt: skip


def _metadata(cluster: ControlPlane, namespace: str, name: str = "buffer-active") -> dict[str, Any]:
    found: dict[str, Any] = made(cluster, namespace, UPSTREAM)[name]["metadata"]
    return found


def _wait_for_answers(cluster: ControlPlane, namespace: str) -> None:
    """Wait until the controller has answered on all sizes: it writes when it gets to it."""

    def are_there() -> bool:
        found = made(cluster, namespace, UPSTREAM).values()
        return all(each.get("status", {}).get("replicas") == each["spec"]["replicas"] for each in found)

    wait_for(are_there, timeout=15, message=lambda: f"answers; there is {made(cluster, namespace, UPSTREAM)}")


def _versions(cluster: ControlPlane, namespace: str) -> dict[str, str]:
    found = cluster.get("-n", namespace, f"cbuf,{UPSTREAM},podtemplates")
    return {f"{each['kind']}/{each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in found}


def _wait_for_unit_cpu(cluster: ControlPlane, namespace: str, cpu: str) -> None:
    def is_so() -> bool:
        found = made(cluster, namespace, "podtemplates")
        containers = found["buffer-unit"]["template"]["spec"]["containers"] if "buffer-unit" in found else [{}]
        return bool(containers[0].get("resources", {}).get("requests", {}).get("cpu") == cpu)

    wait_for(is_so, timeout=15, message=f"a unit of {cpu}")
