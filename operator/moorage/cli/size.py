"""`moorage size`: the size of a buffer before anything is applied."""

from __future__ import annotations

from typing import Any

import click

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.buffer.promise import Counts
from moorage.buffer.quotas import Share
from moorage.buffer.size import Size, SizingError
from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.other_promises import other_promise
from moorage.cli.output import columns, emit, output_option
from moorage.cli.planned import planned_nodes
from moorage.cli.promised import from_options, promise_options
from moorage.cli.quotas import read_template
from moorage.cli.size_inputs import inputs_of, inputs_table
from moorage.cli.size_live import LiveBuffer, Named, live_buffer, live_options
from moorage.cli.size_room import QuotaFiles, quota_options
from moorage.objects import PodSpec
from moorage.status.buffer_quotas import limited_by_quotas
from moorage.status.capacitybuffer import buffer_size, unit_requests
from moorage.status.promise import attained_status, never_refills, promise_cut
from moorage.status.sizing import inputs, strategy_of
from moorage.status.workload import Workload


@click.command()
@live_options
@click.option("--rate", help="Scale-up rate in pods per second: 2, 0.5, or 120/m.")
@click.option("--resume", help="How long a standby node takes to resume, such as 30s.")
@click.option("--cold", help="How long a new node takes to come, such as 90s.")
@click.option("-f", "--filename", help="File with a CapacityBuffer instead of the three above; - for standard input.")
@click.option("--name", help="Which CapacityBuffer, when the file has several.")
@click.option("--template", help="File with a PodTemplate, workload or Pod: the shape of a unit, for spec.limits.")
@click.option("--workload-replicas", type=click.IntRange(min=0), help="Size of the workload, for spec.percentage.")
@quota_options
@promise_options
@output_option
def size(
    *,
    named: Named | None,
    quotas: QuotaFiles | None,
    rate: str | None,
    resume: str | None,
    cold: str | None,
    filename: str | None,
    name: str | None,
    template: str | None,
    workload_replicas: int | None,
    output: str,
    **promise: Any,
) -> int:
    """Say how many units a buffer would hold, in which tier, and why; of one from a file or a cluster, input by input.

    \b
    moorage size --rate 2 --resume 30s --cold 90s
    moorage size --rate 2 --resume 30s --cold 90s --percentile 99 --max-wait 1s
    moorage size --trace times.csv --resume 30s --cold 90s --percentile 99
    moorage size -f buffer.yaml --template deployment.yaml
    moorage size web -n team-a

    Exit code 0 with a size, 1 when what is given makes none, 2 for bad input.
    """
    promised = any(value is not None for value in promise.values())
    if named is not None:
        if promised or any((filename, rate, resume, cold, template, quotas, workload_replicas is not None)):
            raise BadInput(
                f"give either the name of a live buffer ({named.name}) or -f and what goes with it, not both"
            )
        return _explain_live(live_buffer(named), output)
    if filename is None and quotas is not None:
        raise BadInput("--quota goes with -f: it needs the buffer's namespace and the shape of a unit")
    if filename is None and (other := other_promise(rate, resume, cold, promise)) is not None:
        return _print(other, output)
    if filename is None:
        asked = from_options(rate, resume, cold, promise, workload_replicas)
        return _explain(asked.spec, Workload(None, workload_replicas, measured=asked.measured), output)
    if rate or resume or cold or promised:
        raise BadInput("give either -f or --rate, --resume, --cold and what goes with them, not both")
    spec, found, document = _spec_from_file(filename, name, template, workload_replicas)
    share = quotas.share(spec, found, document) if quotas is not None else None
    return _explain(spec, found, output, share=share, by_input=True)


def _explain(
    spec: CapacityBufferSpec, found: Workload, output: str, *, share: Share | None = None, by_input: bool = False
) -> int:
    """Explain a size; `share` is what the quotas that were given leave of it."""
    room = share.units if share is not None and share.shortages else None
    result = buffer_size(spec, found, room=room)
    if isinstance(result, SizingError):
        click.echo(f"moorage size: no size: {result}", err=True)
        return 1
    answer = _answer(spec, found, result)
    for warning in answer.get("warnings", ()):
        click.echo(f"moorage size: warning: {warning}", err=True)
    if by_input:
        answer["inputs"] = inputs_of(spec, found, result, room=room)
    if share is not None:
        answer["quotas"] = limited_by_quotas(share, 0).message
    if (nodes := planned_nodes(spec.nodes, found.template, active=result.active, standby=result.standby)) is not None:
        answer["nodes"] = nodes
    return _print(answer, output)


