"""What is sent to prove a quota's policies, and which answers prove them."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.admission.probe import Probe, probes
from moorage.quota.admission import QuotaState
from moorage.quota.bounds import Limits
from moorage.quota.scopes import Requirement
from tests.builders import nano

DENIED = "pods \"p\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: "
SAID = DENIED.format(policy="moorage-pods") + "NamespaceQuota team: "
MAX = "maximum cpu per Container is 1, but container breaking requests 2 and has a limit of 2"
NOTHING = "filled in: nothing"


def quota(*limits: Limits, requirements: tuple[Requirement, ...] = (), **hard: str) -> QuotaState:
    return QuotaState("team", hard=nano(**hard), requirements=requirements, limits=limits)


def entry(of_type: str = "Container", **fields: dict[str, str]) -> Limits:
    return Limits(of_type, **{name: nano(**amounts) for name, amounts in fields.items()})


def only(state: QuotaState) -> Probe:
    [found] = probes(state)
    return found


def resources(probe: Probe) -> dict[str, Any]:
    return {each["name"]: each["resources"] for each in probe.body["spec"]["containers"]}


class TestWhatIsSent:
    def test_a_pod_above_every_maximum(self) -> None:
        probe = only(quota(entry(max={"cpu": "1500m", "memory": "1Gi"}), entry("Pod", max={"cpu": "4"})))
        above = {"cpu": "5", "memory": "1073741825"}
        assert resources(probe) == {"breaking": {"requests": above, "limits": above}, "silent": {}}
        assert probe.expected == {
            ("maximum", "cpu", "Container", "1500m", "breaking"),
            ("maximum", "memory", "Container", "1073741824", "breaking"),
            ("maximum", "cpu", "Pod", "4", ""),
        }

    def test_another_one_below_every_minimum(self) -> None:
        high, low = probes(quota(entry(max={"cpu": "1"}, min={"cpu": "10m"}, max_limit_request_ratio={"memory": "2"})))
        assert resources(high)["breaking"]["requests"] == {"cpu": "2"}
        assert resources(low)["breaking"] == {
            "requests": {"cpu": "0", "memory": "0"},
            "limits": {"cpu": "0", "memory": "0"},
        }
        assert low.expected == {
            ("minimum", "cpu", "Container", "10m", "breaking"),
            ("maximum ratio of limit to request of", "memory", "Container", "2", "breaking"),
        }

    def test_whole_pages_beside_some_cpu(self) -> None:
        assert resources(only(quota(entry(max={"hugepages-2Mi": "5Mi"}))))["breaking"]["limits"] == {
            "cpu": "1",
            "hugepages-2Mi": "6Mi",
        }

    @pytest.mark.parametrize("name", ["hugepages-huge", "requests.cpu/x.kubernetes.io/y"])
    def test_nothing_that_no_pod_can_ask_for(self, name: str) -> None:
        assert resources(only(quota(entry(max={name: "5Mi"})))) == {"silent": {}}

    def test_a_silent_pod_where_amounts_are_demanded(self) -> None:
        probe = only(quota(**{"requests.cpu": "2", "pods": "6"}))
        assert (resources(probe), probe.expected) == ({"silent": {}}, {("must specify", "requests.cpu")})

    def test_nothing_is_demanded_outside_of_the_scopes(self) -> None:
        high = Requirement("PriorityClass", "In", frozenset({"high"}))
        assert probes(quota(requirements=(high,), **{"requests.cpu": "2"})) == []

    @pytest.mark.parametrize("hard", [{}, {"pods": "6"}, {"count/secrets": "6"}])
    def test_nothing_where_no_policy_has_anything_to_do(self, hard: dict[str, str]) -> None:
        assert probes(quota(**hard)) == []

    def test_claims_on_either_side_of_their_bounds(self) -> None:
        found = probes(quota(entry("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "10Gi"})))
        asked = [each.body["spec"]["resources"]["requests"]["storage"] for each in found]
        assert ([each.plural for each in found], asked) == (["persistentvolumeclaims"] * 2, ["10737418241", "1"])
        assert [sorted(each.expected) for each in found] == [
            [("maximum", "storage", "PersistentVolumeClaim", "10737418240", "")],
            [("minimum", "storage", "PersistentVolumeClaim", "1073741824", "")],
        ]

    def test_it_names_its_quota_and_passes_the_restricted_profile(self) -> None:
        body = only(quota(entry(max={"cpu": "1"}))).body
        assert body["metadata"]["annotations"] == {"moorage.dev/probe": "team"}
        for container in body["spec"]["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            }


class TestAnswers:
    BOUNDED = only(quota(entry(max={"cpu": "1"})))
    DEFAULTING = only(quota(entry(default={"memory": "512Mi"}, default_request={"cpu": "200m"})))
    DEMANDING = only(quota(**{"requests.cpu": "2"}))

    @pytest.mark.parametrize(
        ("probe", "said"),
        [
            pytest.param(BOUNDED, f"{MAX}; {NOTHING}", id="the-bound"),
            pytest.param(BOUNDED, f"{MAX.replace('is 1,', 'is 1000m,')}; {NOTHING}", id="in-another-spelling"),
            pytest.param(
                BOUNDED, f"maximum cpu per Container is 1, but container sidecar requests 9; {MAX}", id="more"
            ),
            pytest.param(
                DEFAULTING,
                "filled in: by team: injected limits.memory=1Gi, silent requests.cpu=0.2 limits.memory=512Mi",
                id="defaults",
            ),
            pytest.param(
                DEFAULTING,
                "filled in: by team: silent requests.cpu=200m; LimitRanger plugin set: memory limit for silent",
                id="a-limit-range-was-first",
            ),
            pytest.param(DEMANDING, f"must specify requests.cpu for silent; {NOTHING}", id="the-demand"),
            pytest.param(DEMANDING, f"{NOTHING}; LimitRanger plugin set: cpu request for silent", id="met-by-another"),
        ],
    )
    def test_it_is_proved_by_what_the_spec_asks_for(self, probe: Probe, said: str) -> None:
        assert probe.why_not_proved(SAID + said) == ""

    @pytest.mark.parametrize(
        ("probe", "answer", "why"),
        [
            pytest.param(
                BOUNDED,
                SAID + NOTHING,
                "policy moorage-pods does not yet say: maximum cpu Container 1 breaking",
                id="nothing-was-said",
            ),
            pytest.param(
                BOUNDED,
                SAID + MAX.replace("is 1,", "is 3,"),
                "policy moorage-pods does not yet say: maximum cpu Container 1 breaking",
                id="an-older-bound",
            ),
            pytest.param(
                DEFAULTING,
                SAID + NOTHING,
                "policy moorage-defaults does not yet fill in limits.memory=536870912, requests.cpu=200m",
                id="nothing-filled-in",
            ),
            pytest.param(
                DEFAULTING,
                SAID + "filled in: by team: silent requests.cpu=200m requests.memory=1Gi limits.memory=512Mi",
                "policy moorage-defaults still fills in requests.memory=1073741824",
                id="more-than-the-spec-says",
            ),
            pytest.param(
                BOUNDED,
                f"{SAID}{MAX}; filled in: by team: silent requests.cpu=200m",
                "policy moorage-defaults still fills in requests.cpu=200m",
                id="what-another-quota-fills-in-for-both",
            ),
            pytest.param(
                DEMANDING,
                SAID + NOTHING,
                "policy moorage-pods does not yet say: must specify requests.cpu",
                id="no-demand",
            ),
            pytest.param(
                BOUNDED,
                SAID.replace("team", "other") + MAX,
                "something else refused the probe of policy moorage-pods",
                id="another-quota",
            ),
            pytest.param(
                DEMANDING,
                'pods "p" is forbidden: failed quota: moorage-team: must specify requests.cpu for: silent',
                "policy moorage-pods is not in force: its probe got as far as pods",
                id="the-quota-refused-after-all",
            ),
            pytest.param(
                BOUNDED,
                'pods "p" is forbidden: violates PodSecurity',
                "something else refused the probe of policy moorage-pods: pods",
                id="something-else",
            ),
        ],
    )
    def test_it_is_not_by_anything_else(self, probe: Probe, answer: str, why: str) -> None:
        assert probe.why_not_proved(answer).startswith(why)
