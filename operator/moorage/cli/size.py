"""`moorage size`: the size of a buffer before anything is applied."""

from __future__ import annotations

from typing import Any

import click

from moorage.api import SpecError, parse_capacity_buffer_spec
from moorage.api.capacitybuffer import CapacityBufferSizing, CapacityBufferSpec
from moorage.buffer.rate import parse_duration, parse_rate
from moorage.buffer.sizing import SizingError
from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.output import columns, emit, output_option
from moorage.cli.planned import planned_nodes
from moorage.cli.quotas import read_template
from moorage.cli.size_inputs import inputs_of, inputs_table
from moorage.cli.size_live import LiveBuffer, Named, live_buffer, live_options
from moorage.cli.size_room import QuotaFiles, quota_options
from moorage.objects import PodSpec
from moorage.status.buffer_quotas import limited_by_quotas
from moorage.status.capacitybuffer import buffer_size
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
) -> int:
    """Say how many units a buffer would hold, in which tier, and why; of one from a file or a cluster, input by input.

    \b
    moorage size --rate 2 --resume 30s --cold 90s
    moorage size -f buffer.yaml --template deployment.yaml
    moorage size web -n team-a

    Exit code 0 with a size, 1 when what is given makes none, 2 for bad input.
    """
    if named is not None:
        if any((filename, rate, resume, cold, template, quotas, workload_replicas is not None)):
            raise BadInput(
                f"give either the name of a live buffer ({named.name}) or -f and what goes with it, not both"
            )
        return _explain_live(live_buffer(named), output)
    room, said = None, ""
    if filename is None:
        if quotas is not None:
            raise BadInput("--quota goes with -f: it needs the buffer's namespace and the shape of a unit")
        spec = _spec_from_options(rate, resume, cold)
        found = Workload(None, workload_replicas)
    else:
        if rate or resume or cold:
            raise BadInput("give either -f or --rate, --resume and --cold, not both")
        spec, found, document = _spec_from_file(filename, name, template, workload_replicas)
        if quotas is not None:
            share = quotas.share(spec, found, document)
            room, said = share.units if share.shortages else None, limited_by_quotas(share, 0).message
    result = buffer_size(spec, found, room=room)
    if isinstance(result, SizingError):
        click.echo(f"moorage size: no size: {result}", err=True)
        return 1
    answer: dict[str, Any] = {
        "replicas": result.replicas,
        "active": result.active,
        "standby": result.standby,
        "method": "Mean" if spec.sizing is not None else "Fixed",
        "boundBy": result.bound_by,
        "explanation": result.explanation,
    }
    if filename is not None:
        answer["inputs"] = inputs_of(spec, found, result, room=room)
    if said:
        answer["quotas"] = said
    if (nodes := planned_nodes(spec.nodes, found.template, active=result.active, standby=result.standby)) is not None:
        answer["nodes"] = nodes
    emit(answer, output, lambda: _table(answer))
    return 0


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
    emit(answer, output, lambda: _table(answer))
    return 0


def _table(answer: dict[str, Any]) -> str:
    numbers = columns([(name, str(answer[name])) for name in ("replicas", "active", "standby")])
    told = [answer["explanation"], *([answer["quotas"]] if "quotas" in answer else [])]
    if nodes := answer.get("nodes"):
        told.append("nodes: " + "; ".join(f"{name} {value}" for name, value in nodes.items()))
    return f"{numbers}\n\n" + "\n".join(told) + inputs_table(answer.get("inputs") or [])


def _spec_from_options(rate: str | None, resume: str | None, cold: str | None) -> CapacityBufferSpec:
    given = {"--rate": rate, "--resume": resume, "--cold": cold}
    missing = [option for option, value in given.items() if value is None]
    if missing or rate is None or resume is None or cold is None:
        raise BadInput(f"{', '.join(missing)} missing: give --rate, --resume and --cold, or a CapacityBuffer with -f")
    for option, value, parse in (("--rate", rate, parse_rate), ("--resume", resume, parse_duration)):
        try:
            parse(value)
        except ValueError as error:
            raise BadInput(f"{option}: {error}") from error
    try:
        if parse_duration(cold) == 0:
            raise BadInput("--cold: must be more than zero: a cluster without a cold start needs no buffer")
    except ValueError as error:
        raise BadInput(f"--cold: {error}") from error
    return CapacityBufferSpec(
        sizing=CapacityBufferSizing(scale_up_rate=rate, standby_resume_latency=resume, cold_node_latency=cold)
    )


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
    shape: PodSpec | None = read_template(match[0]).spec if match else None
    replicas = workload_replicas
    if replicas is None and match and spec.scalable_ref is not None:
        found = match[0].spec.get("parallelism" if match[0].kind == "Job" else "replicas", 1)
        replicas = found if isinstance(found, int) else None
    has_size = spec.scalable_ref is not None or spec.selector is not None
    if spec.percentage is not None and has_size and replicas is None:
        raise BadInput(
            "spec.percentage needs the size of the workload: give --workload-replicas or the workload itself"
        )
    return Workload(shape, replicas)
