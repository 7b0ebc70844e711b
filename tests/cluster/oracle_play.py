"""Plays a workload in a namespace, and lets both quotas settle now and then to see that they say the same."""

from __future__ import annotations

import itertools
import time

from tests.cluster.crds import OURS
from tests.cluster.native import (
    NSQ,
    RQ,
    ask_for_recount,
    is_recounted,
    native_quota,
    new_namespace,
    our_quota,
    remove_namespace,
)
from tests.cluster.oracle_comparison import COUNTED, Quotas, Tally, all_used, items, miscounts, mismatches, report
from tests.cluster.oracle_operations import FINALIZER, Operation, let_go
from tests.cluster.oracle_requests import Requests
from tests.cluster.oracle_workload import workload
from tests.cluster.rest import Rest
from tests.controlplane.waiting import BUSY_FACTOR, wait_for

SETTLE_SECONDS = 60.0
"""Most of it is for the native controller, which looks for new kinds every 30 seconds."""


class Play:
    """One namespace with quotas, each of them twice: one native and one ours.

    `limited`: the native ones stand all the while; else they are made anew at each settle point.
    """

    def __init__(
        self, rest: Rest, seed: str, quotas: Quotas, *, limited: bool, operations: int, every: int
    ) -> None:  # fmt: skip
        self.tally = Tally()
        self._rest = rest
        self._quotas = quotas
        self._limited = limited
        self._operations = itertools.islice(workload(seed, limited=limited), operations)
        self._every = every
        self._recent: list[Operation] = []
        """What was done since the numbers were compared last."""
        self._namespace = new_namespace(rest)
        self.requests = Requests(rest, self._namespace, limited=limited)

    def run(self) -> None:
        """Play it from start to end.

        Raises AssertionError, with all that tells how it came about, when the two do not come to agree or the API
        server gives another answer than expected.
        """
        try:
            self._make_quotas()
            while batch := list(itertools.islice(self._operations, self._every)):
                for operation in batch:
                    self._recent.append(operation)
                    self.requests.do(operation)
                self._settle()
            self._settle()  # once more, now that nothing moves
        finally:
            self._clean_up()

    def _make_quotas(self) -> None:
        for name, spec in self._quotas.items():
            self._rest.create(self._namespace, our_quota(name, spec)).require()
        if self._limited:
            self._make_native_quotas()
            self._wait_until_recounted()

    def _make_native_quotas(self) -> None:
        for name, spec in self._quotas.items():
            self._rest.create(self._namespace, native_quota(name, spec)).require()

    def _settle(self) -> None:
        """Have the native controller count anew until both agree, and agree with how many objects there are."""
        if not self._limited:
            self._make_native_quotas()
        deadline = time.monotonic() + SETTLE_SECONDS * BUSY_FACTOR
        late = set(self._quotas)
        while True:
            began = time.monotonic()
            for name in late:
                ask_for_recount(self._rest, self._namespace, name)
            self._wait_until_recounted()
            ours, native = all_used(self._rest, self._namespace, NSQ, OURS), all_used(self._rest, self._namespace, RQ)
            found = mismatches(self._quotas, ours, native)
            found = found or miscounts(self._rest, self._namespace, self._quotas, ours)
            if not found:
                break
            if began > deadline:  # whoever was slow until then is tried once more
                lines = report(self._rest, self._namespace, self._quotas, found, self._recent)
                done = f"they do not agree after {self.requests.done} operations:"
                raise AssertionError("\n".join([done, *lines]))
            late = {each.quota for each in found}
            time.sleep(0.1)
        self.tally.add(self._quotas, ours)
        self._recent.clear()
        if not self._limited:
            for name in self._quotas:
                self._rest.delete(self._namespace, RQ, name).require()

    def _wait_until_recounted(self) -> None:
        wait_for(
            lambda: all(is_recounted(each) for each in self._rest.items(self._namespace, RQ)),
            timeout=SETTLE_SECONDS,
            message=lambda: f"the native controller to count: {self._rest.items(self._namespace, RQ)}",
        )

    def _clean_up(self) -> None:
        for kind in COUNTED:
            for each in items(self._rest, self._namespace, kind):
                if FINALIZER in each["metadata"].get("finalizers", ()):
                    self.requests.send(let_go(kind, each["metadata"]["name"]))
        for name in self.requests.volumes:
            self._rest.delete("", "PersistentVolume", name)
        remove_namespace(self._rest, self._namespace)
