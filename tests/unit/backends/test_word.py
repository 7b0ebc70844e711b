"""What an autoscaler says of the nodes that units need, as Karpenter and the others write it."""

from __future__ import annotations

import pytest

from moorage.backends.autoscaler import Answer
from moorage.backends.choice import Backend, Choice
from moorage.backends.word import Word, word_of

AUTOSCALER = Choice(backend=Backend.AUTOSCALER)


def answer(message: str | None, *, reason: str = "RequiresNewCapacity", controller: str = "Karpenter") -> Answer:
    provisioning = None if message is None else {"status": "False", "reason": reason, "message": message}
    return Answer(1, controller=controller, current=True, ready=True, provisioning=provisioning)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("3/3 virtual pods required new capacity, 0 failed", Word.MAKES),
        ("1/3 virtual pods required new capacity, 2 failed", Word.MAKES),
        ("0/3 virtual pods required new capacity, 3 failed", Word.CANNOT),
        ("0/3 virtual pods required new capacity, 1 failed", Word.CANNOT),
        ("something else", Word.UNTOLD),
        (None, Word.WAITING),
    ],
)
def test_karpenter_counts_what_it_can_place(message: str | None, word: Word) -> None:
    assert word_of(AUTOSCALER, answer(message)) is word


def test_karpenter_has_no_need_of_nodes_while_all_fits() -> None:
    fits = answer("All 3 virtual pods fit on existing capacity", reason="FitsExistingCapacity")
    assert word_of(AUTOSCALER, fits) is Word.MAKES


def test_an_answer_for_an_older_size_says_nothing() -> None:
    old = Answer(2, controller="Karpenter", current=False, ready=True, provisioning={"reason": "RequiresNewCapacity"})
    assert word_of(AUTOSCALER, old) is Word.WAITING
    assert word_of(AUTOSCALER, None) is Word.WAITING


@pytest.mark.parametrize("controller", ["Cluster Autoscaler", "GKE", "Other"])
def test_other_autoscalers_do_not_tell(controller: str) -> None:
    assert word_of(AUTOSCALER, answer("Fake pods injected", controller=controller)) is Word.UNTOLD


def test_placeholders_may_have_any_autoscaler_and_nothing_makes_nodes_without_a_backend() -> None:
    assert word_of(Choice(backend=Backend.PLACEHOLDER), None) is Word.UNTOLD
    assert word_of(Choice(backend=Backend.NONE), None) is Word.NOBODY
