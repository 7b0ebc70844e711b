"""Native ResourceQuotas as they come from the API server, and what becomes of them in the status of ours."""

from __future__ import annotations

import msgspec
import pytest

from moorage.handlers.native import NativeQuotas, NativeQuotaSink, read_native
from moorage.handlers.quotas import Quotas
from moorage.quantity import QuantityError
from moorage.quota.ledger import Ledger
from moorage.quota.native import NativeQuota
from moorage.quota.scopes import Requirement
from moorage.status.namespacequota import Trouble, View
from moorage.status.native import SETTLING_SECONDS
from tests.builders import nano, pod_use

ENCODED = b"""{"apiVersion": "v1", "kind": "ResourceQuota",
  "metadata": {"name": "theirs", "namespace": "team-a", "uid": "u1", "resourceVersion": "7"},
  "spec": {"hard": {"pods": "9"}, "scopes": ["NotTerminating"],
    "scopeSelector": {"matchExpressions": [
      {"scopeName": "PriorityClass", "operator": "In", "values": ["low", "high"]},
      {"scopeName": "BestEffort", "operator": "Exists"}]}},
  "status": {"hard": {"pods": "8"}, "used": {"pods": "3", "requests.memory": "1Gi"}}}"""


def quota(name: str = "theirs", *, uid: str = "", namespace: str = "team-a", **used: str) -> NativeQuota:
    return NativeQuota(uid or name, namespace, name, 1, frozenset(), nano(**used))


class TestReading:
    def test_scopes_limits_and_usage_are_read_and_the_rest_skipped(self) -> None:
        assert read_native(ENCODED) == NativeQuota(
            uid="u1",
            namespace="team-a",
            name="theirs",
            resource_version=7,
            requirements=frozenset(
                {
                    Requirement("NotTerminating"),
                    Requirement("PriorityClass", "In", frozenset({"high", "low"})),
                    Requirement("BestEffort"),
                }
            ),
            used=nano(**{"pods": "3", "requests.memory": "1Gi"}),
            hard=nano(pods="9"),
            hard_in_force=nano(pods="8"),
        )

    def test_one_that_we_made_is_known_by_its_label_and_its_owner(self) -> None:
        ours = b"""{"metadata": {"name": "moorage-team", "labels": {"app.kubernetes.io/managed-by": "moorage"},
          "ownerReferences": [{"kind": "NamespaceQuota", "name": "team", "uid": "u9", "controller": true}]}}"""
        found = read_native(ours)
        assert (found.is_managed, found.owner, found.owner_uid) == (True, "team", "u9")
        theirs = read_native(ours.replace(b'moorage"}', b'helm"}').replace(b"NamespaceQuota", b"Tenant"))
        assert (theirs.is_managed, theirs.owner, theirs.owner_uid) == (False, "", "")

    @pytest.mark.parametrize(
        "rest", ["", ', "spec": {}, "status": {}', ', "spec": {"scopes": null, "scopeSelector": {}}']
    )
    def test_one_without_scopes_or_usage_is_empty(self, rest: str) -> None:
        found = read_native(f'{{"metadata": {{"name": "q"}}{rest}}}'.encode())
        assert (found.requirements, found.used) == (frozenset(), {})

    def test_an_amount_that_does_not_parse_is_an_error(self) -> None:
        with pytest.raises(QuantityError):
            read_native(ENCODED.replace(b'"1Gi"', b'"lots"'))

    def test_so_is_what_is_no_quota(self) -> None:
        with pytest.raises(msgspec.MsgspecError):
            read_native(b'{"metadata": 3}')


