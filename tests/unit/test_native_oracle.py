"""Quantities and pods of every kind, compared with what Kubernetes' own code makes of them (tests/data/native)."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.objects import Pod
from moorage.quantity import MAX_INT64, NANO, QuantityError, canonical, parse_nano
from moorage.quota.counting import pod_use
from moorage.quota.ledger import Ledger, Terms
from moorage.quota.scopes import Requirement, selects
from moorage.quota.usage import ObjectUse, Shapes
from moorage.resources import with_defaults

NATIVE = Path(__file__).parents[1] / "data" / "native"
Case = dict[str, Any]

with (NATIVE / "quantities.csv").open(newline="") as _table:
    QUANTITIES = list(csv.DictReader(_table))
PODS: list[Case] = [json.loads(line) for line in (NATIVE / "pods.jsonl").read_text().splitlines()]

VALID = [row for row in QUANTITIES if row["value"] and abs(Fraction(row["value"])) < MAX_INT64]
"""Without what Kubernetes cuts to the largest int64; ours stays exact, and the schema refuses it."""
SPELLED = [row for row in VALID if row["format"] != "DecimalExponent"]
REFUSED = [row for row in QUANTITIES if not row["value"]]

every_pod = pytest.mark.parametrize("case", PODS, ids=[f"pod-{at}" for at in range(len(PODS))])


@pytest.mark.parametrize("row", VALID, ids=lambda row: row["text"])
def test_a_quantity_has_the_same_value(row: dict[str, str]) -> None:
    assert Fraction(parse_nano(row["text"]), NANO) == Fraction(row["value"])


@pytest.mark.parametrize("row", SPELLED, ids=lambda row: row["text"])
def test_a_quantity_is_spelled_the_same(row: dict[str, str]) -> None:
    assert canonical(parse_nano(row["text"]), binary=row["format"] == "BinarySI") == row["canonical"]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["text"])
def test_a_text_that_is_no_quantity_is_refused(row: dict[str, str]) -> None:
    with pytest.raises(QuantityError):
        parse_nano(row["text"])


@every_pod
def test_a_pod_counts_for_the_same(case: Case) -> None:
    ledger = Ledger()
    ledger.set_quota("ns", "q", Terms(frozenset(case["usage"])))
    ledger.put(record(case))
    ledger.release_due(case["now"])
    counted = ledger.usage("ns", "q").used
    assert {name: Fraction(amount, NANO) for name, amount in counted.items()} == {
        name: Fraction(amount) for name, amount in case["usage"].items()
    }


@every_pod
def test_a_pod_matches_the_same_scopes(case: Case) -> None:
    facts = record(case).shape.facts
    assert {text: selects([requirement(text)], facts) for text in case["matches"]} == case["matches"]


def record(case: Case) -> ObjectUse:
    """Return the ledger's record of a case's pod as the API server would have stored it."""
    pod = msgspec.convert(case["pod"], Pod)
    return pod_use(msgspec.structs.replace(pod, spec=with_defaults(pod.spec)), Shapes())


def requirement(text: str) -> Requirement:
    scope, operator, *values = text.split()
    return Requirement(scope, operator, frozenset(values))
