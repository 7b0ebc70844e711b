"""A counted object costs a few hundred bytes, whatever its own size and however many come and go."""

import gc
import tracemalloc

import msgspec

from moorage.cluster.discovery import Resource
from moorage.handlers.counting import decoder
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.usage import _SHARED_TEXTS, Shapes
from tests.builders import any_object, object_use, owned_by

SECRETS = Resource("", "v1", "secrets", "Secret")
PAYLOAD = "x" * 10_000


def secret(number: int) -> bytes:
    meta = {
        "name": f"secret-{number:06d}",
        "namespace": "team-a",
        "uid": f"00000000-0000-0000-0000-{number:012d}",
        "resourceVersion": str(10**9 + number),
    }
    return msgspec.json.encode({"metadata": meta, "data": {"password": PAYLOAD}})


def test_two_thousand_secrets_of_10_kb_take_less_than_400_bytes_each_with_their_quota() -> None:
    ledger, decode = Ledger(), decoder(SECRETS, Shapes(), {})
    ledger.set_quota("team-a", "q", Terms(frozenset({"pods"})))
    tracemalloc.start()
    try:
        for number in range(2_000):
            ledger.put(decode(secret(number)))
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(ledger) == 2_000
    assert grown / 2_000 < 400


def test_workloads_that_share_objects_share_one_name() -> None:
    one, other = (object_use(uid, owner=owned_by("Job/import")) for uid in "ab")
    assert one.owner is other.owner
    assert one.namespace is other.namespace


def test_names_of_workloads_that_are_gone_do_not_pile_up() -> None:
    shapes = Shapes()
    for number in range(_SHARED_TEXTS + 10):
        meta = any_object(owner=owned_by(f"Job/import-{number}")).metadata
        shapes.use("secrets", meta, {}, kind="Secret")
    assert len(shapes._texts) < 100
