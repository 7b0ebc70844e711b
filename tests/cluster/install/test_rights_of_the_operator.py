"""The installation gives the operator the rights that it uses and no others, everywhere or in some namespaces."""

from __future__ import annotations

import itertools
import json
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from moorage.admission.certificate_store import SECRET
from moorage.quota.projection import projected_name
from tests.cluster.audit import AuditLog
from tests.cluster.backends import patch, wait_for_made
from tests.cluster.enforcing import WITHOUT_MUTATING_POLICIES
from tests.cluster.explaining import configured, free_ports, limit
from tests.cluster.install.installation import (
    ACCOUNT,
    LIMITS,
    REPLICAS,
    SYSTEM,
    USER,
    StartInstalled,
    answers,
    build,
    everything,
    install_base,
    wait_until_all_is_ready,
    workload,
)
from tests.cluster.objects import (
    Object,
    buffer,
    condition,
    pod,
    pod_template,
    quota,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.cluster.rest import rest_client
from tests.cluster.upstream import UPSTREAM, install_upstream
from tests.controlplane import ControlPlane, wait_for
from tests.manifests.documents import BASE, EXAMPLES, LIMIT_RANGES, NAMESPACES, operator_rules, rights
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}


def _mounting() -> list[Object]:
    """A buffer whose unit mounts a claim that has a volume, and one that has none yet."""
    topology = {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["a"]}]}
    zonal: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "zonal"},
        "provisioner": "example.com/disk",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowedTopologies": [topology],
    }
    room = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    disk: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {**room, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/disk"}},
    }
    asked = {"resources": {"requests": {"storage": "1Gi"}}}
    claims = {"data": {**room, "volumeName": "disk"}, "later": {**room, "storageClassName": "zonal"}}
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return [
        zonal,
        disk,
        *(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {**spec, **asked}}
            for name, spec in claims.items()
        ),
        pod_template("mounting", volumes=volumes),
        buffer("mounting", podTemplateRef={"name": "mounting"}, replicas=1),
    ]


def _wait_until_volumes_are_looked_up(audit: AuditLog) -> None:
    looked_up = {("", "persistentvolumes", "get"), ("storage.k8s.io", "storageclasses", "get")}
    wait_for(
        lambda: looked_up <= {right for request in audit.requests() for right in request.rights},
        timeout=30,
        message="a look at the volumes of a unit",
    )


@contextmanager
def _called_on_loopback(cluster: ControlPlane) -> Iterator[int]:
    """Have the webhook called where the test runs the operator, since nothing here routes to Services."""
    with rest_client(cluster.kubeconfig) as rest, free_ports(1) as [port], configured(rest, port):
        yield port


def _have_the_webhook_do_all_it_does(cluster: ControlPlane, audit: AuditLog, namespace: str) -> None:
    """Have a refusal told, again and again, and its certificate replaced."""
    with rest_client(cluster.kubeconfig) as rest:
        limit(rest, namespace, "full", hard={"pods": "0"})

        def told_again() -> bool:
            rest.create(namespace, pod("refused"))
            return any(("events.k8s.io", "events", "patch") in request.rights for request in audit.requests())

        wait_for(told_again, timeout=30, message="a series of refusals")
        rest.patch(SYSTEM, "Secret", SECRET, {"data": {"tls.key": ""}}).require()

        def replaced() -> bool:
            return bool(rest.get(SYSTEM, "Secret", SECRET).require()["data"].get("tls.key"))

        wait_for(replaced, timeout=25, message="another certificate")


def _made_for(cluster: ControlPlane, namespace: str, name: str) -> list[Object]:
    """Return the ResourceQuota and the LimitRange made for a NamespaceQuota, as far as there are any."""
    found: list[Object] = cluster.get("-n", namespace, "resourcequotas,limitranges")
    return [each for each in found if each["metadata"]["name"] == projected_name(name)]


def _assert_nothing_was_refused(audit: AuditLog, operator: OperatorProcess) -> None:
    """Only what the policies have to refuse was refused."""
    probed = {("", resource, "create") for resource in ("pods", "persistentvolumeclaims")}
    refused = [each for each in audit.requests() if each.code in (401, 403) and not each.rights <= probed]
    assert refused == []
    assert "is forbidden: User" not in operator.output()


