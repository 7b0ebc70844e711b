"""`moorage require`: policies by which some objects need a quota that covers them."""

from __future__ import annotations

import pytest
import yaml
from tests.unit.cli.conftest import Moorage


def test_it_prints_a_pair_of_policies_with_their_bindings(moorage: Moorage) -> None:
    documents = list(yaml.safe_load_all(moorage("require", "--priority-class", "high").out))
    name = "moorage-covered.priority-class.high"
    assert [(each["kind"], each["metadata"]["name"]) for each in documents] == [
        ("MutatingAdmissionPolicy", name),
        ("MutatingAdmissionPolicyBinding", name),
        ("ValidatingAdmissionPolicy", name),
        ("ValidatingAdmissionPolicyBinding", name),
    ]
    needs = {"needs-quota.moorage.dev/priority-class.high": "true"}
    assert documents[2]["spec"]["matchConstraints"]["objectSelector"] == {"matchLabels": needs}
    assert documents[3]["spec"]["paramRef"] == {
        "selector": {"matchLabels": {"covers.moorage.dev/priority-class.high": "true"}},
        "parameterNotFoundAction": "Deny",
    }


def test_several_demands_are_printed_together(moorage: Moorage) -> None:
    printed = moorage("require", "--priority-class", "a", "--storage-class", "b", "--cross-namespace-affinity").out
    names = {each["metadata"]["name"] for each in yaml.safe_load_all(printed)}
    assert names == {
        "moorage-covered.priority-class.a",
        "moorage-covered.storage-class.b",
        "moorage-covered.cross-namespace-affinity",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "say what needs a quota"), (["--priority-class", 'a"b'], "is no name of a class")],
)
def test_input_that_cannot_be_used_is_said(moorage: Moorage, arguments: list[str], said: str) -> None:
    result = moorage("require", *arguments)
    assert (result.code, said in result.err) == (2, True)
