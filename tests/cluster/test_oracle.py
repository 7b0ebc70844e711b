"""The native quota is the oracle: after thousands of random operations ours says what it says of every resource.

`MOORAGE_ORACLE_SEED=7` plays another sequence than the usual one, and the one of a failure again.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster.oracle_play import Play
from tests.cluster.oracle_quotas import NEVER_COUNTED, WITH_SCOPES, WITHOUT_SCOPES, quotas_of
from tests.cluster.oracle_workload import workload
from tests.cluster.rest import Rest
from tests.operator_process import OperatorProcess

SEED = os.environ.get("MOORAGE_ORACLE_SEED", "1")
LIMITED = [True, False, True, False]
"""One namespace each: whether native quotas stand in it all the while."""
AT_ONCE = 2
"""Namespaces; more would not be done sooner, and every change would make for a status of its own."""
OPERATIONS = {True: 300, False: 700}
"""How many; native quotas slow them down."""
EVERY = 100
"""After so many operations in a namespace the numbers are compared."""


@pytest.mark.timeout(900)  # a failure is to be told, and waits until nothing can come any more
def test_ours_says_what_the_native_quota_says(
    rest: Rest, operator: OperatorProcess, figure: Callable[[str], None]
) -> None:
    started = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        plays = list(pool.map(lambda number: _play(rest, number), range(len(LIMITED))))
    figure(_summary(plays, time.monotonic() - started))
    assert sum(each.requests.done for each in plays) == sum(OPERATIONS[limited] for limited in LIMITED)
    held = set().union(*(each.tally.held for each in plays))
    quotas = WITHOUT_SCOPES | WITH_SCOPES
    assert {quota for quota, _ in held} == quotas.keys() - {"nothing"}, "a quota that is always 0 proves nothing"
    names = {name for spec in quotas.values() for name in spec["hard"]}
    assert {name for _, name in held} == names - set(NEVER_COUNTED), "a name that is always 0 proves nothing"
    assert operator.metric("moorage_feed_drifts_total") == 0
    assert operator.metric("moorage_feed_faults_total") == 0


@pytest.mark.parametrize("limited", [True, False])
def test_a_seed_gives_the_same_operations_again(limited: bool) -> None:
    one, again, other = (list(itertools.islice(workload(seed, limited=limited), 300)) for seed in ("a", "a", "b"))
    assert one == again
    assert one != other


def _play(rest: Rest, number: int) -> Play:
    limited = LIMITED[number]
    seed, quotas = f"{SEED}/{number}", quotas_of(number)
    play = Play(rest, seed, quotas, limited=limited, operations=OPERATIONS[limited], every=EVERY)
    try:
        play.run()
    except BaseException as error:
        error.add_note(f"this was namespace {number} of MOORAGE_ORACLE_SEED={SEED}, which plays it again")
        raise
    return play


def _summary(plays: list[Play], seconds: float) -> str:
    done, refused, gone = (sum(getattr(each.requests, what) for each in plays) for what in ("done", "refused", "gone"))
    settled, comparisons = (sum(getattr(each.tally, what) for each in plays) for what in ("settled", "comparisons"))
    return (
        f"seed {SEED}: {done} operations in {len(plays)} namespaces, {refused} refused as they had to be, {gone} in "
        f"vain; {comparisons} numbers compared at {settled} settle points; {seconds:.0f} s"
    )
