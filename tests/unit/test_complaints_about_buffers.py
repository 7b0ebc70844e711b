"""Complaints about other implementations of buffers that rules alone settle, one test each, named after the symptom.

Those that take a cluster are in tests/cluster/test_complaints_about_buffers.py.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from moorage.api import parse_capacity_buffer_spec
from moorage.api.capacitybuffer_status import CapacityBufferStatus
from moorage.backends.allocation import Allocation, documents
from moorage.backends.choice import Backend, Choice, Standby
from moorage.backends.warnings import Finding
from moorage.buffer.life import Life
from moorage.buffer.presence import Found, Refill, Use, refill, share, use
from moorage.buffer.quotas import Quota, share_out
from moorage.buffer.refill import Rule
from moorage.buffer.stabilization import Target
from moorage.density.groups import outlook
from moorage.density.packing import Fit
from moorage.resources import nano_of
from moorage.status.buffer_quotas import asking
from moorage.status.capacitybuffer import buffer_size, buffer_status
from moorage.status.presence import Sighting, TierSighting, with_presence
from moorage.status.provisioning import with_backend, with_findings
from moorage.status.workload import Workload
from tests.builders import nano, pod_spec
from tests.manifests.documents import BASE, CRDS
from tests.nodes import a_unit, node
from tests.unit.backends.templates import plan

WEB = {"scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": "web"}}
KARPENTER = Choice(backend=Backend.AUTOSCALER, controller="Karpenter", reason="it answers")
FULL = Refill(0, 0, 0, 0)


def units(workload: int | None = None, **spec: Any) -> int:
    """The size of a buffer for a workload of one-CPU pods."""
    size = buffer_size(parse_capacity_buffer_spec({**WEB, **spec}), Workload(pod_spec(cpu="1"), workload))
    return size.replicas if not isinstance(size, Exception) else -1


def status(replicas: int = 3, workload: Workload | None = None) -> CapacityBufferStatus:
    found = workload or Workload(pod_spec(cpu="1"), 10)
    return buffer_status(parse_capacity_buffer_spec({**WEB, "replicas": replicas}), found, generation=1)


def types(found: CapacityBufferStatus) -> dict[str, str]:
    return {each.type: each.status for each in found.conditions}


def test_a_small_percentage_takes_away_what_replicas_ask_for() -> None:
    """kubernetes/autoscaler#9948, kubernetes-sigs/karpenter#3125: the smaller of the two was taken."""
    assert units(100, replicas=50, percentage=20) == 50
    assert units(100, replicas=5, percentage=20) == 20


@pytest.mark.parametrize(("percentage", "workload", "size"), [(20, 1, 1), (33, 10, 4), (20, 0, 0)])
def test_a_small_workload_gets_no_buffer(percentage: int, workload: int, size: int) -> None:
    """kubernetes/autoscaler#9959: percentages were rounded down."""
    assert units(workload, percentage=percentage) == size


def test_a_buffer_of_limits_alone_is_never_ready() -> None:
    """kubernetes/autoscaler#9369: it became not ready after a change of the code."""
    assert units(limits={"cpu": "4"}) == 4
    spec = parse_capacity_buffer_spec({"podTemplateRef": {"name": "unit"}, "limits": {"cpu": "4"}})
    found = buffer_status(spec, Workload(pod_spec(cpu="1")), generation=1)
    assert types(found)["Ready"] == "True"


def test_writing_one_condition_erases_the_others() -> None:
    """kubernetes/autoscaler#9252."""
    found = with_backend(status(), KARPENTER, Allocation(active=3, standby=0))
    before = types(found)
    warned = with_findings(found, (Finding("SoftSpread", "pods crowd"),))
    sighting = Sighting(
        TierSighting(3, 3), TierSighting(0, 0), refill=FULL, outlook=outlook(a_unit(cpu="1"), [node()], {})
    )
    after = types(with_presence(warned, sighting, generation=1))
    assert before.items() <= after.items()
    assert after.keys() - before.keys() == {"Warning", "Provisioned", "Infeasible"}


