"""An autoscaler that was not looked up yet is not taken for none: a buffer would be too large, or without a size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from moorage.cluster.autoscalers import Autoscalers
from moorage.cluster.status_writer import Status
from moorage.handlers.measuring import Measuring
from moorage.handlers.operator import BUFFERS, OperatorState, key_of
from moorage.status.namespacequota import View
from moorage.status.workload import Workload
from tests.builders import pod_spec
from tests.unit.operator_states import Known, operator_state
from tests.unit.small_server import SmallServer, small_server, until

BUFFER = key_of(BUFFERS, "team-a", "web")
HPAS = "/apis/autoscaling/v2/namespaces/team-a/horizontalpodautoscalers"
LATENCIES = {"standbyResumeLatency": "30s", "coldNodeLatency": "90s"}
MEAN: dict[str, Any] = {"scaleUpRate": 2, **LATENCIES}
BURST: dict[str, Any] = {"method": "Burst", "scaleUpRate": 0, **LATENCIES}
OF_A_WORKLOAD = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}
OF_A_TEMPLATE = {"podTemplateRef": {"name": "unit"}}


class Started:
    """An operator that was started with one buffer that has a status; autoscalers are looked up once a test says so."""

    def __init__(self, server: SmallServer, state: OperatorState, scalers: Autoscalers) -> None:
        self.server = server
        self._state = state
        self._scalers = scalers

    def accept(self, sizing: dict[str, Any], reference: dict[str, Any]) -> None:
        spec = {"sizing": sizing, **reference}
        self._state.accept(BUFFER, uid="1", generation=1, spec=spec, described=True)

    def look_up(self) -> None:
        self._scalers.want(self._state.buffers.scaled_namespaces())

    @property
    def status(self) -> Status | None:
        return self._state.desired(BUFFER)

    @property
    def size(self) -> int | None:
        return self.status["replicas"] if self.status is not None else None


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    async with small_server() as (server, client):
        server.collections[HPAS] = {}
        target = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 50}
        server.put(HPAS, "web", spec=target)
        known = Known()
        known.all = View()
        state = operator_state(lambda _: Workload(pod_spec(cpu="1"), 20), known=known)
        scalers = Autoscalers(client, changed=state.share_out)
        state.buffers.measuring = Measuring(client, dict, lambda _: None, scalers)
        running = asyncio.create_task(scalers.run())
        yield Started(server, state, scalers)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("sizing", [MEAN, BURST], ids=["capped by it", "sized by it"])
async def test_a_restart_keeps_the_size_until_the_autoscaler_is_known(started: Started, sizing: dict[str, Any]) -> None:
    started.accept(sizing, OF_A_WORKLOAD)
    assert started.status is None, "what is written stays"
    started.look_up()
    await until(lambda: started.status is not None, "the autoscaler read")
    assert started.size == 30, "the workload may get so many more"


async def test_where_there_is_none_that_counts_once_it_is_known(started: Started) -> None:
    started.server.delete(HPAS, "web")
    started.accept(MEAN, OF_A_WORKLOAD)
    assert started.status is None
    started.look_up()
    await until(lambda: started.size == 180, "its absence known")


async def test_where_autoscalers_may_not_be_read_none_caps_a_buffer(started: Started) -> None:
    started.server.refusals[HPAS] = 403
    started.accept(MEAN, OF_A_WORKLOAD)
    started.look_up()
    await until(lambda: started.size == 180, "the refusal")


def test_what_has_no_autoscaler_waits_for_none(started: Started) -> None:
    started.accept(MEAN, OF_A_TEMPLATE)
    assert started.size == 180