def test_every_rule_is_needed_and_none_is_missing(
    installed: ControlPlane, start_control_plane: Callable[..., ControlPlane], start_installed: StartInstalled
) -> None:
    # Older API servers stream no lists, so they are read page by page, and have no policies that fill in defaults.
    flags = ["--feature-gates=WatchList=false", *WITHOUT_MUTATING_POLICIES]
    older = start_control_plane(audit=True, extra={"kube-apiserver": flags})
    install_base(older, LIMIT_RANGES)
    backends = {"held": "Placeholder", "bought": "Autoscaler"}
    audits = []
    for cluster in (installed, older):
        audit = AuditLog(cluster.place.audit_log, USER)
        audits.append(audit)
        with cluster.namespace() as namespace, _called_on_loopback(cluster) as port:
            install_upstream(cluster)
            made = [buffer(each, podTemplateRef=UNIT, replicas=1, backend=kind) for each, kind in backends.items()]
            cluster.apply(*everything(), *made, *_mounting(), namespace=namespace)
            operator = start_installed(f"--webhook-port={port}", cluster=cluster)
            wait_until_all_is_ready(cluster, namespace)
            wait_for_made(cluster, namespace, "deployments", {"held-placeholder": 1})
            wait_for_made(cluster, namespace, UPSTREAM, {"bought-active": 1})
            _wait_until_volumes_are_looked_up(audit)
            for each in backends:
                patch(cluster, namespace, f"cbuf/{each}", {"spec": {"backend": "None"}})
            for kind in ("deployments", "podtemplates", UPSTREAM):
                wait_for_made(cluster, namespace, kind, {})
            _have_the_webhook_do_all_it_does(cluster, audit, namespace)
            cluster.apply(quota("enforced", hard={"requests.memory": "1Ti"}, limits=LIMITS), namespace=namespace)
            wait_for_condition(cluster, namespace, "nsq/enforced", "Enforced", "False", "Audit")
            wait_for(
                lambda cluster=cluster, namespace=namespace: not _made_for(cluster, namespace, "enforced"),
                timeout=10,
                message="the end of what was made",
            )
            _assert_nothing_was_refused(audit, operator)
            created = {request.resource for request in audit.requests() if request.verb == "create" and request.stores}
            assert "pods" not in created, "pods are created on trial alone"
            operator.stop()
    used = {right for audit in audits for request in audit.requests() for right in request.rights}
    roles = [each for each in build(installed, BASE) if each["kind"] in ("ClusterRole", "Role")]
    given = set(rights(operator_rules(roles)))
    assert (given - used, used - given) == (set(), set()), "rules that nothing uses; requests that no rule allows"


def test_without_the_rule_for_pods_quotas_say_what_to_give(
    installed: ControlPlane, namespace: str, start_installed: StartInstalled
) -> None:
    role: Object = installed.get("clusterrole", "moorage-operator-core")
    rules = [rule for rule in role["rules"] if "pods" not in rule["resources"]]
    changes = json.dumps({"rules": rules})
    installed.kubectl("patch", "clusterrole", "moorage-operator-core", "--type=merge", "-p", changes)
    allow = ("auth", "can-i", "list", "pods", "-A", f"--as={USER}")
    wait_for(lambda: not answers(installed, *allow), timeout=30, message="the rule to be gone")
    installed.apply(*everything(), namespace=namespace)
    start_installed(wait=False)
    ready = wait_for_condition(installed, namespace, "nsq/quota", "Ready", "False", "Forbidden", timeout=30)
    assert 'ClusterRole list, watch on pods in API group ""' in ready["message"]
    wait_for_condition(installed, namespace, "cbuf/of-podtemplate", "Ready", "True", "Reconciled")

    installed.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(BASE))
    wait_for_condition(installed, namespace, "nsq/quota", "Ready", "True", "Reconciled", timeout=60)


def test_a_custom_kind_is_sized_once_its_rules_are_added(
    installed: ControlPlane, namespace: str, start_installed: StartInstalled
) -> None:
    _define_rollouts(installed)
    rollout = workload("Rollout", "argoproj.io", "100m")
    reference = {"apiGroup": "argoproj.io", "kind": "Rollout", "name": "rollout"}
    follower = buffer("of-rollout", scalableRef=reference, percentage=100)
    installed.apply(rollout, follower, namespace=namespace)
    start_installed()
    ready = wait_for_condition(installed, namespace, "cbuf/of-rollout", "Ready", "False", "Forbidden")
    assert "list, watch on rollouts in API group argoproj.io" in ready["message"]

    [role] = yaml.safe_load_all((EXAMPLES / "clusterrole-rollouts.yaml").read_text())
    installed.apply(role | {"rules": role["rules"][:1]})
    needed = "get on rollouts/scale in API group argoproj.io"

    def said() -> str:
        return str(condition(status_of(installed, namespace, "cbuf/of-rollout"), "Ready").get("message"))

    wait_for(lambda: needed in said(), timeout=60, message=lambda: f"{needed}; it says {said()}")

    installed.apply(role)
    wait_for_status(installed, namespace, "cbuf/of-rollout", {"replicas": REPLICAS}, timeout=60)

    installed.kubectl("delete", "crd", "rollouts.argoproj.io")
    wait_for_condition(installed, namespace, "cbuf/of-rollout", "Ready", "False", "KindNotServed", timeout=30)
    _define_rollouts(installed)
    installed.apply(rollout, namespace=namespace)
    wait_for_status(installed, namespace, "cbuf/of-rollout", {"replicas": REPLICAS}, timeout=30)