def test_the_definition_is_installed_for_the_whole_cluster() -> None:
    """kubernetes/autoscaler#8824: buffers had no namespace."""
    for file in CRDS.glob("*.yaml"):
        assert yaml.safe_load(file.read_text())["spec"]["scope"] == "Namespaced"


@pytest.mark.parametrize("backend", [Backend.AUTOSCALER, Backend.PLACEHOLDER])
def test_units_have_no_namespace(backend: Backend) -> None:
    """kubernetes/autoscaler#8830: quotas and limits of the buffer's namespace did not hold for them."""
    choice = Choice(backend=backend, standby=Standby.UNSUPPORTED)
    made = documents(plan(), choice, Allocation(active=2, standby=0), version="v1beta1")
    assert made
    assert {each["metadata"]["namespace"] for each in made} == {plan().owner.namespace}


def test_there_is_no_ready_condition_for_common_alarms() -> None:
    """kubernetes/autoscaler#10080."""
    assert types(status())["Ready"] == "True"
    nothing = buffer_status(parse_capacity_buffer_spec(WEB), Workload(pod_spec(cpu="1"), 1), generation=1)
    assert types(nothing) == {"Ready": "False"}


def test_nobody_can_tell_how_much_of_a_buffer_exists() -> None:
    """kubernetes/autoscaler#10127, #9238: status had the size that is wanted, and no other number."""
    sighting = Sighting(
        TierSighting(3, 2, consumed=1), TierSighting(0, 0), refill=FULL, outlook=outlook(a_unit(cpu="1"), [node()], {})
    )
    found = with_presence(status(3), sighting, generation=1)
    assert (found.replicas, found.ready_replicas) == (3, 2)
    assert found.display is not None
    assert found.display.active == "2/3"


def test_an_operator_without_a_right_crashes_again_and_again() -> None:
    """kubernetes/autoscaler#9548 and others: charts gave no right to templates, quotas or trial pods."""
    rules = [
        rule
        for document in yaml.safe_load_all((BASE / "rbac.yaml").read_text())
        if document
        and document["kind"] == "ClusterRole"
        and document["metadata"]["name"].startswith("moorage-operator")
        for rule in document.get("rules") or ()
    ]
    given = {
        (verb, resource) for rule in rules for resource in rule.get("resources", ()) for verb in rule.get("verbs", ())
    }
    assert {
        ("create", "pods"),
        ("list", "podtemplates"),
        ("patch", "podtemplates"),
        ("list", "resourcequotas"),
        ("patch", "capacitybuffers"),
        ("patch", "capacitybuffers/status"),
        ("list", "nodes"),
    } <= given


def test_quotas_on_the_number_of_pods_are_ignored() -> None:
    """kubernetes-sigs/cluster-autoscaler#123: of four pods one was in use, and ten units were asked for."""
    asked = asking("buffer", pod_spec(cpu="1"), units=10, priority=0, created="")
    quota = Quota("ResourceQuota pods", hard=nano(pods="4"), used=nano(pods="1"))
    assert share_out([quota], [asked])["buffer"].units == 3


def test_a_unit_that_no_node_can_ever_hold_looks_like_one_that_waits_for_a_node() -> None:
    """kubernetes-sigs/karpenter#3223, #3318."""
    sighting = Sighting(
        TierSighting(3, 0),
        TierSighting(0, 0),
        refill=Refill(0, 0, 3, 0),
        outlook=outlook(a_unit(cpu="64"), [node(cpu="4")], {}),
        requests=(("cpu", nano_of("64")),),
    )
    found = with_presence(status(3), sighting, generation=1)
    [told] = [each for each in found.conditions if each.type == "Infeasible"]
    assert (told.status, told.reason) == ("True", "NoNodeFits")
    assert "cpu" in told.message


