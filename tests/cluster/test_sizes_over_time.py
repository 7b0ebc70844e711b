"""Sizes by time of day, sizes that shrink late, and what a restart remembers of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cluster.backends import patch, wait_for_made
from tests.cluster.objects import buffer, condition, pod_template, status_of, wait_for_condition, wait_for_status
from tests.controlplane.cluster import Cluster
from tests.operator_process import OperatorProcess

UNIT = {"name": "unit"}
StartOperator = Callable[..., OperatorProcess]


def hours(begin: datetime, duration: str, **size: Any) -> dict[str, Any]:
    """A schedule that begins at a minute of today, in UTC."""
    return {"schedule": f"{begin.minute} {begin.hour} * * *", "duration": duration, **size}


@pytest.fixture
def own_operator(namespace: str, start_operator: StartOperator) -> OperatorProcess:
    """An operator for the test's namespace alone: one that outlived a test would remember what it has to forget."""
    return start_operator("-n", namespace)


@pytest.mark.usefixtures("own_operator")
class TestSchedules:
    def test_a_buffer_is_empty_for_as_long_as_a_schedule_says(self, crds: Cluster, namespace: str) -> None:
        """It began a minute ago; once that was seen, it is made to end some seconds from then."""
        begin = (datetime.now(UTC) - timedelta(minutes=1)).replace(second=0, microsecond=0)
        night = hours(begin, "1h", replicas=0)
        crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=5, schedules=[night]), namespace=namespace)
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 0})
        assert f"spec.schedules[0] ({night['schedule']}) is in force, until" in status["sizing"]["explanation"]
        seconds = int((datetime.now(UTC) - begin).total_seconds()) + 8
        night["duration"] = f"{seconds}s"
        patch(crds, namespace, "cbuf/buffer", {"spec": {"schedules": [night]}})
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5})
        assert datetime.now(UTC) >= begin + timedelta(seconds=seconds), "not before the end"
        assert "schedules" not in status["sizing"]["explanation"]

    def test_a_time_zone_that_does_not_exist_is_told(self, crds: Cluster, namespace: str) -> None:
        night = hours(datetime.now(UTC), "1h", replicas=0) | {"timeZone": "Europe/Berlni"}
        crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=5, schedules=[night]), namespace=namespace)
        found = wait_for_condition(crds, namespace, "cbuf/buffer", "Ready", "False", "InvalidSpec")
        assert found["message"].startswith("spec.schedules[0]: Europe/Berlni is not a time zone that is known here")
        patch(crds, namespace, "cbuf/buffer", {"spec": {"schedules": None}})
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 5})


@pytest.mark.usefixtures("placeholder_class")
class TestStabilization:
    def test_it_grows_at_once_and_shrinks_when_less_was_wanted_for_a_while(
        self, crds: Cluster, namespace: str, own_operator: OperatorProcess
    ) -> None:
        crds.apply(
            pod_template(),
            buffer(podTemplateRef=UNIT, replicas=2, backend="Placeholder", scaleDownStabilization="8s"),
            namespace=namespace,
        )
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 2})
        crds.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=6")
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 6})
        began = time.monotonic()
        crds.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=1")
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"observedGeneration": 3, "replicas": 6})
        assert "is kept for now by scaleDownStabilization, 1 is wanted" in status["sizing"]["explanation"]
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 1}, timeout=30)
        assert time.monotonic() - began >= 8

    def test_a_restart_does_not_shrink_it_early(
        self, crds: Cluster, namespace: str, own_operator: OperatorProcess
    ) -> None:
        crds.apply(
            pod_template(),
            buffer(podTemplateRef=UNIT, replicas=6, backend="Placeholder", scaleDownStabilization="10m"),
            namespace=namespace,
        )
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 6})
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 6})  # which is what it is remembered by
        own_operator.kill()
        crds.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=1")
        own_operator.start_and_wait()
        status = wait_for_status(crds, namespace, "cbuf/buffer", {"observedGeneration": 2, "replicas": 6})
        assert condition(status, "Ready")["status"] == "True"
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 6})
        patch(crds, namespace, "cbuf/buffer", {"spec": {"scaleDownStabilization": None}})
        wait_for_made(crds, namespace, "deployments", {"buffer-placeholder": 1})

    def test_units_that_are_not_made_anew_are_remembered_over_a_restart(
        self, crds: Cluster, namespace: str, own_operator: OperatorProcess
    ) -> None:
        crds.apply(pod_template(), buffer(podTemplateRef=UNIT, replicas=6, refill="None"), namespace=namespace)
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 6})
        own_operator.kill()
        body = buffer() | {"status": {"refill": {"withheld": 4}, "replicas": 2, "active": {"replicas": 2}}}
        del body["spec"]
        as_operator = ("--server-side", "--subresource=status", "--field-manager=moorage", "--force-conflicts")
        crds.kubectl("apply", *as_operator, "-n", namespace, "-f", "-", stdin=body)
        own_operator.start_and_wait()
        crds.kubectl("scale", "-n", namespace, "cbuf/buffer", "--replicas=7")
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 3, "refill": {"withheld": 4}})
        patch(crds, namespace, "cbuf/buffer", {"spec": {"refill": "Always"}})
        wait_for_status(crds, namespace, "cbuf/buffer", {"replicas": 7})
        assert "refill" not in status_of(crds, namespace, "cbuf/buffer")
