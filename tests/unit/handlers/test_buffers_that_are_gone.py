"""What is known of a buffer goes with it, and so does what is known of its namespace."""

from __future__ import annotations

from moorage.handlers.alarms import Alarms
from moorage.handlers.provisioning import BufferKey, Provisioning
from tests.unit.small_server import small_server


async def test_a_namespace_without_buffers_leaves_nothing_behind() -> None:
    async with small_server() as (_, client):
        alarms: Alarms[BufferKey] = Alarms(lambda _: None)
        provisioning = Provisioning(client, namespaces=(), changed=lambda _: None, alarms=alarms)
        keys = [(f"team-{number}", "web") for number in range(3)] + [("team-0", "api")]
        for key in keys:
            provisioning.observe(key, uid="/".join(key), annotations={}, status={})
        assert {namespace: len(names) for namespace, names in provisioning._names.items()} == {
            "team-0": 2,
            "team-1": 1,
            "team-2": 1,
        }
        for key in keys:
            provisioning.remove(key)
        assert not provisioning._names
