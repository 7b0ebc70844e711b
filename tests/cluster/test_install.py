"""The installation for real: it is accepted, and gives the operator the rights that it uses and no others."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.admission.certificate_store import CONFIGURATION, SECRET
from moorage.quota.projection import projected_name
from tests.cluster.audit import AuditLog
from tests.cluster.backends import patch, wait_for_made
from tests.cluster.enforcing import WITHOUT_MUTATING_POLICIES
from tests.cluster.explaining import configured, free_ports, limit
from tests.cluster.objects import (
    Object,
    buffer,
    condition,
    deployment,
    pod,
    pod_spec,
    pod_template,
    quota,
    sizing,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.cluster.rest import rest_client
from tests.cluster.upstream import UPSTREAM, install_upstream
from tests.controlplane import ControlPlane, KubectlError, Options, wait_for
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.manifests.documents import BASE, CRDS, EXAMPLES, LIMIT_RANGES, NAMESPACES, operator_rules, rights, version
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}
SYSTEM, ACCOUNT = "moorage-system", "moorage"
USER = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
COUNTED = (
    "configmaps",
    "serviceaccounts",
    "deployments.apps",
    "daemonsets.apps",
    "cronjobs.batch",
    "horizontalpodautoscalers.autoscaling",
    "ingresses.networking.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "resourceclaimtemplates.resource.k8s.io",
)
HARD = {
    "pods": 100,
    "count/pods": 200,
    "requests.cpu": 8,
    "requests.nvidia.com/gpu": 4,
    "services.nodeports": 10,
    "requests.storage": "1Ti",
    "resourcequotas": 3,
    **{f"count/{resource}": 99 for resource in COUNTED},
}
POLICIES = [
    (kind + suffix, name)
    for kind, name in (
        ("MutatingAdmissionPolicy", "defaults"),
        ("ValidatingAdmissionPolicy", "pods"),
        ("ValidatingAdmissionPolicy", "claims"),
        ("ValidatingAdmissionPolicy", "probes"),
    )
    for suffix in ("", "Binding")
]
LIMITS = [
    {"type": "Container", "max": {"cpu": "100"}, "defaultRequest": {"ephemeral-storage": "1Mi"}},
    {"type": "PersistentVolumeClaim", "max": {"storage": "1Ti"}},
]
REPLICAS = 3
SCALABLE = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "ReplicationController": "",
    "Job": "batch",
}
BUFFERS = [f"of-{kind.lower()}" for kind in (*SCALABLE, "PodTemplate")]


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A cluster of this module's own, since it is installed into as a whole, with an audit log."""
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane(options=Options(audit=True)) as plane:
        plane.add_nodes(1)
        yield plane


