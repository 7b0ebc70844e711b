"""Which pods and claims for volumes a quota with scopes counts."""

import msgspec
import pytest

from moorage.objects import Affinity, Pod, PodSpec
from moorage.quota.scopes import POD_SCOPES, ClaimFacts, Requirement, ScopeFacts, scope_facts, selects
from tests.builders import container, pod_affinity, pod_spec, pod_status, resources


def matches(spec: PodSpec, scope: str, operator: str = "Exists", *values: str) -> bool:
    return selects([Requirement(scope, operator, frozenset(values))], scope_facts(spec))


class TestTerminating:
    """The scope is about a deadline, not about being deleted."""

    @pytest.mark.parametrize(
        ("deadline", "terminating"),
        [(None, False), (600, True), (0, True), (-1, False)],
        ids=["no deadline", "a deadline", "a deadline of 0", "a negative one is none"],
    )
    def test_a_pod_with_a_deadline_is_terminating_and_any_other_is_not(
        self, deadline: int | None, terminating: bool
    ) -> None:
        spec = pod_spec(deadline=deadline)
        assert matches(spec, "Terminating") is terminating
        assert matches(spec, "NotTerminating") is not terminating


class TestBestEffort:
    @pytest.mark.parametrize(
        ("spec", "best_effort"),
        [
            pytest.param(pod_spec(), True, id="asks for nothing"),
            pytest.param(PodSpec(), True, id="has no container at all"),
            pytest.param(
                pod_spec(requests={"ephemeral-storage": "1Gi"}, limits={"x.com/gpu": "1"}), True, id="no compute"
            ),
            pytest.param(pod_spec(cpu="0", limits={"memory": "0"}), True, id="zeros"),
            pytest.param(pod_spec(cpu="1m"), False, id="cpu request"),
            pytest.param(pod_spec(cpu="1n"), False, id="the least cpu request"),
            pytest.param(pod_spec(limits={"memory": "1"}), False, id="memory limit"),
            pytest.param(pod_spec(init=[container("i", cpu="1m")]), False, id="init container"),
            pytest.param(pod_spec(pod_level=resources({"memory": "1Mi"})), False, id="pod-level request"),
            pytest.param(pod_spec(pod_level=resources(None, {"cpu": "1"})), False, id="pod-level limit"),
            pytest.param(
                pod_spec(cpu="1", pod_level=resources({"hugepages-2Mi": "2Mi"})), True, id="pod-level alone counts"
            ),
            pytest.param(pod_spec(cpu="1", pod_level=resources({})), True, id="even when it is empty"),
            pytest.param(pod_spec(overhead={"cpu": "1"}), True, id="overhead is no request"),
        ],
    )
    def test_only_cpu_and_memory_above_0_make_a_pod_more_than_best_effort(
        self, spec: PodSpec, best_effort: bool
    ) -> None:
        assert matches(spec, "BestEffort") is best_effort
        assert matches(spec, "NotBestEffort") is not best_effort

    @pytest.mark.parametrize(
        ("stored", "best_effort"), [("BestEffort", True), ("Burstable", False), ("Guaranteed", False), ("", False)]
    )
    def test_the_stored_class_wins_because_it_never_changes(self, stored: str, best_effort: bool) -> None:
        facts = scope_facts(pod_spec(cpu="1"), pod_status(qos=stored))
        assert facts.best_effort is best_effort


class TestPriorityClass:
    @pytest.mark.parametrize(
        ("operator", "values", "selected"),
        [
            ("In", ["low", "high"], ["low", "high"]),
            ("In", ["absent"], []),
            ("NotIn", ["high"], ["low", "mid", None]),
            ("NotIn", ["low", "mid", "high"], [None]),
            ("Exists", [], ["low", "mid", "high"]),
            ("DoesNotExist", [], [None]),
        ],
    )
    def test_each_operator_selects_by_the_name_of_the_class(
        self, operator: str, values: list[str], selected: list[str | None]
    ) -> None:
        classes = ["low", "mid", "high", None]
        found = [each for each in classes if matches(pod_spec(priority_class=each), "PriorityClass", operator, *values)]
        assert found == selected

    def test_an_empty_name_is_no_class(self) -> None:
        assert not matches(pod_spec(priority_class=""), "PriorityClass")
        assert matches(pod_spec(priority_class=""), "PriorityClass", "DoesNotExist")


