"""`moorage explain` says of the conformance cases what the API server said: which requests it refuses, and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.conftest import Moorage
from tests.unit.cli.test_native_cases import complete
from tests.unit.native_api import NAMESPACE, merged
from tests.unit.native_cases import CASES, PREREQUISITES, Case, Play

from moorage.quantity import parse_nano

JUDGED = ("Pod", "PersistentVolumeClaim", "Service", "Widget", "Secret")
NOT_OURS = {
    "adm-not-enforced-before-status": "the native quota is late on purpose",
    "adm-limited-resource-needs-quota": "an API server with limitedResources",
    "leak-already-exists": "the native quota charges what was never stored",
}
SURROUNDINGS = [each for each in complete(PREREQUISITES) if each["kind"] != "CustomResourceDefinition"]


class Judged(Play):
    """Plays a case and has every request judged before it is made."""

    def __init__(self, case: Case, moorage: Moorage) -> None:
        self.said: list[tuple[dict[str, Any], Any]] = []
        """Each step that was judged, and what was said of it."""
        self._moorage = moorage
        super().__init__(case)

    def _step(self, step: dict[str, Any]) -> None:
        if (manifest := self._manifest(step)) is not None:
            self.said.append((step, self._explain(manifest)))
        super()._step(step)

    def _manifest(self, step: dict[str, Any]) -> dict[str, Any] | None:
        if not is_judged(step):
            return None
        if "create" in step:
            return complete([step["create"]])[0]
        stored = self.api.objects[step["patch"]]
        return complete([merged(stored, step["with"], lists_by_name=step.get("type") == "strategic")])[0]

    def _explain(self, manifest: dict[str, Any]) -> Any:
        dump = Path("objects.yaml")
        dump.write_text(yaml.safe_dump_all([*SURROUNDINGS, *self.api.dump()]))
        arguments = ("-f", "-", "--objects", str(dump), "-n", NAMESPACE, "-o", "json")
        answer = self._moorage("explain", *arguments, stdin=yaml.safe_dump(manifest))
        assert answer.code in (0, 1), answer.err
        return answer.json


def is_judged(step: dict[str, Any]) -> bool:
    """Whether a step asks the API server for a verdict on an object that quotas count."""
    kind = step["create"]["kind"] if "create" in step else step.get("patch", "").partition("/")[0]
    return kind in JUDGED and step.get("sub") != "status" and step.get("type") != "json"


COVERED = sorted(
    name
    for name, case in CASES.items()
    if any(map(is_judged, case.get("steps", ())))
    and name not in NOT_OURS
    and not name.startswith("lr-")
    and "apiserver" not in case
)


def test_there_are_enough_of_them() -> None:
    assert len(COVERED) >= 14


@pytest.mark.parametrize("name", COVERED)
def test_the_verdict_is_that_of_the_api_server(
    moorage: Moorage, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = Judged(CASES[name], moorage).said
    assert said
    for step, answer in said:
        assert answer["verdict"] == ("Admitted" if step["verdict"] == "allowed" else "Refused"), step
        if "exceeded quota" in step.get("message", ""):
            assert exceeded(answer) == named(step["message"])
        elif "must specify" in step.get("message", ""):
            assert {each["step"] for each in answer["objects"][0]["failures"]} == {"specify"}


def exceeded(answer: Any) -> dict[str, tuple[int, int, int]]:
    """Return requested, used and hard of each name."""
    return {
        each["resource"]: (parse_nano(each["requested"]), parse_nano(each["used"]), parse_nano(each["hard"]))
        for each in answer["objects"][0]["failures"]
    }


def named(message: str) -> dict[str, tuple[int, int, int]]:
    """Return the same from the words of the API server."""
    parts = [
        dict(pair.split("=") for pair in re.search(rf"{word}: ([^ ]+?)(?:, \w+:|$)", message)[1].split(","))  # type: ignore[index]
        for word in ("requested", "used", "limited")
    ]
    return {name: tuple(parse_nano(part[name]) for part in parts) for name in parts[0]}  # type: ignore[misc]
