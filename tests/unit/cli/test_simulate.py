"""`moorage simulate` tries a size, finds the cheapest, and says what is wrong with what it is given."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.unit.buffer.sizing_rows import TRACE
from tests.unit.cli.conftest import Moorage

LATENCIES = ["--resume", "30s", "--cold", "90s"]
MEAN_SIZE = ["--active", "60", "--standby", "120", *LATENCIES]


def test_a_constant_rate_never_waits_with_the_mean(moorage: Moorage) -> None:
    answer = moorage("simulate", "--profile", "2:600", *MEAN_SIZE, "-o", "json")
    assert answer.code == 0
    assert answer.json["pods"] == 1200
    assert answer.json["noWaitFraction"] == 1.0
    assert answer.json["waitSeconds"] == {"p50": 0.0, "p90": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}
    assert answer.json["tiers"] == {"active": 1200, "standby": 0, "cold": 0}


def test_random_arrivals_at_the_same_rate_do_and_the_interval_says_how_sure_that_is(moorage: Moorage) -> None:
    answer = moorage("simulate", "--poisson", "2", "--duration", "24h", *MEAN_SIZE, "--seed", "7", "-o", "json").json
    low, high = answer["noWaitInterval"]
    assert low < 0.4887 < high  # row P0
    assert answer["seed"] == 7
    for name in ("p50", "p90", "p95", "p99"):
        assert answer["waitIntervals"][name][0] <= answer["waitSeconds"][name] <= answer["waitIntervals"][name][1]


def test_pods_may_go_cold_instead_of_waiting_for_a_resume(moorage: Moorage) -> None:
    demand = ["--poisson", "2", "--duration", "24h", "--seed", "7"]
    size = ["--active", "60", "--standby", "1000", *LATENCIES]
    answer = moorage("simulate", *demand, *size, "--misses", "GoCold", "-o", "json").json
    low, high = answer["noWaitInterval"]
    assert low < 1 - 0.0963 < high  # row E1, at the mean
    assert answer["tiers"]["standby"] == 0
    assert answer["waitSeconds"]["p95"] == 90.0


def test_the_same_seed_gives_the_same_answer_and_another_one_another(moorage: Moorage) -> None:
    asked = ["simulate", "--mmpp", "5:60,0.1:600", "--duration", "3h", *MEAN_SIZE, "--cold-cv", "0.5", "-o", "json"]
    first = moorage(*asked, "--seed", "3")
    assert moorage(*asked, "--seed", "3").out == first.out
    assert moorage(*asked, "--seed", "4").json["pods"] != first.json["pods"]


def test_a_recorded_hour_and_the_size_that_is_found_for_it(moorage: Moorage) -> None:
    asked = ["simulate", "--trace", str(TRACE), *LATENCIES, "-o", "json"]
    assert moorage(*asked, "--active", "557", "--standby", "374").json["noWaitFraction"] == 1.0
    found = moorage(*asked, "--optimize", "p99=0s").json
    assert found["noWaitFraction"] >= 0.99
    assert (found["active"], found["standby"]) == (495, 436)


def test_a_looser_target_costs_less_and_several_are_all_kept(moorage: Moorage) -> None:
    asked = ["simulate", "--poisson", "2", "--duration", "4h", *LATENCIES, "-o", "json"]
    prices = ["--price-active", "1", "--price-standby", "0.05"]
    strict = moorage(*asked, *prices, "--optimize", "p99=1s").json
    loose = moorage(*asked, *prices, "--optimize", "p90=5s").json
    both = moorage(*asked, *prices, "--optimize", "p99=1s", "--optimize", "p50=0s").json
    assert strict["waitSeconds"]["p99"] <= 1.0
    assert loose["waitSeconds"]["p90"] <= 5.0
    assert both["waitSeconds"]["p99"] <= 1.0
    assert both["waitSeconds"]["p50"] == 0.0
    assert loose["cost"]["perMonth"] < strict["cost"]["perMonth"]


def test_times_come_from_counts_and_from_dates(moorage: Moorage) -> None:
    size = ["--active", "2", "--standby", "0", *LATENCIES, "-o", "json"]
    counts = moorage("simulate", "--trace", "-", *size, stdin="time,count\n0,3\n1,0\n120.5,1\n").json
    assert (counts["pods"], counts["tiers"]["cold"]) == (4, 1)
    dates = moorage("simulate", "--trace", "-", *size, stdin="2026-01-31T10:00:00Z\n2026-01-31 12:01:30.5+02:00\n").json
    assert (dates["pods"], dates["seconds"]) == (2, 90.5 - 60 + 60)


def test_the_history_of_a_live_workload_is_that_of_its_pods(moorage: Moorage) -> None:
    size = ["--active", "2", "--standby", "0", *LATENCIES, "-o", "json"]
    pods = [
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": f"p{at}", "creationTimestamp": f"2026-01-31T10:00:{at:02}Z"},
        }
        for at in (7, 3, 5)
    ]
    answer = moorage(
        "simulate", "--pods", "-", *size, stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": pods})
    )
    assert (answer.json["pods"], answer.json["tiers"]["cold"]) == (3, 1)
    assert answer.json["waitSeconds"]["max"] == 86.0
    bare = moorage("simulate", "--pods", "-", *size, stdin="kind: Pod\nmetadata: {name: a}\n")
    assert "--pods: - holds no pods of a cluster" in bare.err


def test_whole_nodes_and_what_suspended_ones_hold(moorage: Moorage) -> None:
    more = ["--units-per-node", "8", "--addresses", "2", "--disk", "16"]
    answer = moorage("simulate", "--profile", "2:60", *MEAN_SIZE, *more, "-o", "json").json
    assert answer["nodes"] == {"active": 8, "standby": 15}
    assert answer["held"] == {"addresses": 240, "diskGiB": 1920.0}


def test_standby_nodes_that_are_not_suspended_yet_start_pods_at_once(moorage: Moorage) -> None:
    asked = ["simulate", "--profile", "1:60,0:200,1:60", "--active", "10", "--standby", "50", *LATENCIES, "-o", "json"]
    suspended = moorage(*asked).json["noWaitFraction"]
    assert moorage(*asked, "--init", "10m").json["noWaitFraction"] > suspended
    slow = ["--suspend", "60s", "--suspend-per-gib", "1s", "--memory", "64"]
    assert moorage(*asked, *slow).json["noWaitFraction"] <= suspended


def test_several_runs_each_begin_with_a_full_buffer(moorage: Moorage) -> None:
    answer = moorage("simulate", "--poisson", "2", "--duration", "2m", *MEAN_SIZE, "--runs", "200", "-o", "json").json
    low, high = answer["noWaitInterval"]
    assert low < 0.5992 < high  # row P0 from full buffers
    assert answer["runs"] == 200


def test_the_table_is_for_people(moorage: Moorage) -> None:
    answer = moorage("simulate", "--hpa", "20:200", *MEAN_SIZE)
    assert answer.out.startswith("pods        180 in ")
    assert "buffer      60 active and 120 standby\n" in answer.out
    assert "active   |" in answer.out


def test_each_pod_is_written_to_a_csv(moorage: Moorage, tmp_path: Path) -> None:
    file = tmp_path / "pods.csv"
    size = ["--active", "1", "--standby", "1", *LATENCIES]
    assert moorage("simulate", "--trace", "-", *size, "--csv", str(file), stdin="0\n1\n2\n").code == 0
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert [(row["wait"], row["servedBy"]) for row in rows] == [
        ("0.000000", "active"),
        ("29.000000", "standby"),
        ("88.000000", "cold"),
    ]


@pytest.mark.parametrize("name", ["out.svg", "out.png"])
def test_three_charts_are_drawn_the_same_each_time(moorage: Moorage, tmp_path: Path, name: str) -> None:
    files = [tmp_path / "first" / name, tmp_path / "second" / name]
    for file in files:
        file.parent.mkdir()
        assert moorage("simulate", "--hpa", "20:200", *MEAN_SIZE, "--plot", str(file)).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    if name.endswith("svg"):
        text = files[0].read_text(encoding="utf-8")
        for title in ("How long pods wait", "Units that stand ready", "What a better service level costs"):
            assert title in text


def test_long_runs_show_their_progress_on_a_terminal_and_nowhere_else(
    moorage: Moorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["simulate", "--poisson", "1", "--duration", "1m", *MEAN_SIZE, "--runs", "5", "-o", "json"]
    assert moorage(*asked).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    answer = moorage(*asked)
    assert "simulating" in answer.err
    assert answer.json["runs"] == 5


def test_json_is_valid_for_a_single_pod(moorage: Moorage) -> None:
    answer = moorage("simulate", "--trace", "-", *MEAN_SIZE, "-o", "json", stdin="5\n")
    assert json.loads(answer.out)["pods"] == 1
    assert answer.json["noWaitInterval"] is None


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        (["--trace", "-"], "", "standard input holds no pods: give a CSV with one time"),
        (["--trace", "-"], "3\n2\n", "standard input, row 2: 2 is earlier than the row before; sort the rows by time"),
        (["--trace", "-"], "-1\n", "standard input, row 1: -1 is negative"),
        (["--trace", "-"], "1\nNaN\n", "standard input, row 2: NaN is not a time"),
        (["--trace", "-"], "nan\n", "standard input, row 1: nan is not a time"),
        (["--trace", "-"], "1\ninf\n", "row 2: inf is not a time"),
        (["--trace", "-"], "1\nsoon\n", "row 2: 'soon' is not a time; write seconds such as 12.5, or a date"),
        (["--trace", "-"], "time,count\n1,-2\n", "row 2: '-2' is not a count of pods"),
        (["--trace", "-"], "time,count\n1\n", "row 2: '' is not a count of pods"),
        (["--trace", "/no/such.csv"], "", "/no/such.csv cannot be read: No such file"),
        (["--poisson", "0"], "", "--poisson: no pods come at a rate of 0"),
        (["--poisson", "nan"], "", "--poisson: 'nan' is not a rate"),
        (["--poisson", "-1"], "", "--poisson: '-1' is not a rate"),
        (["--poisson", "1", "--duration", "0s"], "", "--duration: must be more than zero"),
        (["--poisson", "1", "--duration", "soon"], "", "--duration: 'soon' is not a duration"),
        (["--poisson", "99999999", "--duration", "24h"], "", "are more than can be simulated"),
        (["--poisson", "1", "--profile", "1:2"], "", "not several"),
        ([], "", "say how pods come with one of --profile, --trace, --pods, --poisson"),
        (["--profile", "5"], "", "--profile: '5' is not rate:seconds; write such as 5:600"),
        (["--profile", "0:60"], "", "--profile: no pods come"),
        (["--profile", "1:x"], "", "--profile: 'x' is not a number"),
        (["--profile", "1:60", "--duration", "1h"], "", "--profile says itself how long"),
        (["--profile", "1:60", "--runs", "3"], "", "--runs: nothing is random here"),
        (["--profile", "1:60", "--batch-mean", "3"], "", "--batch-mean goes with --poisson only"),
        (["--poisson", "1", "--batch-mean", "0.5"], "", "--batch-mean: must be at least 1"),
        (["--mmpp", "5:0"], "", "--mmpp: no pods come"),
        (["--mmpp", "5:1,0:0"], "", "--mmpp: each rate must last"),
        (["--diurnal", "2:1"], "", "the peak 1 must not be below the mean 2"),
        (["--diurnal", "2"], "", "--diurnal: '2' is not two numbers"),
        (["--hpa", "200:20"], "", "--hpa: 200:20 is not a scale-up"),
        (["--poisson", "1", "--price-active", "1"], "", "both of --price-active and --price-standby"),
        (["--poisson", "1", "--cold", "0s"], "", "--cold: must be more than zero"),
        (["--poisson", "1", "--resume", "30"], "", "--resume: '30' is not a duration"),
        (["--poisson", "1", "--plot", "/tmp/x.xyz"], "", "name it .svg, .png or .pdf"),
        (["--poisson", "1", "--csv", "/no/such/place.csv"], "", "/no/such/place.csv cannot be written"),
        (["--poisson", "1", "--misses", "GoCold", "--init", "5m"], "", "--misses GoCold: leave out --optimize"),
        (["--poisson", "1", "--optimize", "p99=1s"], "", "--optimize finds --active and --standby"),
    ],
)
def test_bad_input_is_one_clear_line_and_code_2(
    moorage: Moorage, arguments: list[str], stdin: str, complaint: str
) -> None:
    answer = moorage("simulate", *MEAN_SIZE, *arguments, stdin=stdin)
    assert answer.code == 2
    assert answer.out == ""
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("p100=1s", "percentile 100 cannot be promised"),
        ("p0=1s", "percentile 0 cannot be promised"),
        ("99=1s", "'99=1s' is not a target; write a percentile and a wait, such as p99=1s"),
        ("p99=fast", "'fast' is not a duration"),
    ],
)
def test_a_bad_target_is_told(moorage: Moorage, target: str, complaint: str) -> None:
    answer = moorage("simulate", "--poisson", "1", *LATENCIES, "--optimize", target)
    assert answer.code == 2
    assert complaint in answer.err


def test_a_size_is_needed_unless_it_is_to_be_found(moorage: Moorage) -> None:
    answer = moorage("simulate", "--poisson", "1", *LATENCIES, "--active", "3")
    assert answer.code == 2
    assert "give --active and --standby, or --optimize" in answer.err