@pytest.fixture
def installed(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster with everything in the base, and nothing added to it.

    Nothing here routes to Services, so the webhook would cost each object its timeout: its configuration is left out.
    """
    _install(control_plane)
    control_plane.kubectl("delete", "mutatingwebhookconfiguration", CONFIGURATION)
    yield control_plane
    control_plane.kubectl("delete", "clusterrole", "moorage-operator-rollouts", "--ignore-not-found")


@pytest.fixture
def audit(installed: ControlPlane) -> AuditLog:
    return AuditLog(installed.place.audit_log, USER)


StartInstalled = Callable[..., OperatorProcess]


@pytest.fixture
def start_installed(installed: ControlPlane, tmp_path: Path) -> Iterator[StartInstalled]:
    """Start the operator with the installed account's rights and the arguments that a kustomization gives it."""
    started: list[OperatorProcess] = []

    def start(
        *further: str, cluster: ControlPlane = installed, folder: Path = BASE, wait: bool = True
    ) -> OperatorProcess:
        [operator] = [each for each in _build(cluster, folder) if each["kind"] == "Deployment"]
        command, *arguments = operator["spec"]["template"]["spec"]["containers"][0]["args"]
        assert command == "run"
        account = cluster.service_account_kubeconfig(SYSTEM, ACCOUNT)
        process = OperatorProcess(account, tmp_path / f"operator-{len(started)}.log", *arguments, *further)
        started.append(process)
        if wait:
            process.start_and_wait()
        else:
            process.start()
        return process

    yield start
    for process in started:
        process.stop()


def _install(cluster: ControlPlane, folder: Path = BASE) -> None:
    cluster.kubectl("apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-k", str(folder))
    cluster.wait_until_served("namespacequotas.moorage.dev", "capacitybuffers.moorage.dev")
    allow = ("auth", "can-i", "list", "pods", "-A", f"--as={USER}")
    wait_for(lambda: _answers(cluster, *allow), timeout=30, message="the rights of the operator, summed up")


def _build(cluster: ControlPlane, folder: Path) -> list[Object]:
    return [each for each in yaml.safe_load_all(cluster.kubectl("kustomize", str(folder))) if each]


def _answers(cluster: ControlPlane, *question: str) -> bool:
    """Whether `kubectl auth can-i` says yes."""
    try:
        return cluster.kubectl(*question).strip() == "yes"
    except KubectlError as error:
        if error.stderr.strip():
            raise
        return False


def _everything(cpu: str = "100m") -> list[Object]:
    """A quota, and of each kind that a buffer may refer to one object and its buffer."""
    workloads = [_workload(kind, group, cpu) for kind, group in SCALABLE.items()]
    buffers = [
        buffer(
            f"of-{kind.lower()}",
            scalableRef={"kind": kind, "name": kind.lower()} | ({"apiGroup": group} if group else {}),
            percentage=100,
        )
        for kind, group in SCALABLE.items()
    ]
    return [
        quota(hard=HARD, buffers="Ignore"),
        quota("enforced", hard={"requests.memory": "1Ti"}, limits=LIMITS, enforcement="Enforce", buffers="Ignore"),
        *workloads,
        *buffers,
        pod_template(),
        buffer("of-podtemplate", podTemplateRef={"name": "unit"}, sizing=sizing()),
    ]


def _workload(kind: str, group: str, cpu: str) -> Object:
    name = kind.lower()
    template: Object = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(cpu=cpu)}
    spec: Object = {"template": template, "replicas": REPLICAS, "selector": {"matchLabels": {"app": name}}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        spec = {"template": template, "parallelism": REPLICAS, "completions": REPLICAS}
    elif kind == "ReplicationController":
        spec["selector"] = {"app": name}
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _wait_until_all_is_ready(cluster: ControlPlane, namespace: str) -> None:
    wait_for_condition(cluster, namespace, "nsq/quota", "Ready", "True", "Reconciled")
    wait_for_condition(cluster, namespace, "nsq/enforced", "Enforced", "True", "Proved", timeout=30)
    for name in BUFFERS:
        replicas = 180 if name == "of-podtemplate" else REPLICAS
        wait_for_status(cluster, namespace, f"cbuf/{name}", {"replicas": replicas})
        wait_for_condition(cluster, namespace, f"cbuf/{name}", "Ready", "True", "Reconciled")


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
            return ("events.k8s.io", "events", "patch") in {
                right for request in audit.requests() for right in request.rights
            }

        wait_for(told_again, timeout=30, message="a series of refusals")
        rest.patch(SYSTEM, "Secret", SECRET, {"data": {"tls.key": ""}}).require()

        def replaced() -> bool:
            return bool(rest.get(SYSTEM, "Secret", SECRET).require()["data"].get("tls.key"))

        wait_for(replaced, timeout=25, message="another certificate")


def _projected(cluster: ControlPlane, namespace: str, name: str) -> list[Object]:
    """Return the ResourceQuota made for a NamespaceQuota, if there is one."""
    found: list[Object] = cluster.get("-n", namespace, "resourcequotas")
    return [each for each in found if each["metadata"]["name"] == projected_name(name)]


def _assert_nothing_was_refused(audit: AuditLog, operator: OperatorProcess) -> None:
    """Only what the policies have to refuse was refused."""
    probed = {("", resource, "create") for resource in ("pods", "persistentvolumeclaims")}
    refused = [each for each in audit.requests() if each.code in (401, 403) and not each.rights <= probed]
    assert refused == []
    assert "is forbidden: User" not in operator.output()


# What is installed


def test_the_base_is_built_as_expected(installed: ControlPlane) -> None:
    built = _build(installed, BASE)
    names = {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in built}
    roles = ("core", "counting", "enforcement", "references", "backends", "nodes", "webhook")
    assert names == {
        ("Namespace", None, SYSTEM),
        ("CustomResourceDefinition", None, "namespacequotas.moorage.dev"),
        ("CustomResourceDefinition", None, "capacitybuffers.moorage.dev"),
        ("ServiceAccount", SYSTEM, ACCOUNT),
        *(("ClusterRole", None, f"moorage-{role}") for role in ("operator", "view", "edit", "admin")),
        *(("ClusterRole", None, f"moorage-operator-{role}") for role in roles),
        ("Role", SYSTEM, "moorage-operator-webhook"),
        ("RoleBinding", SYSTEM, "moorage-operator-webhook"),
        ("MutatingWebhookConfiguration", None, "zz-moorage-explain"),
        *((kind, None, f"moorage-{policy}") for kind, policy in POLICIES),
        ("ClusterRoleBinding", None, "moorage-operator"),
        ("PriorityClass", None, "moorage-placeholder"),
        ("Service", SYSTEM, "moorage"),
        ("Deployment", SYSTEM, "moorage"),
    }
    common = {"name": "moorage", "part-of": "moorage", "version": version()}
    for each in built:
        labels = each["metadata"]["labels"]
        assert labels.items() >= {f"app.kubernetes.io/{key}": value for key, value in common.items()}.items()
    [operator] = [each for each in built if each["kind"] == "Deployment"]
    assert operator["spec"]["template"]["spec"]["containers"][0]["image"] == f"moorage:{version()}"


@pytest.mark.parametrize("arguments", [("-k", str(BASE)), ("-f", str(EXAMPLES))], ids=["base", "examples"])
def test_a_strict_dry_run_on_the_server_accepts(installed: ControlPlane, arguments: tuple[str, str]) -> None:
    flags = ("--server-side", "--dry-run=server", "--validate=strict", "--warnings-as-errors")
    assert installed.kubectl("apply", *flags, *arguments)


def test_the_pod_is_admitted_by_the_restricted_profile_of_its_namespace(installed: ControlPlane) -> None:
    assert (
        installed.get("namespace", SYSTEM)["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    )
    installed.kubectl("rollout", "status", "deployment/moorage", "-n", SYSTEM, "--timeout=60s")


# What the operator may do


def test_every_rule_is_needed_and_none_is_missing(
    installed: ControlPlane, start_control_plane: Callable[..., ControlPlane], start_installed: StartInstalled
) -> None:
    # Older API servers stream no lists, so they are read page by page, and have no policies that fill in defaults.
    flags = ["--feature-gates=WatchList=false", *WITHOUT_MUTATING_POLICIES]
    older = start_control_plane(audit=True, extra={"kube-apiserver": flags})
    _install(older, LIMIT_RANGES)
    backends = {"held": "Placeholder", "bought": "Autoscaler"}
    audits = []
    for cluster in (installed, older):
        audit = AuditLog(cluster.place.audit_log, USER)
        audits.append(audit)
        with cluster.namespace() as namespace, _called_on_loopback(cluster) as port:
            install_upstream(cluster)
            made = [buffer(each, podTemplateRef=UNIT, replicas=1, backend=kind) for each, kind in backends.items()]
            cluster.apply(*_everything(), *made, *_mounting(), namespace=namespace)
            operator = start_installed(f"--webhook-port={port}", cluster=cluster)
            _wait_until_all_is_ready(cluster, namespace)
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
                lambda cluster=cluster, namespace=namespace: not _projected(cluster, namespace, "enforced"),
                timeout=10,
                message="the end of what was made",
            )
            _assert_nothing_was_refused(audit, operator)
            created = {request.resource for request in audit.requests() if request.verb == "create" and request.stores}
            assert "pods" not in created, "pods are created on trial alone"
            operator.stop()
    used = {right for audit in audits for request in audit.requests() for right in request.rights}
    roles = [each for each in _build(installed, BASE) if each["kind"] in ("ClusterRole", "Role")]
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
    wait_for(lambda: not _answers(installed, *allow), timeout=30, message="the rule to be gone")
    installed.apply(*_everything(), namespace=namespace)
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
    rollout = _workload("Rollout", "argoproj.io", "100m")
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
    wait_for(lambda: not _answers(installed, *allow, "-A"), timeout=30, message="the end of the rights everywhere")
    for team in ("team-a", "team-b"):
        wait_for(lambda team=team: _answers(installed, *allow, "-n", team), timeout=30, message=f"the rights in {team}")
    for team in ("team-a", "team-b", namespace):
        installed.apply(*_everything(), namespace=team)
    audit.rewind()

    operator = start_installed(folder=NAMESPACES)
    for team in ("team-a", "team-b"):
        _wait_until_all_is_ready(installed, team)
    assert status_of(installed, namespace, "nsq/quota") == {}
    _assert_nothing_was_refused(audit, operator)
    assert {request.namespace for request in audit.requests()} == {"team-a", "team-b"}


def test_a_namespace_without_rights_disturbs_no_other(
    installed: ControlPlane, namespace: str, start_installed: StartInstalled
) -> None:
    installed.kubectl("delete", "clusterrolebinding", "moorage-operator")
    allow = ("auth", "can-i", "list", "pods", "-A", f"--as={USER}")
    wait_for(lambda: not _answers(installed, *allow), timeout=30, message="the end of the rights everywhere")
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
            installed.apply(*_everything(), namespace=each)
        operator = start_installed("-n", namespace, "-n", other, wait=False)
        _wait_until_all_is_ready(installed, namespace)
        assert status_of(installed, other, "nsq/quota") == {}

        installed.kubectl(*bind, "-n", other)
        wait_for_condition(installed, other, "nsq/quota", "Ready", "True", "Reconciled", timeout=60)
        wait_for(
            lambda: operator.get("/readyz") == "ok\n",
            timeout=30,
            ignore=urllib.error.HTTPError,
            message="the operator to be ready",
        )


def test_it_outlives_its_definitions(installed: ControlPlane, namespace: str, start_installed: StartInstalled) -> None:
    installed.apply(*_everything(), namespace=namespace)
    operator = start_installed()
    _wait_until_all_is_ready(installed, namespace)
    process = operator.pid
    installed.kubectl("delete", "-k", str(CRDS))
    wait_for(
        lambda: "are not served" in operator.output(),
        timeout=30,
        message=lambda: f"word that the definitions are missing: {operator.output()}",
    )
    _install(installed)
    installed.apply(*_everything(), namespace=namespace)
    _wait_until_all_is_ready(installed, namespace)
    assert operator.pid == process
    assert operator.running


# What people may do

TEAM = {
    "vera": {"view"},
    "ed": {"view", "size"},
    "ada": {"view", "size"},
    "paula": {"view", "size", "limit"},
}
ROLES = {"vera": "view", "ed": "edit", "ada": "admin", "paula": "moorage-admin"}
QUESTIONS = {
    "view": [("get", "namespacequotas.moorage.dev"), ("watch", "capacitybuffers.moorage.dev")],
    "size": [("create", "capacitybuffers.moorage.dev"), ("patch", "capacitybuffers.moorage.dev/scale")],
    "limit": [("create", "namespacequotas.moorage.dev"), ("delete", "namespacequotas.moorage.dev")],
}


def test_a_team_sizes_its_buffers_and_the_platform_sets_its_quota(installed: ControlPlane, namespace: str) -> None:
    for user, role in ROLES.items():
        installed.kubectl("create", "rolebinding", user, "-n", namespace, f"--clusterrole={role}", f"--user={user}")

    def may(user: str) -> set[str]:
        return {
            what
            for what, questions in QUESTIONS.items()
            if all(_answers(installed, "auth", "can-i", *each, "-n", namespace, f"--as={user}") for each in questions)
        }

    # The built-in roles are extended in a moment.
    wait_for(
        lambda: {user: may(user) for user in ROLES} == TEAM,
        timeout=60,
        message=lambda: f"{TEAM}; they may { ({user: may(user) for user in ROLES}) }",
    )


# What users copy, and the end


def test_the_examples_work(installed: ControlPlane, namespace: str, start_installed: StartInstalled) -> None:
    installed.apply(deployment("web", replicas=40, cpu="2"), namespace=namespace)
    installed.kubectl("apply", "--server-side", "-n", namespace, "-f", str(EXAMPLES))
    start_installed()
    for name, replicas in {"web": 180, "batch": 20, "web-share": 8}.items():
        wait_for_status(installed, namespace, f"cbuf/{name}", {"replicas": replicas})
    for name in ("team", "high-priority"):
        wait_for_condition(installed, namespace, f"nsq/{name}", "Ready", "True", "Reconciled")


def test_deleting_it_strands_nothing(installed: ControlPlane, namespace: str, start_installed: StartInstalled) -> None:
    installed.apply(*_everything(), namespace=namespace)
    operator = start_installed()
    _wait_until_all_is_ready(installed, namespace)
    operator.stop()
    _install(installed)
    installed.kubectl("delete", "-k", str(BASE), "-l", "app.kubernetes.io/component=operator")
    assert status_of(installed, namespace, "nsq/quota")["used"]
    installed.kubectl("delete", "nsq,cbuf", "--all", "-n", namespace, "--timeout=10s")
    installed.apply(*_everything(), namespace=namespace)
    installed.kubectl("delete", "--timeout=60s", "-k", str(BASE), "--ignore-not-found", timeout=90)
    assert installed.kubectl("get", "-k", str(BASE), "--ignore-not-found", "-o", "name") == ""


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
