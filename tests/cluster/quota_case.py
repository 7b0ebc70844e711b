"""Plays a case of quota-cases.yaml on a real cluster: the native quota beside ours, and what both say on the way.

What the case says of the native quota (verdicts, messages, usage) must hold too: else a comparison would prove little.
"""

from __future__ import annotations

import json
import re
import secrets
import string
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.cluster.case_objects import VERSIONS, Case, completed, contains
from tests.cluster.crds import OURS
from tests.cluster.native import (
    NSQ,
    RQ,
    amounts,
    native_quota,
    native_status,
    new_namespace,
    our_quota,
    our_status,
    recount,
    remove_namespace,
    used,
    wait_until_recounted,
)
from tests.cluster.objects import condition
from tests.cluster.rest import Answer, Object, Rest
from tests.controlplane.waiting import BUSY_FACTOR, wait_for

SETTLE_SECONDS = 30.0
OURS_SECONDS = 2.0
"""Ours counts what is stored within one; the rest is for a busy machine."""
REFUSAL = re.compile(r"exceeded quota: (?P<quota>[^,]+), requested: .+, used: (?P<used>.+), limited: ")
DISCOVERY_SECONDS = 90.0
"""The native controller looks for new kinds every 30 seconds."""


class CasePlay:
    """One case on its way.

    `right` is what ours must say at each look at the status where the native one is late. `accepted`: ours takes a
    quota that the native one refuses. `pause` and `resume` freeze the native controller; only some cases need that.
    `slower` multiplies grace periods and pauses, where what is right is so for seconds only.
    """

    def __init__(
        self, rest: Rest, case: Case, *, right: Iterable[Mapping[str, Any]] | None = None, accepted: bool = False,
        pause: Callable[[], None] | None = None, resume: Callable[[], None] | None = None, slower: int = 1,
    ) -> None:  # fmt: skip
        self.comparisons = 0
        self.verdicts = 0
        self.tolerated = 0
        """How often the native quota let in what it has to refuse, being behind."""
        self._rest = rest
        self._case = case
        self._right = iter(right) if right is not None else None
        self._accepted = accepted
        self._pause, self._resume = pause, resume
        self._slower = slower
        self._paused = False
        self._held: list[Object] = []
        self._cluster: list[Object] = []
        self._quotas: list[str] = []
        self._words: dict[str, str] = {}

    def run(self) -> None:
        """Play it from start to end; raises AssertionError or TimeoutError."""
        self._ns = new_namespace(self._rest)
        self._words = {"$NS": self._ns, "$RND": "".join(secrets.choice(string.ascii_lowercase) for _ in range(6))}
        try:
            self._set_up()
            for step in self._case.get("steps", ()):
                self._step(step)
            self._check_end()
        finally:
            self._clean_up()

    def _set_up(self) -> None:
        case = self._case
        if "limitRange" in case:
            limits = {"kind": "LimitRange", "metadata": {"name": "lr"}, "spec": {"limits": case["limitRange"]}}
            self._create(limits).require()
        for manifest in case.get("cluster", ()):
            whole = completed(manifest, self._words)
            self._rest.create("", whole).require()
            self._cluster.append(whole)
        first, second = self._create_quotas, self._create_objects
        if case.get("order") == "objects-first":
            first, second = second, first
        first()
        second()

    def _create_quotas(self) -> None:
        case = self._case
        quotas = case.get("quotas") or ({"q": case["quota"]} if "quota" in case else {})
        for name, spec in quotas.items():
            self._create_quota(name, spec, verdict=case["expect"].get("quotaVerdict", "allowed"))
        for name in self._quotas:
            self._wait_until_in_force(name)

    def _create_quota(self, name: str, spec: Object, *, verdict: str = "allowed") -> None:
        spec = completed({"kind": RQ, "spec": spec}, self._words)["spec"]
        native = self._rest.create(self._ns, native_quota(name, spec))
        self._assert_verdict(native, verdict, self._case["expect"])
        ours = self._rest.create(self._ns, our_quota(name, spec))
        said = f"ours says {ours.code} {ours.message}, and the native one {native.code} {native.message}"
        assert ours.ok == (native.ok or self._accepted), said
        if native.ok:
            self._quotas.append(name)

    def _create_objects(self) -> None:
        for manifest in self._case.get("objects", ()):
            self._assert_verdict(self._create_once_known(manifest), self._case["expect"].get("verdict", "allowed"), {})

    def _create(self, manifest: Object) -> Answer:
        whole = completed(self._with_uids(manifest), self._words)
        status = whole.pop("status", None)
        namespace = "" if whole["kind"] == "CustomResourceDefinition" else self._ns
        answer = self._rest.create(namespace, whole)
        if answer.ok:
            (self._held if namespace else self._cluster).append(whole)
        if answer.ok and status is not None:
            name, version = whole["metadata"]["name"], whole["apiVersion"]
            patched = self._rest.patch(self._ns, whole["kind"], name, {"status": status}, version=version, sub="status")
            patched.require()
        return answer

    def _with_uids(self, manifest: Object) -> Object:
        text = json.dumps(manifest)
        while "$UID:" in text:
            word = text[text.index("$UID:") :].split('"')[0]
            kind, _, name = word.removeprefix("$UID:").partition("/")
            text = text.replace(word, self._rest.get(self._ns, kind, name).require()["metadata"]["uid"])
        whole: Object = json.loads(text)
        return whole

    # Steps

    def _step(self, step: Object) -> None:
        match step:
            case {"create": {"kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}}:
                self._create_quota(name, spec, verdict=step["verdict"])
            case {"create": manifest}:
                create = self._create_once_known if step["verdict"] == "allowed" else self._create_in_vain
                self._assert_verdict(create(manifest), step["verdict"], step)
            case {"patch": what, "with": changes}:
                kind, _, name = what.partition("/")
                self._assert_verdict(self._patch_in_time(kind, name, changes, step), step["verdict"], step)
            case {"delete": what}:
                kind, _, name = what.partition("/")
                grace = step["grace"] * self._slower if "grace" in step else None
                self._rest.delete(self._ns, kind, name, VERSIONS.get(kind, "v1"), grace=grace).require()
            case {"sleep": seconds}:
                self._sleep(seconds)
            case {"waitPhase": what, "phase": phase}:
                kind, _, name = what.partition("/")
                self._wait(
                    lambda: self._rest.get(self._ns, kind, name).require()["status"].get("phase") == phase,
                    f"{what} {phase}",
                )
            case {"waitAdmitted": manifest}:
                whole = completed(manifest, self._words)
                self._wait(lambda: self._rest.create(self._ns, whole, dryRun="All").ok, f"{manifest} to be admitted")
            case {"waitSync": name}:
                self._wait_until_in_force(name)
            case {"recount": True}:
                recount(self._rest, self._ns, *self._quotas)
            case {"pauseController": True} | {"resumeController": True}:
                self._freeze("pauseController" in step)
            case {"used": native}:
                self._look(native, within=step.get("within", 5))
            case _:
                raise NotImplementedError(step)

    def _freeze(self, paused: bool) -> None:
        """Have the native controller stop, or go on and catch up."""
        switch = self._pause if paused else self._resume
        assert switch is not None
        switch()
        self._paused = paused
        if not paused:
            self._wait_until_native_is_right()

    def _create_once_known(self, manifest: Object) -> Answer:
        """Create; of a kind that the native controller has yet to discover, once that has happened.

        Nor does a refusal count that rests on an older usage than the quota shows by now.
        """
        deadline = time.monotonic() + DISCOVERY_SECONDS * BUSY_FACTOR
        while True:
            answer = self._create(manifest)
            unknown = "status unknown for quota" in answer.message
            if not (unknown or self._is_late(answer)) or time.monotonic() > deadline:
                return answer
            if unknown:
                time.sleep(1)
                recount(self._rest, self._ns, *self._quotas)

    def _create_in_vain(self, manifest: Object) -> Answer:
        """Create what has to be refused; not at once where the native controller has just counted from an old list.

        It then takes back what admission had charged (kubernetes/kubernetes#123434). That is believed only when the
        native quota is shown to be behind, and ours says meanwhile that the object is too much.
        """
        deadline = time.monotonic() + SETTLE_SECONDS * BUSY_FACTOR
        while (answer := self._create(manifest)).ok and self._quotas and not self._paused:
            before = {name: used(native_status(self._rest, self._ns, name)) for name in self._quotas}
            self._assert_behind(before, manifest)
            self.tolerated += 1
            assert time.monotonic() < deadline, f"the native quota is behind again and again: {before}"
            whole = self._held.pop()
            kind, name, version = whole["kind"], whole["metadata"]["name"], whole["apiVersion"]
            self._rest.delete(self._ns, kind, name, version, grace=0).require()
            recount(self._rest, self._ns, *self._quotas)
        return answer

    def _assert_behind(self, native: Mapping[str, Mapping[str, int]], manifest: Object) -> None:
        """Ours counts more than is allowed, and of just that the native quota knew less, or knows it too by now."""

        def proved() -> bool:
            for quota, seen in native.items():
                ours = self._rest.get(self._ns, NSQ, quota, OURS).require()
                hard, counted = amounts(ours["spec"].get("hard", {})), used(ours.get("status", {}))
                over = {name for name, amount in counted.items() if name in hard and amount > hard[name]}
                if any(seen.get(name, 0) <= hard[name] or seen[name] == counted[name] for name in over):
                    return True
            return False

        self._wait(
            proved,
            lambda: (
                f"a reason to refuse {manifest}, which was admitted: no quota of ours has less room than it takes; "
                f"the native ones said {native}, ours say "
                f"{ {name: our_status(self._rest, self._ns, name) for name in native} }"
            ),
            timeout=OURS_SECONDS,
        )

    def _is_late(self, answer: Answer) -> bool:
        """Whether a quota refused by a usage that its status does not show any more: admission has caches."""
        named = REFUSAL.search(answer.message)
        if named is None:
            return False
        seen = amounts(dict(each.split("=") for each in named["used"].split(",")))
        stored = used(native_status(self._rest, self._ns, named["quota"]))
        return any(stored.get(name) != amount for name, amount in seen.items())

    def _patch_in_time(self, kind: str, name: str, changes: Any, step: Object) -> Answer:
        deadline = time.monotonic() + SETTLE_SECONDS * BUSY_FACTOR
        answer = self._patch(kind, name, changes, step)
        while step["verdict"] == "allowed" and self._is_late(answer) and time.monotonic() < deadline:
            answer = self._patch(kind, name, changes, step)
        return answer

    def _patch(self, kind: str, name: str, changes: Any, step: Object) -> Answer:
        changes = json.loads(json.dumps(changes).replace("$NS", self._ns))
        how = step.get("type", "merge")
        answer = self._rest.patch(
            self._ns, kind, name, changes, version=VERSIONS.get(kind, "v1"), sub=step.get("sub", ""), how=how
        )
        if answer.ok:
            self._rest.wait_until_cached(answer.body)
        if answer.ok and kind == RQ:
            self._rest.patch(self._ns, NSQ, name, changes, version=OURS, how=how).require()
        return answer

    def _sleep(self, seconds: float) -> None:
        """Sleep as the case says, save for what another step waits for anyway."""
        if seconds <= 10:
            time.sleep(seconds * self._slower)

    # What is said

    def _look(self, native: Object, *, within: float) -> None:
        """Compare both with what the native status shows now, or ours with what is right where the two differ."""
        right = native if self._right is None else next(self._right)
        for name, expected in self._by_quota(right).items():
            self._expect_ours(name, expected)
        for name, expected in self._by_quota(native).items():
            self._expect(name, expected, native_status, "the native", timeout=within)

    def _check_end(self) -> None:
        expect = self._case["expect"]
        for what, parts in expect.get("stored", {}).items():
            kind, _, name = what.partition("/")
            self._wait(lambda kind=kind, name=name, parts=parts: contains(self._get(kind, name), parts), what)
        expected = self._by_quota(expect.get("used", {}))
        for name, each in expected.items():
            self._expect_ours(name, each)
        for name in expect.get("absent", ()):
            self._assert_absent(name)
        for name, each in expected.items():
            recount(self._rest, self._ns, name, timeout=SETTLE_SECONDS)
            self._expect(name, each, native_status, "the native", timeout=5, again=True)
            self._expect_ours(name, each)

    def _expect_ours(self, name: str, expected: Mapping[str, Any]) -> None:
        self._expect(name, expected, our_status, "our", timeout=SETTLE_SECONDS)
        self.comparisons += len(expected)

    def _expect(
        self, name: str, expected: Mapping[str, Any], status: Callable[[Rest, str, str], Object], whose: str, *,
        timeout: float, again: bool = False,
    ) -> None:  # fmt: skip
        """Wait until a quota says this of the names in question; `again`: a recount may have come too early."""

        def says() -> bool:
            found = used(status(self._rest, self._ns, name))
            if all(found.get(each) == amount for each, amount in amounts(expected).items()):
                return True
            if again:
                recount(self._rest, self._ns, name)
            return False

        self._wait(
            says,
            lambda: f"{whose} {name} at {dict(expected)}; it says {status(self._rest, self._ns, name)}",
            timeout=timeout,
        )

    def _assert_absent(self, resource: str) -> None:
        """A name that nothing tracks is missing in both, and ours says so."""
        for name in self._quotas:
            self._wait(
                lambda name=name: condition(our_status(self._rest, self._ns, name), "Ready").get("status") == "False",
                lambda name=name: f"our {name} not to be ready; it says {our_status(self._rest, self._ns, name)}",
            )
            ours = our_status(self._rest, self._ns, name)
            assert resource not in ours["used"]
            assert resource not in native_status(self._rest, self._ns, name)["used"]
            ready = condition(ours, "Ready")
            assert ready["status"] == "False"
            assert resource.removeprefix("count/") in ready["message"]
            self.comparisons += 1

    def _assert_verdict(self, answer: Answer, verdict: str, expected: Mapping[str, Any]) -> None:
        assert answer.ok == (verdict == "allowed"), f"{answer.code} {answer.message}"
        self.verdicts += 1
        if not answer.ok:
            assert answer.code == expected.get("code", answer.code), answer.message
            assert answer.message == self._filled(expected.get("message", answer.message))
            assert self._filled(expected.get("messageContains", "")) in answer.message

    def _filled(self, text: str) -> str:
        for word, value in self._words.items():
            text = text.replace(word, value)
        return text

    # What is waited for

    def _wait_until_in_force(self, name: str) -> None:
        if not self._paused:
            wait_until_recounted(self._rest, self._ns, name, timeout=SETTLE_SECONDS)

        def counted() -> bool:
            found = self._rest.get(self._ns, NSQ, name, OURS).require()
            return bool(found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"])

        self._wait(counted, f"our {name} to be taken in")

    def _wait_until_native_is_right(self) -> None:
        """Let the native controller catch up with what happened while it was frozen."""
        for name in self._quotas:
            self._wait_until_in_force(name)
        for name, each in self._by_quota(self._case["expect"]["used"]).items():
            self._expect(name, each, native_status, "the native", timeout=SETTLE_SECONDS, again=True)
        recount(self._rest, self._ns, *self._quotas)

    def _wait(
        self, what: Callable[[], bool], message: str | Callable[[], str], *, timeout: float = SETTLE_SECONDS
    ) -> None:
        wait_for(what, timeout=timeout, message=message)

    def _by_quota(self, found: Mapping[str, Any]) -> dict[str, Object]:
        """Return what is said by quota, with the words put in; a case with one quota leaves its name out."""
        whole: dict[str, Object] = dict(found) if "quotas" in self._case else {"q": dict(found)} if found else {}
        return {quota: {self._filled(name): text for name, text in each.items()} for quota, each in whole.items()}

    def _get(self, kind: str, name: str) -> Object:
        return self._rest.get(self._ns, kind, name, VERSIONS.get(kind, "v1")).require()

    def _clean_up(self) -> None:
        if self._paused and self._resume is not None:
            self._resume()
        for each in self._held:
            if each["metadata"].get("finalizers"):
                nothing = {"metadata": {"finalizers": None}}
                name, version = each["metadata"]["name"], each["apiVersion"]
                self._rest.patch(self._ns, each["kind"], name, nothing, version=version)
        for each in self._cluster:
            self._rest.delete("", each["kind"], each["metadata"]["name"], each["apiVersion"])
        remove_namespace(self._rest, self._ns)
