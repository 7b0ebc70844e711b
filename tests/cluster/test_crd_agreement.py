"""The CEL and the Python half of each rule agree on texts that nobody thought of."""

from __future__ import annotations

import random
from typing import Any

import pytest

from moorage.api import SpecError, parse_capacity_buffer_spec, parse_namespace_quota_spec
from tests.cluster.crds import ApiServer

ECHO = "in body should match"
DIGITS = ["0", "1", "7", "00", "12", "999", "1024", "9223372036854775807", "9223372036854775808"]
QUANTITY_PARTS = [
    *DIGITS,
    ".",
    "-",
    "+",
    "e",
    "E3",
    "e-3",
    "e19",
    "m",
    "n",
    "u",
    "k",
    "M",
    "G",
    "E",
    "Ki",
    "Gi",
    "Ei",
    " ",
    "x",
]
DURATION_PARTS = ["0", "1", "5", "30", "99999", "123456", ".", "-", "+", "h", "m", "s", "ms", "us", "ns", "d", " "]
RATE_PARTS = ["0", "1", "2", "90", "123456789", ".", "-", "+", "/", "s", "m", "h", "/m", "/s", "d", " "]
NAME_PARTS = [
    "requests.",
    "limits.",
    "count/",
    "cpu",
    "memory",
    "pods",
    "hugepages-2Mi",
    "example.com",
    "/",
    "x",
    "X",
    ".",
    "-",
    "_",
]


def texts(seed: int, parts: list[str], count: int) -> list[str]:
    """Return texts of one to four parts, at most 32 long, the same ones for each seed."""
    chance = random.Random(seed)
    made = ("".join(chance.choices(parts, k=chance.randint(1, 4)))[:32] for _ in range(count))
    return list(dict.fromkeys(made))


def found_here(parse: Any, spec: Any) -> set[tuple[str, str]]:
    try:
        parse(spec)
    except SpecError as error:
        return {(problem.path, problem.message) for problem in error.problems}
    return set()


def found_there(api_server: ApiServer, kind: str, spec: Any) -> set[tuple[str, str]]:
    return {
        (cause.path, _without_value(cause.message))
        for cause in api_server.refusals(kind, "default", spec)
        if ECHO not in cause.message
    }


def _without_value(message: str) -> str:
    """Cut the value that the API server puts in front of a message."""
    said = message.removeprefix("Invalid value: ")
    if not said.startswith('"'):
        return said
    return said[said.index('": ') + 3 :]


@pytest.mark.parametrize("seed", range(4))
def test_on_quantities(api_server: ApiServer, seed: int) -> None:
    values = texts(seed, QUANTITY_PARTS, 100)
    spec = {"hard": {f"requests.example.com/r{n}": value for n, value in enumerate(values)}}
    here = found_here(parse_namespace_quota_spec, spec)
    assert here == found_there(api_server, "NamespaceQuota", spec)
    assert 0 < len(here) < len(values)


@pytest.mark.parametrize("value", texts(7, [*DIGITS, ".", "0", "5", "m", "k", "Ki", "e3", "e-1"], 60), ids=repr)
def test_on_integers(api_server: ApiServer, value: str) -> None:
    spec = {"hard": {"count/jobs.batch": value}}
    assert found_here(parse_namespace_quota_spec, spec) == found_there(api_server, "NamespaceQuota", spec)


@pytest.mark.parametrize("name", texts(3, NAME_PARTS, 80), ids=repr)
def test_on_names(api_server: ApiServer, name: str) -> None:
    hard, limits = {"hard": {name: 1}}, {"limits": {name: 1}}
    assert found_here(parse_namespace_quota_spec, hard) == found_there(api_server, "NamespaceQuota", hard)
    assert found_here(parse_capacity_buffer_spec, limits) == found_there(api_server, "CapacityBuffer", limits)


def limits(seed: int) -> dict[str, Any]:
    """Return entries with a few amounts that contradict each other here and there, the same for each seed."""
    chance = random.Random(seed)
    names = ["cpu", "memory", "hugepages-2Mi", "example.com/fpga", "storage"]
    amounts: list[Any] = [0, 1, 2, "1", "500m", "1.5", "1Ki", "1000", "9Ei", "Ki", "-1"]

    def amounts_of(names: list[str]) -> dict[str, Any]:
        return {name: chance.choice(amounts) for name in chance.sample(names, chance.randint(0, 3))}

    fields = ("default", "defaultRequest", "max", "maxLimitRequestRatio", "min")
    return {
        "limits": [
            {"type": each, **{field: amounts_of(names) for field in chance.sample(fields, chance.randint(1, 4))}}
            for each in chance.sample(["Container", "Pod", "PersistentVolumeClaim"], chance.randint(1, 3))
        ]
    }


@pytest.mark.parametrize("seed", range(100))
def test_on_limits(api_server: ApiServer, seed: int) -> None:
    spec = limits(seed)
    assert found_here(parse_namespace_quota_spec, spec) == found_there(api_server, "NamespaceQuota", spec)


@pytest.mark.parametrize("text", texts(11, DURATION_PARTS, 80), ids=repr)
def test_on_durations(api_server: ApiServer, text: str) -> None:
    spec = {"sizing": {"scaleUpRate": 1, "standbyResumeLatency": text, "coldNodeLatency": text}}
    assert found_here(parse_capacity_buffer_spec, spec) == found_there(api_server, "CapacityBuffer", spec)


@pytest.mark.parametrize("text", texts(13, RATE_PARTS, 60), ids=repr)
def test_on_rates(api_server: ApiServer, text: str) -> None:
    spec = {"sizing": {"scaleUpRate": text, "standbyResumeLatency": "1s", "coldNodeLatency": "2s"}}
    assert found_here(parse_capacity_buffer_spec, spec) == found_there(api_server, "CapacityBuffer", spec)
