"""The installation for real: it is accepted, people may do what their roles say, and it can be taken away again."""

from __future__ import annotations

import pytest

from tests.cluster.install.installation import (
    ACCOUNT,
    SYSTEM,
    StartInstalled,
    answers,
    build,
    everything,
    install_base,
    wait_until_all_is_ready,
)
from tests.cluster.objects import (
    deployment,
    status_of,
    wait_for_condition,
    wait_for_status,
)
from tests.controlplane import ControlPlane, wait_for
from tests.controlplane.waiting import BUSY_FACTOR
from tests.manifests.documents import BASE, CRDS, EXAMPLES, version

POLICIES = [
    (kind + suffix, name)
    for kind, name in (
        ("MutatingAdmissionPolicy", "defaults"),
        ("ValidatingAdmissionPolicy", "pods"),
        ("ValidatingAdmissionPolicy", "claims"),
        ("ValidatingAdmissionPolicy", "labels"),
        ("ValidatingAdmissionPolicy", "probes"),
    )
    for suffix in ("", "Binding")
]


# What is installed


def test_the_base_is_built_as_expected(installed: ControlPlane) -> None:
    built = build(installed, BASE)
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
    installed.wait_for_rollout("moorage", SYSTEM)


def test_it_outlives_its_definitions(installed: ControlPlane, namespace: str, start_installed: StartInstalled) -> None:
    installed.apply(*everything(), namespace=namespace)
    operator = start_installed()
    wait_until_all_is_ready(installed, namespace)
    process = operator.pid
    installed.kubectl("delete", "-k", str(CRDS))
    wait_for(
        lambda: "are not served" in operator.output(),
        timeout=30,
        message=lambda: f"word that the definitions are missing: {operator.output()}",
    )
    install_base(installed)
    installed.apply(*everything(), namespace=namespace)
    wait_until_all_is_ready(installed, namespace)
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
            if all(answers(installed, "auth", "can-i", *each, "-n", namespace, f"--as={user}") for each in questions)
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
    installed.apply(*everything(), namespace=namespace)
    operator = start_installed()
    wait_until_all_is_ready(installed, namespace)
    operator.stop()
    install_base(installed)
    installed.kubectl("delete", "-k", str(BASE), "-l", "app.kubernetes.io/component=operator")
    assert status_of(installed, namespace, "nsq/quota")["used"]
    installed.kubectl("delete", "nsq,cbuf", "--all", "-n", namespace, f"--timeout={10 * BUSY_FACTOR:.0f}s")
    installed.apply(*everything(), namespace=namespace)
    seconds = 60 * BUSY_FACTOR
    installed.kubectl(
        "delete", f"--timeout={seconds:.0f}s", "-k", str(BASE), "--ignore-not-found", timeout=seconds + 30
    )
    assert installed.kubectl("get", "-k", str(BASE), "--ignore-not-found", "-o", "name") == ""
