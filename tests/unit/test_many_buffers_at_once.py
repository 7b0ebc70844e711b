"""What quotas leave in a namespace is shared out once for all of its buffers that time or measurements concern."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage.run import Operator, Options
from tests.controlplane.waiting import wait_for_async

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
"""


async def test_many_buffers_that_are_due_cost_one_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    operator = Operator(Options(kubeconfig=str(path)))
    happened: list[str] = []
    monkeypatch.setattr(operator.state, "shares_changed", lambda namespace: happened.append(f"shared {namespace}"))
    monkeypatch.setattr(operator.state, "buffer_changed", lambda _, name: happened.append(name))
    for number in range(100):
        operator._buffer_due(("team-a", f"buffer-{number}"))
        operator._buffer_due(("team-a", f"buffer-{number}"))
    running = asyncio.create_task(operator._share_out_rooms())
    await wait_for_async(lambda: len(happened) >= 101, timeout=5, message="all of them sized anew")
    assert happened[0] == "shared team-a", "the sizes follow what is left"
    assert sorted(happened[1:]) == sorted(f"buffer-{number}" for number in range(100))
    running.cancel()