class TestCrossNamespacePodAffinity:
    @pytest.mark.parametrize("anti", [False, True], ids=["affinity", "anti-affinity"])
    @pytest.mark.parametrize("preferred", [False, True], ids=["required", "preferred"])
    @pytest.mark.parametrize(
        ("namespaces", "selector", "crosses"),
        [
            pytest.param(["other"], None, True, id="named namespaces"),
            pytest.param(None, {}, True, id="an empty selector is every namespace"),
            pytest.param(None, {"matchLabels": {"a": "b"}}, True, id="a selector"),
            pytest.param(None, None, False, id="only its own namespace"),
            pytest.param([], None, False, id="no names"),
        ],
    )
    def test_a_term_that_names_or_selects_namespaces_crosses_them(
        self, namespaces: list[str] | None, selector: dict | None, crosses: bool, anti: bool, preferred: bool
    ) -> None:
        affinity = pod_affinity(namespaces=namespaces, namespace_selector=selector, anti=anti, preferred=preferred)
        assert matches(pod_spec(affinity=affinity), "CrossNamespacePodAffinity") is crosses

    @pytest.mark.parametrize("affinity", [None, Affinity()])
    def test_a_pod_without_pod_affinity_crosses_nothing(self, affinity: Affinity | None) -> None:
        assert not matches(pod_spec(affinity=affinity), "CrossNamespacePodAffinity")

    def test_the_api_servers_field_names_are_read(self) -> None:
        term = '{"topologyKey": "k", "namespaceSelector": {}}'
        spec = (
            '{"spec": {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": '
            f'[{{"weight": 1, "podAffinityTerm": {term}}}]}}}}}}}}'
        )
        assert scope_facts(msgspec.json.decode(spec, type=Pod).spec).cross_namespace_affinity


def test_a_plain_pod_has_nothing_that_a_scope_would_single_out() -> None:
    assert scope_facts(pod_spec(cpu="1")) == ScopeFacts()
    assert [scope for scope in POD_SCOPES if matches(pod_spec(cpu="1"), scope)] == ["NotTerminating", "NotBestEffort"]


class TestVolumeAttributesClass:
    @pytest.mark.parametrize(
        ("operator", "values", "selected"),
        [
            ("In", ["gold"], ["gold", "gold+silver"]),
            ("In", ["gold", "silver"], ["gold", "silver", "gold+silver"]),
            ("In", ["absent"], []),
            ("NotIn", ["gold"], ["", "silver", "gold+silver"]),
            ("NotIn", ["gold", "silver"], [""]),
            ("NotIn", ["absent"], ["", "gold", "silver", "gold+silver"]),
            ("Exists", [], ["gold", "silver", "gold+silver"]),
            ("DoesNotExist", [], [""]),
        ],
    )
    def test_a_claim_matches_when_one_of_its_classes_does(
        self, operator: str, values: list[str], selected: list[str]
    ) -> None:
        requirement = Requirement("VolumeAttributesClass", operator, frozenset(values))
        claims = ["", "gold", "silver", "gold+silver"]
        facts = {each: ClaimFacts(frozenset(each.split("+") if each else ())) for each in claims}
        assert [each for each in claims if selects([requirement], facts[each])] == selected

    def test_all_its_requirements_must_hold(self) -> None:
        two = [
            Requirement("VolumeAttributesClass", "In", frozenset({"gold"})),
            Requirement("VolumeAttributesClass", "NotIn", frozenset({"gold"})),
        ]
        assert not selects(two, ClaimFacts(frozenset({"gold"})))
        assert selects(two, ClaimFacts(frozenset({"gold", "silver"})))

    @pytest.mark.parametrize("scope", POD_SCOPES)
    def test_claims_match_no_scope_of_pods_and_pods_not_this_one(self, scope: str) -> None:
        assert not selects([Requirement(scope)], ClaimFacts(frozenset({"gold"})))
        both = [Requirement(scope), Requirement("VolumeAttributesClass")]
        assert not selects(both, ClaimFacts(frozenset({"gold"})))
        assert not selects(both, scope_facts(pod_spec(priority_class="high", deadline=5)))


class TestOtherObjects:
    @pytest.mark.parametrize("scope", [*POD_SCOPES, "VolumeAttributesClass"])
    @pytest.mark.parametrize("operator", ["Exists", "DoesNotExist", "NotIn"])
    def test_they_match_no_scope_whatever_the_operator(self, scope: str, operator: str) -> None:
        assert not selects([Requirement(scope, operator, frozenset({"x"}))], None)

    def test_without_scopes_everything_is_selected(self) -> None:
        assert selects([], None)
        assert selects([], ClaimFacts())


class TestSeveral:
    def test_no_scope_selects_every_pod(self) -> None:
        assert selects([], ScopeFacts())

    @pytest.mark.parametrize(
        ("deadline", "priority_class", "selected"),
        [(5, "high", True), (5, "low", False), (None, "high", False), (None, None, False)],
    )
    def test_all_scopes_must_hold(self, deadline: int | None, priority_class: str | None, selected: bool) -> None:
        both = [Requirement("Terminating"), Requirement("PriorityClass", "In", frozenset({"high"}))]
        facts = scope_facts(pod_spec(deadline=deadline, priority_class=priority_class))
        assert selects(both, facts) is selected

    @pytest.mark.parametrize("pair", [("Terminating", "NotTerminating"), ("BestEffort", "NotBestEffort")])
    @pytest.mark.parametrize(
        "spec", [pod_spec(), pod_spec(cpu="1", deadline=5)], ids=["plain", "with cpu and deadline"]
    )
    def test_scopes_that_contradict_each_other_select_nothing(self, pair: tuple[str, str], spec: PodSpec) -> None:
        assert not selects([Requirement(scope) for scope in pair], scope_facts(spec))

    def test_a_scope_of_volumes_selects_no_pod(self) -> None:
        assert "VolumeAttributesClass" not in POD_SCOPES
        assert not matches(pod_spec(), "VolumeAttributesClass")
