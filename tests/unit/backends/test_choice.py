"""Auto takes the autoscalers' API where a controller answers on it, and placeholders everywhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from moorage.backends.autoscaler import ACTIVE_STRATEGY, STANDBY_STRATEGY, Answer
from moorage.backends.choice import Asked, Backend, Choice, Seen, Standby, choose

KARPENTER = Answer(1, controller="Karpenter", current=True, ready=True, strategy=ACTIVE_STRATEGY)
CLUSTER_AUTOSCALER = Answer(1, controller="Cluster Autoscaler", current=True, ready=True, strategy=ACTIVE_STRATEGY)
TAKEN = Answer(1, controller="Cluster Autoscaler", current=True, ready=True, strategy=STANDBY_STRATEGY)
SILENCE = Answer(1)
PLACEHOLDERS = Choice(backend=Backend.PLACEHOLDER)
AUTOSCALED = Choice(backend=Backend.AUTOSCALER)


def chosen(seen: Seen, *, setting: Any = "Auto", previous: Choice | None = None, now: float = 0) -> Choice:
    choice = choose(setting, seen, previous, now=now)
    assert choice is not None
    return choice


class TestAuto:
    def test_waits_until_it_is_known_what_is_served(self) -> None:
        assert choose("Auto", Seen(served=None), None, now=0) is None

    def test_takes_placeholders_where_the_api_is_not_served(self) -> None:
        choice = chosen(Seen(served=False))
        assert (choice.backend, choice.probes) == (Backend.PLACEHOLDER, False)
        assert choice.reason == "the API group autoscaling.x-k8s.io is not served"

    def test_asks_the_autoscaler_first_and_waits_a_minute(self) -> None:
        assert chosen(Seen(served=True)).backend is Backend.AUTOSCALER
        asked = Seen(served=True, active=Asked(SILENCE, since=100))
        waiting = chosen(asked, now=159)
        assert (waiting.backend, waiting.look_again) == (Backend.AUTOSCALER, 160)
        assert waiting.reason.endswith("waiting for a controller to answer")
        given_up = chosen(asked, now=160, previous=waiting)
        assert (given_up.backend, given_up.probes) == (Backend.PLACEHOLDER, True)
        assert "no controller answers" in given_up.reason

    @pytest.mark.parametrize(
        ("answer", "platform", "named"),
        [
            (KARPENTER, "", "Karpenter"),
            (CLUSTER_AUTOSCALER, "", "Cluster Autoscaler"),
            (CLUSTER_AUTOSCALER, "GKE", "GKE"),
            (KARPENTER, "GKE", "Karpenter"),
        ],
    )
    def test_takes_the_autoscaler_that_answers_and_names_it(self, answer: Answer, platform: str, named: str) -> None:
        choice = chosen(Seen(served=True, active=Asked(answer, since=0), platform=platform), now=1000)
        assert (choice.backend, choice.controller) == (Backend.AUTOSCALER, named)
        assert choice.reason == f"the CapacityBuffer API of autoscaling.x-k8s.io is served and {named} answers"

    def test_an_error_is_an_answer_too(self) -> None:
        error = Answer(1, controller="Karpenter", current=True, reason="PodTemplateNotFound")
        assert chosen(Seen(served=True, active=Asked(error, since=0)), now=1000).backend is Backend.AUTOSCALER

    def test_moves_to_an_autoscaler_that_comes_later(self) -> None:
        assert chosen(Seen(served=True), previous=PLACEHOLDERS).probes, "it is to be asked first"
        probe = Asked(SILENCE, since=0)
        assert chosen(Seen(served=True, active=probe), previous=PLACEHOLDERS, now=5).backend is Backend.PLACEHOLDER
        answered = Seen(served=True, active=Asked(KARPENTER, since=0))
        assert chosen(answered, previous=PLACEHOLDERS, now=5).backend is Backend.AUTOSCALER

    def test_takes_placeholders_where_it_may_not_use_the_api_and_names_the_rule(self) -> None:
        choice = chosen(Seen(served=True, refusal="forbidden; give get"))
        assert (choice.backend, choice.probes) == (Backend.PLACEHOLDER, False)
        assert choice.reason.endswith("the operator may not use it: forbidden; give get")

    def test_what_was_in_use_before_a_restart_may_be_refused_for_five_minutes(self) -> None:
        """An API server that has just started refuses all, and may have restarted along with the operator."""
        seen = Seen(served=True, refusal="forbidden; give get", refused_since=100)
        waiting = chosen(seen, previous=AUTOSCALED, now=399)
        assert (waiting.backend, waiting.look_again) == (Backend.AUTOSCALER, 400)
        assert waiting.reason.endswith("the operator may not use it: forbidden; give get")
        assert chosen(seen, previous=AUTOSCALED, now=400).backend is Backend.PLACEHOLDER

    def test_moves_to_placeholders_when_the_api_goes(self) -> None:
        assert chosen(Seen(served=False), previous=AUTOSCALED).backend is Backend.PLACEHOLDER

    def test_a_controller_that_has_answered_may_be_away_for_five_minutes(self) -> None:
        behind = Answer(2, controller="Karpenter", current=False, ready=True)
        seen = Seen(served=True, active=Asked(behind, since=100))
        assert chosen(seen, previous=AUTOSCALED, now=399).backend is Backend.AUTOSCALER
        assert chosen(seen, previous=AUTOSCALED, now=399).look_again == 400
        assert chosen(seen, previous=AUTOSCALED, now=400).backend is Backend.PLACEHOLDER

    def test_a_restart_in_the_middle_keeps_what_is_in_use(self) -> None:
        """The operator has seen no object yet; nobody has been asked."""
        assert chosen(Seen(served=True, active=Asked(SILENCE, since=0)), previous=PLACEHOLDERS).probes
        assert chosen(Seen(served=True), previous=AUTOSCALED).backend is Backend.AUTOSCALER


class TestASetBackend:
    @pytest.mark.parametrize("served", [None, False, True])
    def test_placeholder_and_none_do_not_depend_on_the_cluster(self, served: bool | None) -> None:
        assert chosen(Seen(served=served), setting="Placeholder").backend is Backend.PLACEHOLDER
        assert chosen(Seen(served=served), setting="None").backend is Backend.NONE

    def test_autoscaler_says_when_the_api_is_missing(self) -> None:
        choice = chosen(Seen(served=False), setting="Autoscaler")
        assert choice.backend is Backend.AUTOSCALER
        assert choice.reason.endswith("the API group autoscaling.x-k8s.io is not served: nothing is made")
        assert (choice.standby, choice.standby_reason) == (Standby.ASKED, "Asking")

    def test_autoscaler_stays_when_nobody_answers_and_says_so(self) -> None:
        choice = chosen(Seen(served=True, active=Asked(SILENCE, since=0)), setting="Autoscaler", now=60)
        assert choice.backend is Backend.AUTOSCALER
        assert choice.reason.endswith("no controller has answered, so no node may come")


class TestStandby:
    def test_karpenter_is_never_given_standby_units(self) -> None:
        """It would run them at full cost."""
        choice = chosen(Seen(served=True, active=Asked(KARPENTER, since=0)))
        assert (choice.standby, choice.standby_reason) == (Standby.UNSUPPORTED, "Karpenter")

    def test_karpenter_is_found_out_on_the_standby_object_too(self) -> None:
        choice = chosen(Seen(served=True, active=Asked(SILENCE, 0), standby=Asked(KARPENTER, 0)))
        assert choice.standby is Standby.UNSUPPORTED

    def test_a_controller_that_takes_the_strategy_gets_them(self) -> None:
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=Asked(TAKEN, 0))
        assert chosen(seen).standby is Standby.SUPPORTED

    def test_until_then_it_is_asked_with_an_empty_object(self) -> None:
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=Asked(SILENCE, since=100))
        choice = chosen(seen, now=130)
        assert (choice.standby, choice.look_again) == (Standby.ASKED, 160)

    def test_one_that_ignores_it_for_a_minute_has_no_standby_capacity(self) -> None:
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=Asked(SILENCE, since=100))
        choice = chosen(seen, now=160)
        assert (choice.standby, choice.standby_reason) == (Standby.UNSUPPORTED, "StrategyIgnored")

    def test_a_moment_of_trouble_does_not_take_standby_units_away(self) -> None:
        trouble = Answer(2, controller="Cluster Autoscaler", current=True, reason="error", message="no such template")
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=Asked(trouble, since=100))
        before = Choice(backend=Backend.AUTOSCALER, standby=Standby.SUPPORTED)
        assert chosen(seen, previous=before, now=399).standby is Standby.SUPPORTED
        after = chosen(seen, previous=before, now=400)
        assert after.standby is Standby.UNSUPPORTED
        assert after.standby_message.endswith(": no such template")

    @pytest.mark.parametrize("asked", [None, Asked(SILENCE, since=100)], ids=["not asked yet", "asked anew"])
    def test_what_was_ignored_is_ignored_until_that_is_found_out_anew(self, asked: Asked | None) -> None:
        before = Choice(backend=Backend.AUTOSCALER, standby_reason="StrategyIgnored", standby_message="it does not")
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=asked)
        found = chosen(seen, previous=before, now=130)
        assert (found.standby, found.standby_reason) == (Standby.UNSUPPORTED, "StrategyIgnored")
        assert (found.standby_message, found.look_again) == ("it does not", None if asked is None else 160)
        taken = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), standby=Asked(TAKEN, 100))
        assert chosen(taken, previous=before, now=130).standby is Standby.SUPPORTED

    def test_what_cannot_be_suspended_is_so_until_all_has_been_read(self) -> None:
        before = Choice(backend=Backend.AUTOSCALER, standby_reason="NotSuspendable", standby_message="a; b")
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), platform="GKE", obstacles=("a",), surveyed=False)
        found = chosen(seen, previous=before)
        assert (found.standby_reason, found.standby_message, found.look_again) == ("NotSuspendable", "a; b", 60)
        assert chosen(replace(seen, surveyed=True), previous=before).standby_message == "a"
        assert chosen(replace(seen, surveyed=True, obstacles=()), previous=before).standby is Standby.ASKED

    def test_what_cannot_be_suspended_is_said_before_it_is_tried(self) -> None:
        seen = Seen(served=True, active=Asked(CLUSTER_AUTOSCALER, 0), platform="GKE", obstacles=("a", "b"))
        choice = chosen(seen)
        assert (choice.standby, choice.standby_reason) == (Standby.UNSUPPORTED, "NotSuspendable")
        assert choice.standby_message == "a; b"

    def test_placeholders_have_none(self) -> None:
        choice = chosen(Seen(served=False))
        assert (choice.standby, choice.standby_reason) == (Standby.UNSUPPORTED, "PlaceholdersRun")