def test_a_kind_without_scale_cannot_be_served() -> None:
    """temporalio/temporal-worker-controller#509: its pods can be selected by their labels instead."""
    spec = parse_capacity_buffer_spec({"selector": {"matchLabels": {"app": "worker"}}, "percentage": 50})
    size = buffer_size(spec, Workload(pod_spec(cpu="1"), 7))
    assert not isinstance(size, Exception)
    assert size.replicas == 4


def test_nobody_knows_how_many_placeholders_are_enough_and_how_big_they_are_to_be() -> None:
    """kubernetes/kubernetes#73861: the number follows from a rate, the shape from the workload."""
    sizing = {"scaleUpRate": "0.5", "standbyResumeLatency": "0s", "coldNodeLatency": "60s"}
    found = buffer_status(
        parse_capacity_buffer_spec({**WEB, "sizing": sizing}), Workload(pod_spec(cpu="750m"), 3), generation=1
    )
    assert found.sizing is not None
    assert (found.replicas, dict(found.sizing.unit)) == (30, {"cpu": "750m"})


def test_a_buffer_keeps_the_nodes_that_it_is_sized_by_and_never_shrinks() -> None:
    """cluster-proportional-autoscaler#142, #128: a share of the nodes held the nodes, or they came and went.

    Here it is a share of the workload. So the cluster follows demand both ways, and stands still when demand does.
    """
    life, nodes, sizes = Life(), [], []
    demand = [100] * 5 + [20] * 20
    for minute, workload in enumerate(demand):
        wanted = units(workload, percentage=20)
        life, adjustment = life.step(
            Target(wanted, wanted), window_seconds=600, policy=Rule.ALWAYS, taken=0, now=minute * 60.0
        )
        sizes.append(adjustment.held.replicas if adjustment.held is not None else wanted)
        nodes.append(-(-(workload + sizes[-1]) // 10))
    assert sizes == [20] * 15 + [4] * 10, "what was wanted within ten minutes stays, and then it is let go"
    assert nodes[-1] == 3


def test_a_test_of_standby_right_after_the_start_measures_active_nodes() -> None:
    """agent-sandbox#1028 and others: standby nodes run for some minutes before they are suspended."""
    running = share(Found({"a": 2}, {"b": 3}, {}), 2)
    assert (running.suspended, use(running, 5)) == (0, Use(active=2, waiting=3, resumed=0, new=0))
    suspended = share(Found({"a": 2}, {}, {"b": 3}), 2)
    assert (suspended.suspended, use(suspended, 5)) == (3, Use(active=2, waiting=0, resumed=3, new=0))


def test_a_node_for_each_tier_is_counted_though_one_holds_both() -> None:
    """Rounding each tier up on its own buys a node too many: 60 and 120 units at 110 a node are two nodes."""
    sighting = Sighting(
        TierSighting(60, 60),
        TierSighting(120, 120),
        refill=FULL,
        outlook=outlook(a_unit(cpu="10m"), [node(cpu="64", pods="110")], {}),
    )
    sized = msgspec.structs.replace(
        status(180),
        active=msgspec.structs.replace(status(60).active, replicas=60),  # type: ignore[type-var]
        standby=msgspec.structs.replace(status(60).standby, replicas=120),  # type: ignore[type-var]
    )
    found = with_presence(sized, sighting, generation=1).nodes
    assert found is not None
    assert (found.units_per_node, found.active, found.standby) == (110, 1, 1)


def test_the_order_of_use_and_refill_is_left_to_the_reader() -> None:
    """Active units come back from standby, and standby from new nodes alone."""
    after = share(Found({"a": 0}, {"b": 1}, {"c": 4}), 3)
    assert refill(after, 3, 5) == Refill(from_waiting=0, from_suspended=2, active_from_new=0, standby_from_new=3)


def test_a_unit_that_is_capped_by_pods_is_told_to_be_short_of_cpu() -> None:
    """kubernetes/autoscaler#6086: what binds is named, be it the number of pods on a node."""
    [group] = outlook(a_unit(cpu="10m"), [node(cpu="64", pods="8")], {}).groups
    assert group.fit == Fit(8, "pods")