def _explain_live(live: LiveBuffer, output: str) -> int:
    """Explain a buffer of a cluster."""
    result = buffer_size(live.spec, live.found, room=live.room)
    if isinstance(result, SizingError) or live.why_unsized:
        click.echo(f"moorage size: no size: {live.why_unsized or result}", err=True)
        return 1
    if live.replicas not in (None, result.replicas):
        click.echo(
            f"moorage size: its status says {live.replicas}, which time decides: see status.sizing.explanation",
            err=True,
        )
    answer = {
        "replicas": result.replicas,
        "active": result.active,
        "standby": result.standby,
        "inForce": live.replicas,
        "boundBy": result.bound_by,
        "explanation": "; ".join([result.explanation, *live.notes]),
        "inputs": inputs_of(live.spec, live.found, result, room=live.room, units_per_node=live.units_per_node),
    }
    return _print(answer, output)


def _print(answer: dict[str, Any], output: str) -> int:
    emit(answer, output, lambda: _table(answer))
    return 0


def _answer(spec: CapacityBufferSpec, found: Workload, result: Size) -> dict[str, Any]:
    answer = {
        "replicas": result.replicas,
        "active": result.active,
        "standby": result.standby,
        "method": "Fixed",
        "boundBy": result.bound_by,
        "explanation": result.explanation,
    }
    asked, strategy = inputs(spec, found.measured), strategy_of(spec)
    if asked is None or spec.sizing is None:
        return answer
    method = asked.scale_up.method
    answer["method"] = "Mean" if method is None else method.name
    if (attained := attained_status(asked.scale_up.attained(result, strategy), asked.promise)) is not None:
        answer["attained"] = {"percentile": float(attained.percentile), "maxWait": attained.max_wait}
    if asked.sources:
        answer["sources"] = asked.sources
    if asked.prices is not None:
        answer["costPerMonth"] = round(float(asked.prices.per_month(Counts(result.active, result.replicas))), 2)
    cut, refill = promise_cut(asked, result, strategy), never_refills(asked, spec.sizing.creation_limit)
    if warnings := [each for each in (cut, refill, asked.few_days) if each]:
        answer["warnings"] = warnings
    return answer


def _table(answer: dict[str, Any]) -> str:
    rows = [(name, str(answer[name])) for name in ("replicas", "active", "standby")]
    if "attained" in answer and answer["method"] != "Mean":
        attained = answer["attained"]
        rows.append(("attained", f"{attained['percentile']:g}% wait at most {attained['maxWait']}"))
    if "costPerMonth" in answer:
        rows.append(("cost per month", f"{answer['costPerMonth']:.2f}"))
    told = [answer["explanation"], *([answer["quotas"]] if "quotas" in answer else [])]
    if nodes := answer.get("nodes"):
        told.append("nodes: " + "; ".join(f"{name} {value}" for name, value in nodes.items()))
    return f"{columns(rows)}\n\n" + "\n".join(told) + inputs_table(answer.get("inputs") or [])


def _spec_from_file(
    filename: str, name: str | None, template: str | None, workload_replicas: int | None
) -> tuple[CapacityBufferSpec, Workload, Document]:
    documents = read_documents([filename])
    buffers = [each for each in documents if each.kind == "CapacityBuffer" and name in (None, each.name)]
    if len(buffers) != 1:
        which = f"{len(buffers)} CapacityBuffers" if buffers else "no CapacityBuffer"
        raise BadInput(f"{filename} holds {which}{f' named {name}' if name else ''}; name one with --name")
    try:
        spec = parse_capacity_buffer_spec(buffers[0].spec)
    except SpecError as error:
        raise BadInput(f"{buffers[0].label}: {error}") from error
    others = read_documents([template]) if template is not None else documents
    return spec, _workload(spec, others, workload_replicas, named=template is not None), buffers[0]


def _shape(document: Document) -> PodSpec:
    shape = read_template(document).spec
    try:
        unit_requests(shape)
    except ValueError as error:
        raise BadInput(f"{document.label}: the pod template's amounts: {error}") from error
    return shape


def _workload(
    spec: CapacityBufferSpec, documents: list[Document], workload_replicas: int | None, *, named: bool
) -> Workload:
    """Find what the buffer refers to among the documents; a file named with --template holds it whatever its name."""
    kind, name = None, None
    if spec.pod_template_ref is not None:
        kind, name = "PodTemplate", spec.pod_template_ref.name
    elif spec.scalable_ref is not None:
        kind, name = spec.scalable_ref.kind, spec.scalable_ref.name
    match = [each for each in documents if (each.kind, each.name) == (kind, name)]
    if named and not match:
        match = documents[:1]
    shape: PodSpec | None = _shape(match[0]) if match else None
    replicas = workload_replicas
    if replicas is None and match and spec.scalable_ref is not None:
        given = match[0].spec if isinstance(match[0].spec, dict) else {}
        found = given.get("parallelism" if match[0].kind == "Job" else "replicas", 1)
        replicas = found if isinstance(found, int) else None
    has_size = spec.scalable_ref is not None or spec.selector is not None
    if spec.percentage is not None and has_size and replicas is None:
        raise BadInput(
            "spec.percentage needs the size of the workload: give --workload-replicas or the workload itself"
        )
    return Workload(shape, replicas)
