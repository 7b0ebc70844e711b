"""A status that is stored already is seen to be, when it comes back from the API server, and not written again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from moorage.cluster.status_writer import Status, with_times, without_times
from moorage.handlers.operator import BUFFERS, QUOTAS, key_of
from moorage.status.namespacequota import View
from moorage.status.workload import Workload
from tests.builders import pod_spec, pod_use
from tests.unit.operator_states import Known, operator_state

SPECS: dict[str, dict[str, Any]] = {
    QUOTAS: {"hard": {"pods": 10, "requests.cpu": "4"}},
    BUFFERS: {"podTemplateRef": {"name": "unit"}, "replicas": 3},
}


@pytest.fixture(params=[QUOTAS, BUFFERS])
async def desired(request: pytest.FixtureRequest) -> Status:
    known = Known()
    known.all = View()
    state = operator_state(lambda _: Workload(pod_spec(cpu="1")), known=known)
    state.ledger.put(pod_use(cpu="1"))
    key = key_of(request.param, "team-a", "any")
    state.accept(key, uid="1", generation=1, spec=SPECS[request.param], described=False)
    status = state.desired(key)
    assert status is not None
    return status


def test_what_comes_back_is_the_same(desired: Status) -> None:
    stored = json.loads(json.dumps(with_times(desired, {}, datetime(2030, 1, 1, tzinfo=UTC))))
    assert without_times(stored) == without_times(desired)
