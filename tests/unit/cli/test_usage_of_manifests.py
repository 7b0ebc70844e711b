"""`moorage usage` counts manifests as the API server would store them, with what controllers would make of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from tests.unit.cli.conftest import Answer, Moorage

QUOTA = """
apiVersion: moorage.dev/v1alpha1
kind: NamespaceQuota
metadata: {name: q, namespace: a}
spec:
  hard:
    pods: 100
    requests.cpu: 100
    requests.storage: 100Gi
    persistentvolumeclaims: 100
    count/deployments.apps: 100
    count/replicasets.apps: 100
    count/resourceclaims.resource.k8s.io: 100
"""
NOTHING = {
    "pods": "0",
    "requests.cpu": "0",
    "requests.storage": "0",
    "persistentvolumeclaims": "0",
    "count/deployments.apps": "0",
    "count/replicasets.apps": "0",
    "count/resourceclaims.resource.k8s.io": "0",
}
POD = "{containers: [{name: c, resources: {requests: {cpu: 500m}}}]}"
TEMPLATE = f"{{metadata: {{labels: {{app: web}}}}, spec: {POD}}}"


def usage(moorage: Moorage, manifests: str, quota: str = QUOTA) -> Answer:
    text = f"{quota}---\n{dedent(manifests)}"
    return moorage("usage", "-f", "-", "-n", "a", "-o", "json", stdin=text)


def used(moorage: Moorage, manifests: str, quota: str = QUOTA) -> dict[str, str]:
    """Return what is used of the quota, without zeros."""
    answer = usage(moorage, manifests, quota)
    assert answer.code == 0, answer.err
    return {name: amount for name, amount in answer.json["quotas"][0]["used"].items() if amount != "0"}


def held(moorage: Moorage, manifests: str, resource: str) -> list[tuple[str, str, int]]:
    lines = usage(moorage, manifests).json["quotas"][0]["holders"]
    (top,) = (line["top"] for line in lines if line["resource"] == resource)
    return [(each["workload"], each["used"], each["pods"]) for each in top]


class TestWorkloads:
    @pytest.mark.parametrize(
        ("workload", "pods"),
        [
            pytest.param("{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 3, TEMPLATE}}", 3, id="ReplicaSet"),
            pytest.param(
                "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 3, TEMPLATE}}", 3, id="StatefulSet"
            ),
            pytest.param("{apiVersion: v1, kind: ReplicationController, spec: {replicas: 2, TEMPLATE}}", 2, id="RC"),
            pytest.param("{apiVersion: apps/v1, kind: StatefulSet, spec: {TEMPLATE}}", 1, id="one by default"),
            pytest.param("{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: null, TEMPLATE}}", 1, id="null"),
            pytest.param("{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, TEMPLATE}}", 0, id="none"),
            pytest.param("{apiVersion: batch/v1, kind: Job, spec: {TEMPLATE}}", 1, id="Job"),
            pytest.param("{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, TEMPLATE}}", 4, id="a wide Job"),
            pytest.param(
                "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, completions: 2, TEMPLATE}}",
                2,
                id="never wider than what it has to do",
            ),
            pytest.param(
                "{apiVersion: batch/v1, kind: Job, spec: {completions: 9, TEMPLATE}}", 1, id="one after another"
            ),
            pytest.param(
                "{apiVersion: batch/v1, kind: Job, spec: {suspend: true, TEMPLATE}}", 0, id="a Job that waits"
            ),
            pytest.param(
                "{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {TEMPLATE}}}}", 0, id="CronJob"
            ),
            pytest.param("{apiVersion: example.com/v1, kind: Deployment, spec: {replicas: 3}}", 0, id="of another API"),
        ],
    )
    def test_a_workload_counts_with_the_pods_that_it_has_at_first(
        self, moorage: Moorage, workload: str, pods: int
    ) -> None:
        text = workload.replace("TEMPLATE", f"template: {TEMPLATE}").replace("spec:", "metadata: {name: w}, spec:", 1)
        found = used(moorage, text)
        assert found.get("pods", "0") == str(pods)
        assert found.get("requests.cpu", "0") == {0: "0", 1: "500m", 2: "1", 3: "1500m", 4: "2"}[pods]

    DEPLOYMENT = f"""
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: web}}
        spec: {{replicas: 3, template: {TEMPLATE}}}
    """

    def test_a_deployment_has_a_replica_set_as_well(self, moorage: Moorage) -> None:
        assert used(moorage, self.DEPLOYMENT) == {
            "pods": "3",
            "requests.cpu": "1500m",
            "count/deployments.apps": "1",
            "count/replicasets.apps": "1",
        }
        assert held(moorage, self.DEPLOYMENT, "pods") == [("Deployment/web", "3", 3)]
        assert held(moorage, self.DEPLOYMENT, "count/replicasets.apps") == [("Deployment/web", "1", 3)]

    def test_one_that_is_paused_has_nothing_yet(self, moorage: Moorage) -> None:
        assert used(moorage, self.DEPLOYMENT.replace("replicas: 3", "replicas: 3, paused: true")) == {
            "count/deployments.apps": "1"
        }

    def test_one_of_a_cluster_makes_nothing_since_its_pods_are_there_as_well(self, moorage: Moorage) -> None:
        assert used(moorage, self.DEPLOYMENT.replace("name: web}", "name: web, uid: u1}", 1)) == {
            "count/deployments.apps": "1"
        }

    def test_the_same_manifest_in_two_files_is_one_workload(self, moorage: Moorage) -> None:
        twice = f"{dedent(self.DEPLOYMENT)}---\n{dedent(self.DEPLOYMENT)}"
        assert used(moorage, twice)["pods"] == "3"
        elsewhere = twice.replace("{name: web}", "{name: web, namespace: b}", 1)
        assert used(moorage, elsewhere)["pods"] == "3"

    def test_workloads_of_one_name_and_different_kinds_do_not_share_pods(self, moorage: Moorage) -> None:
        both = f"{dedent(self.DEPLOYMENT)}---\n{dedent(self.DEPLOYMENT).replace('Deployment', 'StatefulSet')}"
        assert used(moorage, both)["pods"] == "6"
        assert held(moorage, both, "pods") == [("Deployment/web", "3", 3), ("StatefulSet/web", "3", 3)]

    def test_two_of_a_generated_name_are_two(self, moorage: Moorage) -> None:
        job = f"kind: Job\napiVersion: batch/v1\nmetadata: {{generateName: import-}}\nspec: {{template: {TEMPLATE}}}\n"
        quota = QUOTA.replace("count/deployments.apps", "count/jobs.batch")
        assert used(moorage, f"{job}---\n{job}", quota)["count/jobs.batch"] == "2"

    def test_a_stateful_set_counts_with_its_volumes(self, moorage: Moorage) -> None:
        text = f"""
            apiVersion: apps/v1
            kind: StatefulSet
            metadata: {{name: db}}
            spec:
              replicas: 3
              template: {TEMPLATE}
              volumeClaimTemplates:
              - metadata: {{name: data}}
                spec: {{resources: {{requests: {{storage: 2Gi}}}}}}
              - metadata: {{name: log, annotations: {{volume.beta.kubernetes.io/storage-class: gold}}}}
                spec: {{resources: {{requests: {{storage: 1Gi}}}}}}
        """
        quota = QUOTA.replace("count/deployments.apps", "gold.storageclass.storage.k8s.io/requests.storage")
        assert used(moorage, text, quota) == {
            "pods": "3",
            "requests.cpu": "1500m",
            "persistentvolumeclaims": "6",
            "requests.storage": "9Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "3Gi",
        }

    def test_a_volume_that_is_a_manifest_of_its_own_is_used_as_it_is(self, moorage: Moorage) -> None:
        text = f"""
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {{name: data-db-0}}
            spec: {{resources: {{requests: {{storage: 7Gi}}}}}}
            ---
            apiVersion: apps/v1
            kind: StatefulSet
            metadata: {{name: db}}
            spec:
              template: {TEMPLATE}
              volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{resources: {{requests: {{storage: 2Gi}}}}}}}}]
        """
        assert used(moorage, text)["requests.storage"] == "7Gi"


class TestPods:
    def test_a_pod_counts_with_the_claims_that_it_asks_for(self, moorage: Moorage) -> None:
        text = """
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaimTemplate
            metadata: {name: gpu}
            spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: gpu.example.com}}]}}}
            ---
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web}
            spec:
              replicas: 2
              template:
                spec:
                  containers: [{name: c}]
                  resourceClaims:
                  - {name: one, resourceClaimTemplateName: gpu}
                  - {name: mine, resourceClaimName: shared}
                  - {name: unknown, resourceClaimTemplateName: no-such}
                  volumes:
                  - {name: tmp, emptyDir: {}}
                  - name: scratch
                    ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 3Gi}}}}}
        """
        assert used(moorage, text) == {
            "pods": "2",
            "count/deployments.apps": "1",
            "count/replicasets.apps": "1",
            "count/resourceclaims.resource.k8s.io": "2",
            "persistentvolumeclaims": "2",
            "requests.storage": "6Gi",
        }
        for resource in ("requests.storage", "count/resourceclaims.resource.k8s.io"):
            (holder,) = held(moorage, text, resource)
            assert (holder[0], holder[2]) == ("Deployment/web", 2)

    def test_the_overhead_of_its_runtime_class_is_added(self, moorage: Moorage) -> None:
        text = f"""
            apiVersion: node.k8s.io/v1
            kind: RuntimeClass
            metadata: {{name: kata}}
            handler: kata
            overhead: {{podFixed: {{cpu: 250m}}}}
            ---
            kind: Pod
            metadata: {{name: p}}
            spec: {{runtimeClassName: kata, {POD[1:-1]}}}
        """
        assert used(moorage, text)["requests.cpu"] == "750m"
        assert used(moorage, text.replace("name: p}", "name: p, uid: u1}"))["requests.cpu"] == "500m"
        assert used(moorage, text.replace("name: kata}", "name: other}"))["requests.cpu"] == "500m"

    def test_the_default_priority_class_is_given_to_those_without_one(self, moorage: Moorage) -> None:
        scope = "{matchExpressions: [{scopeName: PriorityClass, operator: In, values: [usual]}]}"
        quota = QUOTA.split("spec:", maxsplit=1)[0] + f"spec: {{hard: {{pods: 10}}, scopeSelector: {scope}}}\n"
        text = f"""
            apiVersion: scheduling.k8s.io/v1
            kind: PriorityClass
            metadata: {{name: usual}}
            value: 7
            globalDefault: true
            ---
            kind: Pod
            metadata: {{name: one}}
            spec: {POD}
            ---
            kind: Pod
            metadata: {{name: two}}
            spec: {{priorityClassName: other, {POD[1:-1]}}}
            ---
            kind: Pod
            metadata: {{name: stored, uid: u1}}
            spec: {POD}
        """
        assert used(moorage, text, quota) == {"pods": "1"}
        assert used(moorage, text.replace("globalDefault: true", "globalDefault: false"), quota) == {}


class TestVolumes:
    CLASSES = """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: usual, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
        ---
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: gold}
        ---
    """

    @pytest.mark.parametrize(
        ("metadata", "spec", "counted"),
        [
            pytest.param("", "", True, id="asks for no class"),
            pytest.param("", "storageClassName: gold,", False, id="asks for another"),
            pytest.param("", 'storageClassName: "",', False, id="asks for none"),
            pytest.param(
                "annotations: {volume.beta.kubernetes.io/storage-class: gold},", "", False, id="by its annotation"
            ),
            pytest.param("uid: u1,", "", False, id="is stored without a class"),
        ],
    )
    def test_the_default_class_is_given_to_claims_that_ask_for_none(
        self, moorage: Moorage, metadata: str, spec: str, counted: bool
    ) -> None:
        name = "usual.storageclass.storage.k8s.io/persistentvolumeclaims"
        quota = QUOTA.replace("persistentvolumeclaims", name)
        claim = f"""
        kind: PersistentVolumeClaim
        metadata: {{{metadata} name: data}}
        spec: {{{spec} resources: {{requests: {{storage: 1Gi}}}}}}
        """
        assert (name in used(moorage, self.CLASSES + claim, quota)) is counted


class TestFolders:
    def test_a_folder_of_manifests_is_counted_as_a_whole(self, moorage: Moorage, tmp_path: Path) -> None:
        (tmp_path / "quota.yaml").write_text(QUOTA)
        (tmp_path / "web.yml").write_text(dedent(TestWorkloads.DEPLOYMENT))
        (tmp_path / "job.json").write_text(
            '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},'
            '"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}'
        )
        (tmp_path / "README.md").write_text("not: [a manifest")
        (tmp_path / "empty.yaml").write_text("---\n---\n")
        answer = moorage("usage", "-f", str(tmp_path), "-n", "a", "-o", "json")
        assert answer.code == 0, answer.err
        assert answer.json["quotas"][0]["used"] == NOTHING | {
            "pods": "4",
            "requests.cpu": "1500m",
            "count/deployments.apps": "1",
            "count/replicasets.apps": "1",
        }

    def test_documents_without_a_namespace_are_in_the_one_that_is_asked_for(self, moorage: Moorage) -> None:
        text = f"{QUOTA.replace(', namespace: a', '')}---\n{dedent(TestWorkloads.DEPLOYMENT)}"
        answer = moorage("usage", "-f", "-", "-n", "c", "-o", "json", stdin=text)
        (found,) = answer.json["quotas"]
        assert (found["namespace"], found["used"]["pods"]) == ("c", "3")


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param("{replicas: -1, template: {}}", "spec.replicas must be from 0 to 100000, not -1", id="negative"),
        pytest.param("{replicas: 1000000, template: {}}", "spec.replicas must be from 0 to 100000", id="too many"),
        pytest.param("{replicas: many, template: {}}", "spec.replicas: Expected `int | null`, got `str`", id="text"),
        pytest.param("{replicas: true, template: {}}", "spec.replicas: Expected `int | null`, got `bool`", id="yes"),
        pytest.param("{replicas: 1.5, template: {}}", "spec.replicas: Expected `int | null`, got `float`", id="half"),
        pytest.param("{replicas: 1}", "Deployment web: spec.template is missing", id="no template"),
        pytest.param("{template: 3}", "spec.template: Expected `object | null`, got `int`", id="template"),
        pytest.param("{template: {spec: []}}", "spec.template.spec: Expected `object | null`, got `array`", id="pod"),
        pytest.param(
            "{template: {spec: {containers: 3}}}", "web-deployment-0: spec.containers: Expected", id="containers"
        ),
        pytest.param(
            "{template: {spec: {containers: [{resources: {requests: {cpu: lots}}}]}}}",
            "'lots' is not a quantity",
            id="quantity",
        ),
        pytest.param(
            "{template: {}, volumeClaimTemplates: [3]}",
            "spec.volumeClaimTemplates[0]: Expected `object`, got `int`",
            id="claim template",
        ),
        pytest.param(
            "{template: {}, volumeClaimTemplates: [{metadata: []}]}",
            "spec.volumeClaimTemplates[0].metadata: Expected `object | null`, got `array`",
            id="claim template's metadata",
        ),
        pytest.param("3", "spec: Expected `object`, got `int`", id="spec"),
    ],
)
def test_a_bad_workload_is_one_clear_line_and_code_2(moorage: Moorage, spec: str, complaint: str) -> None:
    answer = usage(moorage, f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {spec}\n")
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, overhead: 3}", "RuntimeClass: overhead: Expected"),
        ("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, globalDefault: 3}", "globalDefault: Expected"),
        ("{kind: Pod, metadata: {name: p}, spec: {volumes: 3}}", "Pod p: spec.volumes: Expected"),
        ("{kind: Pod, metadata: {name: p}, spec: {runtimeClassName: 3}}", "Pod p: spec.runtimeClassName: Expected"),
    ],
)
def test_so_is_anything_else_that_cannot_be_read(moorage: Moorage, manifest: str, complaint: str) -> None:
    answer = usage(moorage, manifest)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert complaint in answer.err
