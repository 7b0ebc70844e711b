"""From a stored pod to the record that the ledger keeps of it."""

import weakref
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from moorage.objects import Pod, ResourceList
from moorage.quantity import NANO, QuantityError
from moorage.quota.counting import is_finished, pod_amounts, pod_use, released_at
from moorage.quota.scopes import ScopeFacts
from moorage.quota.usage import Claimed, ObjectUse, Shapes
from tests.builders import container_status, nano, pod, pod_spec, pod_status, resources

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class TestAmounts:
    def test_requests_and_limits_count_under_their_source_names(self) -> None:
        asked = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "2Gi", "hugepages-2Mi": "2Mi", "x.com/gpu": "3"}
        counted = pod_amounts(pod(spec=pod_spec(requests=asked, limits={"cpu": "2", "memory": "2Gi"})))
        assert counted == nano(
            **{
                "pods": "1",
                "count/pods": "1",
                "requests.cpu": "1",
                "requests.memory": "1Gi",
                "requests.ephemeral-storage": "2Gi",
                "requests.hugepages-2Mi": "2Mi",
                "requests.x.com/gpu": "3",
                "limits.cpu": "2",
                "limits.memory": "2Gi",
            }
        )

    def test_overhead_pod_level_resources_and_a_resize_in_progress_are_in(self) -> None:
        spec = pod_spec(cpu="1", memory="1Gi", overhead={"cpu": "100m"}, pod_level=resources({"memory": "2Gi"}))
        status = pod_status(container_status(requests={"cpu": "2"}))
        counted = pod_amounts(pod(spec=spec, status=status))
        assert counted["requests.cpu"] == nano(cpu="2100m")["cpu"]
        assert counted["requests.memory"] == nano(memory="2Gi")["memory"]

    @pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
    def test_a_pod_that_has_not_finished_counts_fully(self, phase: str) -> None:
        assert pod_amounts(pod(cpu="1", phase=phase)) == nano(**{"pods": "1", "count/pods": "1", "requests.cpu": "1"})

    @pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
    def test_a_finished_pod_is_only_an_object(self, phase: str) -> None:
        finished = pod(cpu="1", limits={"cpu": "1"}, phase=phase)
        assert is_finished(finished)
        assert pod_amounts(finished) == {"count/pods": NANO}

    @pytest.mark.parametrize(
        ("requests", "limits"),
        [
            ({"storage": "1Gi"}, None),
            ({"kubernetes.io/thing": "1"}, None),
            (None, {"x.com/gpu": "1"}),
            (None, {"hugepages-2Mi": "2Mi"}),
            (None, {"storage": "1Gi"}),
        ],
    )
    def test_what_no_quota_counts_of_pods_is_left_out(
        self, requests: ResourceList | None, limits: ResourceList | None
    ) -> None:
        assert pod_amounts(pod(requests=requests, limits=limits)) == nano(**{"pods": "1", "count/pods": "1"})


class TestReleasedAt:
    def test_a_pod_that_is_not_deleted_is_not_released(self) -> None:
        assert released_at(pod()) is None

    @pytest.mark.parametrize("grace", [30, 6, 0])
    def test_a_deleted_pod_counts_for_twice_its_grace_period(self, grace: int) -> None:
        deleted = pod(deleted_at=NOON + timedelta(seconds=grace), grace=grace)
        assert released_at(deleted) == NOON.timestamp() + 2 * grace

    @pytest.mark.parametrize(
        ("deleted_at", "grace"), [(NOON, None), (None, 30)], ids=["no grace period", "no time of deletion"]
    )
    def test_both_fields_must_be_set(self, deleted_at: datetime | None, grace: int | None) -> None:
        assert released_at(pod(deleted_at=deleted_at, grace=grace)) is None

    def test_the_api_servers_time_format_is_read_with_its_zone(self) -> None:
        meta = '"deletionTimestamp": "2030-01-01T14:00:00+02:00", "deletionGracePeriodSeconds": 30'
        decoded = msgspec.json.decode(f'{{"metadata": {{{meta}}}}}', type=Pod)
        assert released_at(decoded) == NOON.timestamp() + 30


class TestRecord:
    def test_a_record_keeps_identity_version_and_release(self) -> None:
        record = pod_use(
            pod("web-0", namespace="team-a", uid="u1", version=42, deleted_at=NOON, grace=30, priority_class="high"),
            Shapes(),
        )
        assert record == ObjectUse(
            uid="u1",
            namespace="team-a",
            name="web-0",
            resource_version=42,
            shape=record.shape,
            released_at=NOON.timestamp() + 30,
        )
        assert record.holder == "Pod/web-0"
        assert record.shape.resource == "pods"
        assert record.shape.facts == ScopeFacts(best_effort=True, priority_class="high")

    def test_pods_that_are_alike_share_one_shape(self) -> None:
        shapes = Shapes()
        one, other = pod_use(pod("a", cpu="1"), shapes), pod_use(pod("b", cpu="1000m", phase="Pending"), shapes)
        assert one.shape is other.shape

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(pod("b", cpu="2"), id="amount"),
            pytest.param(pod("b", cpu="1", priority_class="high"), id="priority class"),
            pytest.param(pod("b", cpu="1", deadline=5), id="deadline"),
            pytest.param(pod("b", cpu="1", phase="Failed"), id="finished"),
        ],
    )
    def test_pods_that_differ_where_quotas_look_do_not(self, other: Pod) -> None:
        shapes = Shapes()
        assert pod_use(pod("a", cpu="1"), shapes).shape is not pod_use(other, shapes).shape

    def test_a_shape_is_forgotten_with_its_last_pod(self) -> None:
        record = pod_use(pod(cpu="1"), Shapes())
        shape = weakref.ref(record.shape)
        del record
        assert shape() is None

    def test_the_claim_that_the_scheduler_made_is_noted(self) -> None:
        record = pod_use(pod(status=pod_status(device_claim="web-0-gpus")), Shapes())
        assert record.claim == Claimed(name="web-0-gpus")
        assert pod_use(pod(), Shapes()).claim is None

    def test_a_pod_with_an_amount_that_does_not_parse_is_an_error(self) -> None:
        with pytest.raises(QuantityError):
            pod_use(pod(cpu="many"), Shapes())

    def test_a_whole_pod_of_the_api_server_is_read_and_the_rest_skipped(self) -> None:
        encoded = b"""{"apiVersion": "v1", "kind": "Pod",
          "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"},
            "managedFields": [{"fieldsV1": {"f:spec": {}}}], "deletionTimestamp": null, "ownerReferences": null},
          "spec": {"nodeName": "n1", "restartPolicy": "Always", "initContainers": null,
            "containers": [{"name": "c", "image": "x", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": 1}}},
                           {"name": "d", "resources": {}}, {"name": "e", "resources": null}]},
          "status": {"phase": "Running", "qosClass": "Burstable", "conditions": null, "podIP": "10.0.0.1"}}"""
        record = pod_use(msgspec.json.decode(encoded, type=Pod), Shapes())
        assert (record.uid, record.namespace, record.name, record.resource_version) == ("u", "n", "p", 7)
        assert record.shape.amounts == nano(**{"pods": "1", "count/pods": "1", "requests.cpu": "1", "limits.cpu": "1"})
