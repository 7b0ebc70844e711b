"""The parts of the installation fit together, and give the operator no more than it is meant to have."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from moorage.admission.certificate_store import CONFIGURATION, SECRET
from moorage.admission.webhook import PATH
from moorage.admission.workloads import KINDS
from moorage.api import GROUP
from moorage.cli.run import run
from tests.manifests.documents import (
    AGGREGATE,
    BASE,
    CRDS,
    EXAMPLES,
    LIMIT_RANGES,
    NAMESPACES,
    POLICIES,
    Object,
    of_kind,
    operator_rules,
    read,
    read_folder,
    rights,
    version,
)

SYSTEM_NAMESPACE = "moorage-system"
OBJECTS = [document for document in read_folder(BASE) if document.path.name != "kustomization.yaml"]
[DEPLOYMENT] = of_kind(OBJECTS, "Deployment")
[SERVICE] = of_kind(OBJECTS, "Service")
PROBES = {("", resource, "create") for resource in ("pods", "persistentvolumeclaims")}
"""Rights that the policy moorage-probes narrows to dry runs."""
LABELS = {("", "namespaces", "patch")}
"""A right that the policy moorage-labels narrows to one label."""
[WEBHOOKS] = of_kind(OBJECTS, "MutatingWebhookConfiguration")
POD: Object = DEPLOYMENT["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
ROLES = of_kind(OBJECTS, "ClusterRole")


def kustomization(folder: Path) -> Object:
    [document] = read(folder / ("Kustomization" if folder == CRDS else "kustomization.yaml"))
    return document.content


@pytest.mark.parametrize("folder", [BASE, CRDS, LIMIT_RANGES, NAMESPACES, POLICIES], ids=lambda folder: folder.name)
def test_every_file_is_part_of_the_kustomization(folder: Path) -> None:
    files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert files == {each for each in kustomization(folder)["resources"] if each.endswith(".yaml")}


def test_image_and_labels_have_the_version_of_the_project() -> None:
    built = kustomization(BASE)
    assert built["images"] == [{"name": CONTAINER["image"], "newTag": version()}]
    [labels] = built["labels"]
    assert labels["pairs"]["app.kubernetes.io/version"] == version()
    assert labels["includeTemplates"]
    assert not labels.get("includeSelectors"), "a selector cannot be changed, and the version does"


def test_the_image_names_no_registry() -> None:
    assert "/" not in CONTAINER["image"]


def test_everything_with_a_namespace_is_in_ours() -> None:
    spaces = {each.content["metadata"].get("namespace") for each in OBJECTS}
    assert spaces == {None, SYSTEM_NAMESPACE}
    assert [each["metadata"]["name"] for each in of_kind(OBJECTS, "Namespace")] == [SYSTEM_NAMESPACE]


def test_selectors_find_the_pod() -> None:
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == labels
    assert SERVICE["spec"]["selector"] == labels


def test_probes_and_service_use_the_port_that_is_served() -> None:
    default = next(each.default for each in run.params if each.name == "port")
    [webhook] = [int(each.removeprefix("--webhook-port=")) for each in CONTAINER["args"] if "webhook" in each]
    assert {each["name"]: each["containerPort"] for each in CONTAINER["ports"]} == {"http": default, "webhook": webhook}
    probes = {name: CONTAINER[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {each["port"] for each in probes.values()} == {"http"}
    assert {name: each["path"] for name, each in probes.items()} == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    assert {each["port"]: each["targetPort"] for each in SERVICE["spec"]["ports"]} == {8080: "http", 443: "webhook"}


def test_the_webhook_is_called_at_the_service_and_path_that_are_served() -> None:
    meta = SERVICE["metadata"]
    service = {"name": meta["name"], "namespace": meta["namespace"], "path": PATH, "port": 443}
    assert [each["clientConfig"] for each in WEBHOOKS["webhooks"]] == [{"service": service}] * 2
    assert WEBHOOKS["metadata"]["name"] == CONFIGURATION


def test_the_webhook_can_keep_nobody_from_anything() -> None:
    for each in WEBHOOKS["webhooks"]:
        assert (each["failurePolicy"], each["timeoutSeconds"]) == ("Ignore", 1)
        [exempt] = each["namespaceSelector"]["matchExpressions"]
        assert exempt["operator"] == "NotIn"
        assert {"kube-system", SYSTEM_NAMESPACE} == set(exempt["values"])


def test_the_webhook_is_asked_about_what_it_judges() -> None:
    asked = {
        (f"{resource.split('/')[0]}.{group}" if group else resource.split("/")[0])
        for each in WEBHOOKS["webhooks"]
        for rule in each["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert asked == {"pods", *KINDS}


def test_no_condition_is_evaluated_for_each_pod_before_the_webhook_is_asked() -> None:
    # To evaluate one, the API server converts the pod once more; the webhook knows a probe when it sees one.
    [of_pods] = [each for each in WEBHOOKS["webhooks"] if each["name"].startswith("pods.")]
    assert "matchConditions" not in of_pods


def test_the_role_for_the_certificate_is_for_one_secret() -> None:
    [role] = of_kind(OBJECTS, "Role")
    named = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert [rule["resourceNames"] for rule in named] == [[SECRET]]


def test_the_command_line_has_the_arguments() -> None:
    command, *arguments = CONTAINER["args"]
    assert command == run.name
    run.make_context("run", [*arguments, *_added_arguments()])


def test_the_service_account_is_bound_to_the_role() -> None:
    [account] = of_kind(OBJECTS, "ServiceAccount")
    subject = {"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": SYSTEM_NAMESPACE}
    bindings = [*of_kind(OBJECTS, "ClusterRoleBinding"), *of_kind(read_folder(NAMESPACES), "RoleBinding")]
    for binding in [*bindings, *of_kind(OBJECTS, "RoleBinding")]:
        assert binding["subjects"] == [subject]
    assert {each["roleRef"]["name"] for each in bindings} == {"moorage-operator"}
    assert POD["serviceAccountName"] == account["metadata"]["name"]


def test_only_the_operator_gets_a_token() -> None:
    [account] = of_kind(OBJECTS, "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert POD["automountServiceAccountToken"] is True


def test_the_role_sums_up_those_with_the_label() -> None:
    [summed] = [role for role in ROLES if "aggregationRule" in role]
    assert summed["aggregationRule"]["clusterRoleSelectors"] == [{"matchLabels": {AGGREGATE: "true"}}]
    assert "rules" not in summed, "the controller manager owns them"


MADE = (("apps", "deployments"), ("", "podtemplates"), ("autoscaling.x-k8s.io", "capacitybuffers"))


def test_the_operator_writes_to_nothing_but_our_kinds_and_its_own_objects() -> None:
    reads = {"get", "list", "watch"}
    roles = [*ROLES, *of_kind(OBJECTS, "Role"), *of_kind(read_folder(EXAMPLES), "ClusterRole")]
    allowed = set(rights(operator_rules(roles)))
    writes = {right for right in allowed if right[2] not in reads}
    ours = ("namespacequotas", "namespacequotas/status", "capacitybuffers", "capacitybuffers/status")
    made = {(group, resource, verb) for group, resource in MADE for verb in ("create", "patch", "delete")}
    assert writes == {
        *((GROUP, resource, "patch") for resource in ours),
        *(("events.k8s.io", "events", verb) for verb in ("create", "patch")),
        *(("", made, verb) for made in ("resourcequotas", "limitranges") for verb in ("create", "patch", "delete")),
        *PROBES,
        *LABELS,
        *made,
        *(("", "secrets", verb) for verb in ("create", "patch")),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch"),
    }
    assert "*" not in {part for right in allowed for part in right}


def test_what_the_operator_may_create_for_proof_a_policy_narrows_to_dry_runs() -> None:
    [policy] = [
        each
        for each in of_kind(read_folder(POLICIES), "ValidatingAdmissionPolicy")
        if each["metadata"]["name"] == "moorage-probes"
    ]
    [account] = of_kind(OBJECTS, "ServiceAccount")
    [rule] = policy["spec"]["matchConstraints"]["resourceRules"]
    assert {("", resource, verb.lower()) for resource in rule["resources"] for verb in rule["operations"]} == PROBES
    [condition] = policy["spec"]["matchConditions"]
    user = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{account['metadata']['name']}"
    assert condition["expression"] == f'request.userInfo.username == "{user}"'
    assert [each["expression"] for each in policy["spec"]["validations"]] == ["request.dryRun"]


def test_a_team_cannot_raise_its_own_quota() -> None:
    users = {
        role["metadata"]["name"]: role["metadata"].get("labels", {}) for role in ROLES if role not in _operator_roles()
    }
    aggregated = {name for name, labels in users.items() if any("aggregate-to" in label for label in labels)}
    assert aggregated == {"moorage-view", "moorage-edit"}
    for role in ROLES:
        if role["metadata"]["name"] in aggregated:
            for _, resource, verb in rights(role["rules"]):
                assert not resource.startswith("namespacequotas") or verb in {"get", "list", "watch"}


def test_the_namespaces_of_the_overlay_are_those_that_it_gives_rights_in() -> None:
    bound = {each["metadata"]["namespace"] for each in of_kind(read_folder(NAMESPACES), "RoleBinding")}
    assert bound == {argument.removeprefix("--namespace=") for argument in _added_arguments()}


def _added_arguments() -> list[str]:
    """Return the arguments that the overlay adds."""
    patches = [yaml.safe_load(each["patch"]) for each in kustomization(NAMESPACES)["patches"]]
    steps = [step for patch in patches if isinstance(patch, list) for step in patch]
    return [step["value"] for step in steps if step["op"] == "add"]


def _operator_roles() -> list[Object]:
    return [role for role in ROLES if role["metadata"]["name"].startswith("moorage-operator")]
