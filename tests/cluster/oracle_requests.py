"""Sends the operations of the oracle's workload, and holds the API server to the answers that are expected."""

from __future__ import annotations

import time
from typing import Any

from tests.cluster.case_objects import completed
from tests.cluster.native import ask_for_recount
from tests.cluster.oracle_operations import NAMESPACE, Operation, uid_of
from tests.cluster.rest import Answer, Rest
from tests.controlplane.waiting import wait_for

PATIENCE_SECONDS = 60.0
"""The native controller looks for new kinds every 30 seconds; until then nothing of them is admitted."""


class Requests:
    """Operations in one namespace. `limited`: native quotas stand in it while they are done."""

    def __init__(self, rest: Rest, namespace: str, *, limited: bool) -> None:
        self.done = 0
        self.refused = 0
        self.gone = 0
        """Those on what a controller had taken away meanwhile."""
        self.volumes: list[str] = []
        """The PersistentVolumes that were made."""
        self._rest = rest
        self._namespace = namespace
        self._limited = limited
        self._words = {NAMESPACE: namespace}

    def do(self, operation: Operation) -> None:
        """Raises AssertionError when the answer is another one than expected."""
        if operation.bound:
            self._wait_until_bound(operation.name)
        answer = self._send_until_it_counts(operation)
        self.done += 1
        # Nodes that are not there lose their pods to the pod garbage collector, and what pods own goes with them.
        if answer.code == 404 and operation.verb != "create":
            self.gone += 1
        elif operation.refused is not None:
            self.refused += 1
            assert answer.code == operation.refused, f"{operation}\nanswer: {answer.code} {answer.message}"
        else:
            assert answer.ok, f"{operation}\nanswer: {answer.code} {answer.message}"
        if answer.ok and operation.kind == "Pod" and operation.verb == "create":
            self._words[uid_of(operation.name)] = answer.body["metadata"]["uid"]

    def send(self, operation: Operation) -> Answer:
        name = operation.name.replace(NAMESPACE, self._namespace)
        cluster_wide = operation.kind == "PersistentVolume"
        namespace = "" if cluster_wide else self._namespace
        if operation.verb == "create":
            if cluster_wide:
                self.volumes.append(name)
            return self._rest.create(namespace, completed(operation.body, self._words))
        kind, version = operation.kind, operation.version
        if operation.verb == "delete":
            return self._rest.delete(namespace, kind, name, version, grace=operation.grace)
        sub, how = operation.sub, operation.how
        return self._rest.patch(namespace, kind, name, operation.body, version=version, sub=sub, how=how)

    def _send_until_it_counts(self, operation: Operation) -> Answer:
        """Send it, anew as long as the answer depends on how far the API server and the native controller are."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.send(operation)
            unknown = "status unknown for quota" in answer.message
            removed = not self._limited and answer.code == 403 and "quota" in answer.message
            conflict = answer.code == 409 and answer.body.get("reason") == "Conflict"
            if not (unknown or removed or conflict) or time.monotonic() > deadline:
                return answer
            if unknown:
                ask_for_recount(self._rest, self._namespace, "objects")
            time.sleep(0.5 if unknown else 0.05)

    def _wait_until_bound(self, claim: str) -> None:
        def phase() -> Any:
            return self._rest.get(self._namespace, "PersistentVolumeClaim", claim).body.get("status", {}).get("phase")

        wait_for(lambda: phase() == "Bound", timeout=PATIENCE_SECONDS, message=f"claim {claim} to be bound")