def test_limited_to_namespaces_it_needs_no_rights_in_the_cluster(
    installed: ControlPlane, namespace: str, audit: AuditLog, start_installed: StartInstalled
) -> None:
    for team in ("team-a", "team-b"):
        installed.kubectl("create", "namespace", team)
        installed.wait_for_service_account(team)
    flags = ("--server-side", "--validate=strict", "--warnings-as-errors")
    installed.kubectl("apply", *flags, "-k", str(NAMESPACES))
    installed.kubectl("delete", "clusterrolebinding", "moorage-operator")
    allow = ("auth", "can-i", "list", "pods", f"--as={USER}")
    wait_for(lambda: not answers(installed, *allow, "-A"), timeout=30, message="the end of the rights everywhere")
    for team in ("team-a", "team-b"):
        wait_for(lambda team=team: answers(installed, *allow, "-n", team), timeout=30, message=f"the rights in {team}")
    for team in ("team-a", "team-b", namespace):
        installed.apply(*everything(), namespace=team)
    audit.rewind()

    operator = start_installed(folder=NAMESPACES)
    for team in ("team-a", "team-b"):
        wait_until_all_is_ready(installed, team)
    assert status_of(installed, namespace, "nsq/quota") == {}
    _assert_nothing_was_refused(audit, operator)
    assert {request.namespace for request in audit.requests()} == {"team-a", "team-b"}


def test_a_namespace_without_rights_disturbs_no_other(
    installed: ControlPlane, namespace: str, start_installed: StartInstalled
) -> None:
    installed.kubectl("delete", "clusterrolebinding", "moorage-operator")
    allow = ("auth", "can-i", "list", "pods", "-A", f"--as={USER}")
    wait_for(lambda: not answers(installed, *allow), timeout=30, message="the end of the rights everywhere")
    bind = (
        "create",
        "rolebinding",
        "moorage",
        "--clusterrole=moorage-operator",
        f"--serviceaccount={SYSTEM}:{ACCOUNT}",
    )
    installed.kubectl(*bind, "-n", namespace)
    with installed.namespace() as other:
        for each in (namespace, other):
            installed.apply(*everything(), namespace=each)
        operator = start_installed("-n", namespace, "-n", other, wait=False)
        wait_until_all_is_ready(installed, namespace)
        assert status_of(installed, other, "nsq/quota") == {}

        installed.kubectl(*bind, "-n", other)
        wait_for_condition(installed, other, "nsq/quota", "Ready", "True", "Reconciled", timeout=60)
        wait_for(
            lambda: operator.get("/readyz") == "ok\n",
            timeout=30,
            ignore=urllib.error.HTTPError,
            message="the operator to be ready",
        )


NO_DRY_RUN = "the operator of Moorage creates nothing but dry runs"
ANOTHER_LABEL = "the operator of Moorage changes nothing of a namespace but its label moorage.dev/enforced"


def test_a_stolen_token_runs_no_pod_and_takes_no_protection_off_a_namespace(
    installed: ControlPlane, namespace: str
) -> None:
    installed.kubectl("label", "namespace", namespace, "team=a")
    with rest_client(installed.service_account_kubeconfig(SYSTEM, ACCOUNT)) as token:
        # Policies are compiled a moment after they are stored; each try is of something that is not there yet.
        wait_for(
            lambda: NO_DRY_RUN in token.create(namespace, pod("early")).message,
            timeout=30,
            message="the policy of the operator's own requests to act",
        )
        assert NO_DRY_RUN in token.create(namespace, pod("mine")).message
        token.create(namespace, pod("mine"), dryRun="All").require()

        def patched(**metadata: Any) -> str:
            return token.patch("", "Namespace", namespace, {"metadata": metadata}).message

        values = map(str, itertools.count())
        wait_for(
            lambda: ANOTHER_LABEL in patched(annotations={"early": next(values)}),
            timeout=30,
            message="the policy of namespaces' labels to act",
        )
        assert ANOTHER_LABEL in patched(labels={"pod-security.kubernetes.io/enforce": "privileged"})
        assert ANOTHER_LABEL in patched(labels={"team": None})
        assert ANOTHER_LABEL in patched(labels={"team": "b", "moorage.dev/enforced": "true"})
        assert ANOTHER_LABEL in patched(annotations={"note": "mine"})
        for ours in ("true", None):
            token.patch("", "Namespace", namespace, {"metadata": {"labels": {"moorage.dev/enforced": ours}}}).require()


def _define_rollouts(cluster: ControlPlane) -> None:
    """Install a custom kind with a pod template and /scale."""
    names = {"plural": "rollouts", "singular": "rollout", "kind": "Rollout", "listKind": "RolloutList"}
    fields = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    served: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": fields, "status": fields}}},
        "subresources": {"scale": scale, "status": {}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [served]},
    }
    cluster.apply(definition)
    cluster.wait_until_served("rollouts.argoproj.io")
