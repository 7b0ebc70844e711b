"""What is looked for on nodes is made of pod templates; one that cannot be read says so and disturbs no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from moorage.backends.allocation import Allocation
from moorage.backends.choice import Backend
from moorage.backends.plan import Owner, Plan
from moorage.backends.word import Word
from moorage.handlers.sight import Wish
from moorage.handlers.sought import Sought
from moorage.handlers.wishes import Wishes
from moorage.status.presence import Unseen
from tests.unit.backends.templates import app, template

GOOD, BAD = ("team-a", "good"), ("team-a", "bad")


class World:
    """Buffers with a size, by key, as much of them as wishes are made of."""

    def __init__(self, **templates: dict[str, Any]) -> None:
        self.templates = templates
        buffers = SimpleNamespace(by_choice=lambda: [("team-a", name) for name in self.templates], unit=lambda *_: None)
        provisioning = SimpleNamespace(sought=self._sought)
        self.wishes = Wishes(cast("Any", buffers), cast("Any", provisioning), cast("Any", None), lambda _: {})

    def _sought(self, key: tuple[str, str]) -> Sought:
        found = self.templates[key[1]]
        plan = Plan(Owner(*key, "uid"), found)
        return Sought(plan, msgspec.json.encode(found), Backend.NONE, Allocation(active=2, standby=0), Word.NOBODY)


@pytest.mark.parametrize(
    ("unreadable", "complaint"),
    [
        (template(app(requests={"cpu": "some"})), "'some' is not a quantity"),
        (template(affinity="zone-a"), "Expected `object"),
        (template(tolerations=[{"key": 1}]), "Expected `str"),
    ],
    ids=["amount", "affinity", "toleration"],
)
def test_a_template_that_cannot_be_read_is_named_until_it_can(unreadable: dict[str, Any], complaint: str) -> None:
    world = World(bad=unreadable, good=template())
    found = world.wishes()
    assert isinstance(found[GOOD], Wish)
    unseen = found[BAD]
    assert isinstance(unseen, Unseen)
    assert (unseen.reason, unseen.pending) == ("UnitUnreadable", False)
    assert unseen.message.startswith("the pod template of a unit cannot be read: ")
    assert complaint in unseen.message
    world.templates["bad"] = template()
    assert isinstance(world.wishes()[BAD], Wish)


def test_a_unit_stays_the_same_value_while_its_template_does() -> None:
    world = World(good=template())

    def unit() -> object:
        wish = world.wishes()[GOOD]
        assert isinstance(wish, Wish)
        return wish.unit

    before = unit()
    assert unit() is before
    world.templates["good"] = template(app(requests={"cpu": "2"}))
    assert unit() is not before
