"""A quota as people read it: canonical maps, aligned lines, column texts."""

from moorage.quota.report import QuotaReport, report
from tests.builders import nano


def team_a() -> QuotaReport:
    """Return the report of the quota that the documentation shows."""
    return report(
        nano(**{"requests.cpu": "20", "requests.memory": "64Gi", "pods": "100", "limits.memory": "96Gi"}),
        nano(**{"requests.cpu": "7", "requests.memory": "18Gi", "pods": "31", "limits.memory": "0"}),
    )


class TestMaps:
    def test_amounts_are_canonical_in_the_order_of_display(self) -> None:
        assert list(team_a().hard.items()) == [
            ("requests.cpu", "20"),
            ("requests.memory", "64Gi"),
            ("limits.memory", "96Gi"),
            ("pods", "100"),
        ]
        assert team_a().used == {"requests.cpu": "7", "requests.memory": "18Gi", "limits.memory": "0", "pods": "31"}
        assert team_a().remaining == {
            "requests.cpu": "13",
            "requests.memory": "46Gi",
            "limits.memory": "96Gi",
            "pods": "69",
        }
        assert team_a().utilization == {
            "requests.cpu": "35%",
            "requests.memory": "28%",
            "limits.memory": "0%",
            "pods": "31%",
        }

    def test_bytes_are_spelled_in_powers_of_1024_and_counts_are_not(self) -> None:
        result = report(nano(memory="1048576", pods="2000", cpu="1024"), nano(memory="1024", pods="1024", cpu="0.5"))
        assert result.hard == {"cpu": "1024", "memory": "1Mi", "pods": "2k"}
        assert result.used == {"cpu": "500m", "memory": "1Ki", "pods": "1024"}

    def test_a_name_that_nothing_counts_is_left_out(self) -> None:
        result = report(nano(pods="1", services="5"), nano(pods="0"))
        assert list(result.hard) == ["pods"]

    def test_a_quota_without_names_is_empty(self) -> None:
        empty = report({}, {})
        assert empty.lines == ()
        assert (empty.hard, empty.summary, empty.display, empty.fullest) == ({}, [], {}, None)


class TestSummary:
    def test_one_aligned_line_per_resource(self) -> None:
        assert team_a().summary == [
            "requests.cpu        7 of 20    35%",
            "requests.memory  18Gi of 64Gi  28%",
            "limits.memory       0 of 96Gi   0%",
            "pods               31 of 100   31%",
        ]

    def test_columns_are_as_wide_as_their_widest_text(self) -> None:
        result = report(
            nano(**{"requests.nvidia.com/gpu": "4", "pods": "5"}),
            nano(**{"requests.nvidia.com/gpu": "0", "pods": "60"}),
        )
        assert result.summary == [
            "pods                     60 of 5  >=1000%",
            "requests.nvidia.com/gpu   0 of 4       0%",
        ]

    def test_long_amounts_are_cut_for_people(self) -> None:
        result = report(nano(memory="2Gi", cpu="12345m"), nano(memory="2147483647", cpu="1234567n"))
        assert result.summary == [
            "cpu      1.2m of 12.3   1%",
            "memory  1.9Gi of 2Gi   99%",
        ]


class TestDisplay:
    def test_columns_show_cpu_memory_pods_and_what_is_fullest(self) -> None:
        assert team_a().display == {"cpu": "7/20", "memory": "18Gi/64Gi", "pods": "31/100", "fullest": "cpu 35%"}

    def test_requests_come_before_limits_and_pods_before_their_objects(self) -> None:
        hard = nano(**{"limits.cpu": "9", "cpu": "5", "limits.memory": "2Gi", "count/pods": "7"})
        result = report(hard, dict.fromkeys(hard, 0))
        assert result.display == {"cpu": "0/5", "memory": "0/2Gi", "pods": "0/7", "fullest": "cpu 0%"}

    def test_what_the_quota_does_not_name_has_no_column(self) -> None:
        result = report(nano(**{"requests.nvidia.com/gpu": "4"}), nano(**{"requests.nvidia.com/gpu": "3"}))
        assert result.display == {"fullest": "nvidia.com/gpu 75%"}


class TestFullest:
    def fullest(self, hard: dict[str, int], used: dict[str, int]) -> str | None:
        line = report(hard, used).fullest
        return None if line is None else line.name

    def test_the_largest_share_wins(self) -> None:
        assert self.fullest(nano(cpu="10", pods="10"), nano(cpu="3", pods="4")) == "pods"

    def test_shares_are_compared_exactly_not_as_shown(self) -> None:
        assert self.fullest(nano(cpu="1000", pods="1000"), nano(cpu="991", pods="994")) == "pods"

    def test_of_equal_shares_the_first_in_the_order_of_display_wins(self) -> None:
        assert self.fullest(nano(pods="2", memory="2", cpu="2"), nano(pods="1", memory="1", cpu="1")) == "cpu"

    def test_a_ban_that_is_kept_does_not_count(self) -> None:
        assert self.fullest(nano(cpu="0", pods="10"), nano(cpu="0", pods="1")) == "pods"
        assert self.fullest(nano(cpu="0"), nano(cpu="0")) is None

    def test_a_ban_that_is_broken_is_fuller_than_anything(self) -> None:
        assert self.fullest(nano(cpu="1n", pods="0"), nano(cpu="1k", pods="1")) == "pods"


def test_warnings_name_what_is_near_and_what_is_exceeded() -> None:
    result = report(
        nano(**{"cpu": "10", "memory": "10", "pods": "10", "count/pods": "0"}),
        nano(**{"cpu": "9", "memory": "11", "pods": "8", "count/pods": "0"}),
    )
    assert [line.name for line in result.near] == ["cpu", "memory"]
    assert [line.name for line in result.exceeded] == ["memory"]
