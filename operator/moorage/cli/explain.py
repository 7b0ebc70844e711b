"""`moorage explain`: whether quotas admit manifests, before they are applied, and what stands against them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import click

from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.output import emit, output_option
from moorage.cli.quotas import QUOTA_KINDS, Quota, read_quota
from moorage.cli.verdicts import Answer, Judge
from moorage.objects import ResourceRequirements
from moorage.quota.replicas import Rollout
from moorage.quota.verdict import Failure
from moorage.status.findings import plural


@click.command()
@click.option("-f", "--filename", "filenames", multiple=True, required=True, help="Manifests; - for standard input.")
@click.option("--quota", "quota_files", multiple=True, help="File with NamespaceQuotas or ResourceQuotas.")
@click.option(
    "--objects", "object_files", multiple=True, help="File with what is there, as kubectl get -o yaml prints."
)
@click.option("-n", "--namespace", help="Namespace of documents which name none. Default: that of the others.")
@click.option("--replicas", type=click.IntRange(min=0), help="Judge workloads with this number of replicas.")
@click.option("--kubeconfig", help="Kubeconfig file, for a live cluster.")
@click.option("--context", help="Context of the kubeconfig.")
@output_option
def explain(
    *,
    filenames: tuple[str, ...],
    quota_files: tuple[str, ...],
    object_files: tuple[str, ...],
    namespace: str | None,
    replicas: int | None,
    kubeconfig: str | None,
    context: str | None,
    output: str,
) -> int:
    """Say whether quotas admit manifests, what is filled in, what is refused and why, and how many fit.

    Without --quota and --objects the live cluster is asked for its quotas and objects. Manifests are judged in their
    order, and each that is admitted leaves less room for the next; a workload with all its pods. Quotas among the
    manifests hold as if they had been applied before.

    \b
    moorage explain -f deployment.yaml -n team-a
    moorage explain -f deployment.yaml --quota quota.yaml --objects dump.yaml --replicas 20

    Exit code 0 when everything fits, 1 when something is refused, 2 for bad input.
    """
    manifests = read_documents(filenames)
    if not manifests:
        raise BadInput(f"{', '.join(filenames)}: there is nothing in it")
    if quota_files or object_files:
        objects = read_documents(object_files)
        given = read_documents(quota_files) if quota_files else objects
        place = namespace or _common_namespace(manifests) or _common_namespace(given) or "default"
        quotas = _offline_quotas(given, manifests, place)
    else:
        place = namespace or _common_namespace(manifests) or "default"
        quotas, objects = _live(manifests, place, kubeconfig, context)
    _note_where_no_quota_is({each.namespace(place) for each in manifests}, quotas)
    judge = Judge(quotas, objects, manifests, namespace=place, moment=time.time())
    answers = [judge.judge(each, replicas) for each in manifests if each.kind not in QUOTA_KINDS]
    admitted = all(each.admitted for each in answers)
    result = {"verdict": _verdict(admitted), "objects": [_as_dict(each) for each in answers]}
    emit(result, output, lambda: "\n".join(_table(each) for each in answers))
    return 0 if admitted else 1


def _common_namespace(documents: Iterable[Document]) -> str:
    """Return the namespace of all documents that name one; empty when that are several, or none."""
    named = {each.namespace("") for each in documents} - {""}
    return named.pop() if len(named) == 1 else ""


def _offline_quotas(given: Iterable[Document], manifests: Iterable[Document], namespace: str) -> list[Quota]:
    quotas = _quotas(given, manifests, namespace)
    if not quotas:
        raise BadInput("there is no NamespaceQuota or ResourceQuota; name a file that has one with --quota")
    return quotas


def _quotas(given: Iterable[Document], manifests: Iterable[Document], namespace: str) -> list[Quota]:
    """Return the quotas in force: those among the manifests take the place of others with their names."""
    found = {}
    for each in (*given, *manifests):
        if each.kind in QUOTA_KINDS and not _is_projected(each):
            quota = read_quota(each, namespace=namespace)
            found[quota.namespace, quota.kind, quota.name] = quota
    return list(found.values())


def _is_projected(document: Document) -> bool:
    """Whether a ResourceQuota is what a NamespaceQuota is enforced by: it would only say the same again."""
    owners = document.metadata.get("ownerReferences") or ()
    return document.kind == "ResourceQuota" and any(each.get("kind") == "NamespaceQuota" for each in owners)


def _note_where_no_quota_is(places: set[str], quotas: Iterable[Quota]) -> None:
    having = {each.namespace for each in quotas}
    for place in sorted(places - having):
        where = f"; there are some in {', '.join(sorted(having))}: name one with -n" if having else ""
        click.echo(f"moorage explain: namespace {place} has no quota{where}", err=True)


def _live(
    manifests: list[Document], namespace: str, kubeconfig: str | None, context: str | None
) -> tuple[list[Quota], list[Document]]:
    # The client takes half a second to import.
    from moorage.cli.live import connected, live_objects, live_quotas, live_surroundings  # noqa: PLC0415

    quotas: list[Quota] = []
    objects: list[Document] = []
    with connected(kubeconfig, context) as api:
        places = sorted({each.namespace(namespace) for each in manifests})
        for place in places:
            own = [each for each in manifests if each.namespace(namespace) == place]
            found = _quotas(live_quotas(api, place), own, namespace)
            resources = {resource for each in found for resource in each.rules.terms.resources}
            objects += live_objects(api, resources, place)
            quotas += found
        objects += live_surroundings(api, places)
    return quotas, objects


def _verdict(admitted: bool) -> str:
    return "Admitted" if admitted else "Refused"


# For programs


def _as_dict(answer: Answer) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "kind": answer.kind,
        "name": answer.name,
        "namespace": answer.namespace,
        "verdict": _verdict(answer.admitted),
        "defaulted": {
            container: {"requests": dict(filled.given("requests")), "limits": dict(filled.given("limits"))}
            for container, filled in answer.defaulted.items()
        },
        "failures": [_failure(each) for each in answer.failures],
        "audited": [_failure(each) for each in answer.audited],
        "fits": answer.fits,
    }
    if answer.replicas is not None:
        entry["replicas"] = answer.replicas
    if (rollout := answer.rollout) is not None:
        entry["rollout"] = {
            "surge": rollout.surge,
            "fits": rollout.fits,
            "hasRoom": rollout.has_room,
            "isStuck": rollout.is_stuck,
        }
    return entry


def _failure(failure: Failure) -> dict[str, Any]:
    def text(amount: int | None) -> str | None:
        return None if amount is None else failure.text(amount)

    return {
        "step": failure.step.value,
        "quota": failure.quota,
        "resource": failure.resource,
        "requested": text(failure.requested),
        "used": text(failure.used),
        "hard": text(failure.hard),
        "message": failure.message,
    }


# For people


def _table(answer: Answer) -> str:
    lines = [f"{answer.kind} {answer.namespace}/{answer.name}: {_headline(answer)}"]
    lines += [f"  {failure.step} ({failure.quota}): {failure.message}" for failure in answer.failures]
    lines += [f"  in Enforce mode {failure.step} ({failure.quota}): {failure.message}" for failure in answer.audited]
    lines += [f"  filled in for {container}: {_filled(given)}" for container, given in answer.defaulted.items()]
    if answer.rollout is not None and not answer.rollout.has_room:
        lines.append(f"  {_of_rollout(answer.rollout)}")
    return "\n".join(lines)


def _headline(answer: Answer) -> str:
    fit = "" if answer.fits is None else _fit(answer.fits)
    if answer.replicas is None:
        return ", ".join(filter(None, ["admitted" if answer.admitted else "refused", fit if answer.admitted else ""]))
    wanted = plural(answer.replicas, "replica")
    if answer.admitted:
        return ", ".join(filter(None, [f"{wanted} admitted", fit]))
    return f"refused, {answer.fits or 0} of {wanted} fit"


def _fit(number: int) -> str:
    return "1 fits" if number == 1 else f"{number} fit"


def _filled(given: ResourceRequirements) -> str:
    parts = (
        f"{side} {', '.join(f'{name}={text}' for name, text in given.given(side).items())}"
        for side in ("requests", "limits")
        if given.given(side)
    )
    return "; ".join(parts)


def _of_rollout(rollout: Rollout) -> str:
    makes = f"a rollout makes {plural(rollout.surge, 'pod')} beside the old, of which {_fit(rollout.fits or 0)}"
    if rollout.is_stuck:
        return f"{makes}: it would be stuck until there is room, or maxUnavailable is above 0"
    return f"{makes}: it waits for old pods to go"
