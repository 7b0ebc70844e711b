"""Upgrade and rollback of the policies, with creates in a loop meanwhile: there is no moment without them."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from moorage.admission.policies import policy_documents
from tests.cluster.enforcing import enforced_quota
from tests.cluster.objects import Object
from tests.cluster.policies import judged, wait_until_in_force
from tests.cluster.rest import Answer, Rest
from tests.controlplane import ControlPlane
from tests.controlplane.cluster import Cluster
from tests.controlplane.commands import APISERVER
from tests.controlplane.waiting import BUSY_FACTOR, wait_for
from tests.pod_shapes import asks, limits, pod

SPEC = {
    "hard": {"requests.cpu": "1k", "requests.ephemeral-storage": "1Ti"},
    "limits": limits(
        Container={"defaultRequest": {"cpu": "100m", "ephemeral-storage": "1Gi"}, "max": {"cpu": "1"}},
        Pod={"max": {"memory": "1Gi"}},
    ),
}
SILENT = pod()
TOO_BIG = pod(asks(cpu="2"))
TOO_MUCH = pod(asks("a", memory="1Gi"), asks("b", memory="1Mi"))
FILLED_IN = {"requests": {"cpu": "100m", "ephemeral-storage": "1Gi"}}


class Writers:
    """Clients that create pods without a pause, and what came of it."""

    def __init__(self, rest: Rest, namespace: str) -> None:
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._rest, self._namespace = rest, namespace
        self._end = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join()

    def _work(self) -> None:
        while not self._end.is_set():
            self._note("silent", judged(self._rest, self._namespace, SILENT), is_right=_is_filled_in)
            self._note("too big", judged(self._rest, self._namespace, TOO_BIG), is_right=_is_refused)
            self._note("too much", judged(self._rest, self._namespace, TOO_MUCH), is_right=_is_refused)

    def _note(self, what: str, answer: Answer, *, is_right: Any) -> None:
        self.seen[what] += 1
        if not is_right(answer):
            self.wrong.append(f"{time.monotonic():.2f} {what}: {answer.code} {answer.message}")


def _is_filled_in(answer: Answer) -> bool:
    return answer.ok and answer.body["spec"]["containers"][0]["resources"] == FILLED_IN


def _is_refused(answer: Answer) -> bool:
    return answer.code == 403 and "'moorage-pods'" in answer.message


def _is_plain(answer: Answer) -> bool:
    return _is_refused(answer) and ": NamespaceQuota" not in answer.message.split("denied request: ")[-1]


def version(mark: str) -> list[Object]:
    """The policies as another version would have them: all expressions differ, and so does what is said."""
    found = []
    for text in policy_documents().values():
        for document in yaml.safe_load_all(text):
            spec = document["spec"]
            for condition in spec.get("matchConditions", ()):
                condition["name"] = f"{condition['name']}-{mark}"
                condition["expression"] = f"({condition['expression']}) && '{mark}' != ''"
            for variable in spec.get("variables", ()):
                variable["expression"] = f"({variable['expression']})"
            for validation in spec.get("validations", ()):
                if "messageExpression" in validation:
                    validation["messageExpression"] = f"'{mark}: ' + {validation['messageExpression']}"
            found.append(document)
    return found


def install(cluster: Cluster, rest: Rest, namespace: str, mark: str) -> None:
    """Install a version over the one that is there, and wait until it is in force."""
    documents = version(mark)
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=documents)
    wait_for(
        lambda: f"{mark}: NamespaceQuota" in judged(rest, namespace, TOO_BIG).message,
        timeout=20,
        message=f"version {mark} to be in force",
    )


@pytest.fixture
def limited(policies: Cluster, rest: Rest, namespace: str) -> str:
    """A namespace with a quota that is in force."""
    rest.create(namespace, enforced_quota("team", SPEC)).require()
    wait_until_in_force(rest, namespace, {"team": SPEC})
    return namespace


def test_there_is_no_gap_while_policies_are_upgraded_and_rolled_back(
    policies: Cluster, rest: Rest, limited: str
) -> None:
    writers = Writers(rest, limited)
    try:
        with writers.at_work():
            for mark in ("old", "new", "old"):
                install(policies, rest, limited, mark)
    finally:
        plain = [each for text in policy_documents().values() for each in yaml.safe_load_all(text)]
        policies.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=plain)
        # Those that come after are to find no mark in what is said.
        wait_for(lambda: _is_plain(judged(rest, limited, TOO_BIG)), timeout=20, message="the policies as they were")
    assert writers.wrong == []
    assert min(writers.seen.values()) > 50, writers.seen


def test_nothing_slips_through_while_the_api_server_starts(
    own_control_plane: ControlPlane, rest: Rest, limited: str
) -> None:
    # It looks for custom kinds every half a minute. Until it has found ours it refuses what it cannot judge.
    own_control_plane.restart(APISERVER)
    began = time.monotonic()
    while not (answer := judged(rest, limited, SILENT)).ok:
        assert not judged(rest, limited, TOO_BIG).ok
        assert time.monotonic() - began < 60 * BUSY_FACTOR, answer.message
        time.sleep(0.02)
    assert _is_filled_in(answer)
    assert _is_refused(judged(rest, limited, TOO_BIG))
