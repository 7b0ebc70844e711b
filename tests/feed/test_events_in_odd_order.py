"""Events that repeat, come late, or are of a kind nobody knows."""

from __future__ import annotations

from tests.feed.harness import Bench, running, until
from tests.feed.scripted_server import Script, bookmark, event_line, pod


async def test_repeated_and_late_events_are_ignored(bench: Bench) -> None:
    server = bench.server
    server.next_watch(Script().initial().initial_end().live())
    async with running(bench):
        old = server.line("MODIFIED", "web-1")
        server.put(pod("web-1", cpu="2"))
        new = server.line("MODIFIED", "web-1")
        await bench.in_sync()
        server.inject(new, old)
        server.put(pod("web-6"))
        await bench.in_sync()
        assert bench.store.calls == ["replace 5", "put web-1", "put web-6"]
        assert bench.feed.counters.ignored == 2


async def test_a_late_event_does_not_bring_a_deleted_object_back(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        late = server.line("MODIFIED", "web-1")
        server.delete("web-1")
        await bench.in_sync()
        server.inject(late)
        server.put(pod("web-6"))
        await bench.in_sync()


async def test_an_object_recreated_under_its_name_is_another_object(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.delete("web-1")
        server.put(pod("web-1", uid="reborn", cpu="4"))
        await bench.in_sync()
        assert bench.store.calls == ["replace 5", "delete web-1", "put reborn"]


async def test_the_old_one_may_be_deleted_after_its_successor_was_seen(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.put(pod("web-1", uid="reborn", cpu="4"))
        server.delete("web-1")
        await bench.in_sync()
        assert "reborn" in bench.store.records


async def test_an_unknown_event_type_is_ignored(bench: Bench) -> None:
    server = bench.server
    async with running(bench):
        server.inject(event_line("RENAMED", server.objects["web-1"]))
        server.put(pod("web-6"))
        await bench.in_sync()
        assert bench.feed.counters.ignored == 1


async def test_a_deletion_by_the_selector_carries_an_older_body_and_still_deletes(bench: Bench) -> None:
    """As a pod does that leaves the selection: type DELETED, its previous body, the version of the change."""
    server = bench.server
    async with running(bench):
        body = server.objects.pop("web-1")
        server.advance()
        body["metadata"]["resourceVersion"] = str(server.revision)
        server.inject(event_line("DELETED", body))
        await bench.in_sync()


async def test_bookmarks_move_the_version_that_a_watch_resumes_from(bench: Bench) -> None:
    server = bench.server
    for _ in range(20):
        server.advance()
    server.next_watch(Script().initial().initial_end().do(server.advance).bookmark())
    async with running(bench):
        await until(lambda: len(server.requests("watch")) == 2, "a resumed watch")
        assert server.requests("watch")[1].query["resourceVersion"] == str(server.revision)
        assert server.revision == 126
        assert bench.feed.counters.bookmarks == 1


async def test_versions_that_are_no_numbers_are_passed_on_as_they_are(bench: Bench) -> None:
    """Aggregated API servers may have such; then order cannot be judged and every event counts."""
    server = bench.server
    server.next_watch(
        Script().initial().initial_end().send(event_line("ADDED", _versioned("web-6", "x7"))),
        Script().send(event_line("MODIFIED", _versioned("web-6", "b1", cpu="9")), bookmark("c3")),
        Script().send(b"").hang(),
    )
    async with running(bench, synced=False):
        await until(lambda: len(server.requests("watch")) == 3, "two resumed watches")
        assert [watch.query["resourceVersion"] for watch in server.requests("watch")[1:]] == ["x7", "c3"]
        assert bench.store.records["web-6"].cpu == "9"


def _versioned(name: str, version: str, *, cpu: str = "1") -> dict[str, object]:
    body = pod(name, cpu=cpu)
    return body | {"metadata": body["metadata"] | {"resourceVersion": version}}