class TestTheBook:
    @pytest.fixture
    def book(self) -> NativeQuotas:
        self.told: list[str] = []
        book = NativeQuotas()
        book.changed = self.told.append
        return book

    def test_quotas_are_found_by_namespace(self, book: NativeQuotas) -> None:
        sink = NativeQuotaSink(book)
        sink.put(quota("a"))
        sink.put(quota("b", namespace="team-b"))
        assert [each.name for each in book.of("team-a")] == ["a"]
        assert list(book.of("team-c")) == []
        assert self.told == ["team-a", "team-b"]

    def test_a_change_takes_the_place_of_what_was(self, book: NativeQuotas) -> None:
        sink = NativeQuotaSink(book)
        sink.put(quota("a", pods="1"))
        sink.put(quota("a", pods="2"))
        assert [each.used for each in book.of("team-a")] == [nano(pods="2")]

    def test_a_deleted_one_is_gone_and_told(self, book: NativeQuotas) -> None:
        sink = NativeQuotaSink(book)
        sink.put(quota("a"))
        sink.delete(quota("a"))
        assert (list(book.of("team-a")), dict(sink.snapshot()), sink.get("a")) == ([], {}, None)
        assert self.told == ["team-a", "team-a"]

    def test_a_list_takes_the_place_of_what_its_feed_held_and_leaves_other_feeds_alone(
        self, book: NativeQuotas
    ) -> None:
        one, other = NativeQuotaSink(book), NativeQuotaSink(book)
        one.put(quota("a"))
        one.put(quota("gone", namespace="team-c"))
        other.put(quota("b", namespace="team-b"))
        one.replace({"a": quota("a", pods="2"), "c": quota("c")})
        assert sorted(each.name for each in book.of("team-a")) == ["a", "c"]
        assert list(book.of("team-c")) == []
        assert [each.name for each in book.of("team-b")] == ["b"]
        assert set(one.snapshot()) == {"a", "c"}


class TestInStatus:
    """The clock stands still until it is moved."""

    def setup_method(self) -> None:
        self.now = 1_893_499_200.0
        self.views = {"pods": View()}
        self.ledger = Ledger()
        self.quotas = Quotas(self.ledger, lambda resource, _: self.views.get(resource, View()), now=lambda: self.now)
        self.quotas.accept("team-a", "ours", generation=1, spec={"hard": {"pods": 9, "requests.cpu": 4}})
        self.ledger.put(pod_use("a", cpu="1"))

    def native(self) -> list[tuple[str, str, str, str]]:
        status = self.quotas.status("team-a", "ours")
        assert status is not None
        return [(each.resource_quota, each.resource, each.used, each.counted) for each in status.native]

    def test_a_lasting_difference_is_told_and_goes_when_it_is_over(self) -> None:
        self.quotas.native.put(quota(pods="3", cpu="1"))
        assert self.native() == []
        assert self.quotas.unsettled() == [("team-a", "ours")]
        self.now += SETTLING_SECONDS
        assert self.native() == [("theirs", "pods", "3", "1")]
        self.quotas.native.put(quota(pods="1", cpu="1"))
        assert self.native() == []
        assert self.quotas.unsettled() == []

    def test_quotas_of_other_namespaces_are_no_matter(self) -> None:
        self.quotas.native.put(quota(namespace="team-b", pods="3"))
        assert list(self.quotas.differences()) == []

    @pytest.mark.parametrize(
        "view", [View(complete=False), View(trouble=Trouble.FORBIDDEN), View(trouble=Trouble.STALE)], ids=str
    )
    def test_what_is_not_known_or_only_as_it_was_is_not_compared(self, view: View) -> None:
        self.views["pods"] = view
        self.quotas.native.put(quota(pods="3"))
        assert list(self.quotas.differences()) == []

    def test_a_quota_whose_spec_cannot_be_read_is_not_compared(self) -> None:
        self.quotas.native.put(quota(pods="3"))
        self.quotas.accept("team-a", "ours", generation=2, spec={"hard": {"pods": "many"}})
        assert list(self.quotas.differences()) == []
        assert self.quotas.status("team-a", "ours") is not None

    def test_since_when_it_lasts_outlives_a_change_of_the_spec(self) -> None:
        self.quotas.native.put(quota(pods="3"))
        self.native()
        self.now += SETTLING_SECONDS
        self.quotas.accept("team-a", "ours", generation=2, spec={"hard": {"pods": 8}})
        assert self.native() == [("theirs", "pods", "3", "1")]
