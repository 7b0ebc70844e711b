"""Templates made of pods: equal for pods that are alike, whatever the API server and controllers add to each."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.cluster.templates import pod_of_template, template_of_pod, template_of_trial, template_spec


def pod(number: int, **spec: Any) -> dict[str, Any]:
    """A pod as it is stored, with all that is of this one alone."""
    token = f"kube-api-access-{number:05}"
    return {
        "metadata": {
            "name": f"web-{number}",
            "uid": str(number),
            "labels": {
                "app": "web",
                "statefulset.kubernetes.io/pod-name": f"web-{number}",
                "apps.kubernetes.io/pod-index": str(number),
            },
            "annotations": {"cni.example.com/address": f"10.0.0.{number}"},
        },
        "spec": {
            "hostname": f"web-{number}",
            "nodeName": f"node-{number}",
            "containers": [
                {
                    "name": "app",
                    "resources": {"requests": {"cpu": "1"}},
                    "volumeMounts": [{"name": token, "mountPath": "/var/run"}, {"name": "data", "mountPath": "/data"}],
                },
                {"name": "other", "volumeMounts": [{"name": token, "mountPath": "/var/run"}]},
            ],
            "volumes": [{"name": token, "projected": {}}, {"name": "data", "emptyDir": {}}],
            **spec,
        },
    }


def test_pods_of_one_workload_have_one_template() -> None:
    assert template_of_pod(pod(1)) == template_of_pod(pod(2))
    assert msgspec.json.decode(template_of_pod(pod(1))) == {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [
                {
                    "name": "app",
                    "resources": {"requests": {"cpu": "1"}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                },
                {"name": "other"},
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    }


def test_what_decides_where_pods_fit_stays() -> None:
    placement = {"nodeSelector": {"zone": "a"}, "tolerations": [{"operator": "Exists"}], "priority": 7}
    assert placement.items() <= msgspec.json.decode(template_of_pod(pod(1, **placement)))["spec"].items()


def test_a_trial_keeps_the_annotations_that_the_template_or_a_webhook_gave() -> None:
    metadata = msgspec.json.decode(template_of_trial(pod(1)))["metadata"]
    assert metadata["annotations"] == {"cni.example.com/address": "10.0.0.1"}


def test_a_pod_of_a_template_has_its_labels_and_spec_and_nothing_else() -> None:
    template = {
        "metadata": {"name": "ignored", "finalizers": ["a.io/b"], "labels": {"app": "web"}, "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "app"}]},
    }
    assert pod_of_template(msgspec.json.encode(template), name="unit") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "unit", "labels": {"app": "web"}, "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "app"}]},
    }


@pytest.mark.parametrize("template", [{}, {"spec": {}}, {"spec": {"containers": []}}, {"metadata": {}, "size": 3}])
def test_what_has_no_containers_is_no_template(template: Any) -> None:
    assert template_spec(msgspec.json.encode(template)) is None


@pytest.mark.parametrize("encoded", [b"null", b"3", b'{"spec": []}', b'{"spec": {"containers": "three"}}'])
def test_what_is_of_another_shape_is_an_error(encoded: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        template_spec(encoded)
