"""`moorage usage`: what namespaces use of their quotas, from files or from a live cluster."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import click

from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.output import emit, output_option
from moorage.cli.pods import QUOTA_KINDS, Quota, read_pod, read_quota
from moorage.quota.ledger import Ledger
from moorage.quota.report import QuotaReport, report
from moorage.quota.usage import PodReader


@click.command()
@click.option(
    "-f", "--filename", "filenames", multiple=True, help="File or folder with pods (and quotas); - for stdin."
)
@click.option("--quota", help="File with NamespaceQuotas or ResourceQuotas, instead of those among the objects.")
@click.option("-n", "--namespace", help="Only this namespace; also that of documents which name none.")
@click.option("--at", help="Count as of this time (RFC 3339), for pods that are being deleted. Default: now.")
@click.option("--kubeconfig", help="Kubeconfig file, for a live cluster.")
@click.option("--context", help="Context of the kubeconfig.")
@output_option
def usage(
    *,
    filenames: tuple[str, ...],
    quota: str | None,
    namespace: str | None,
    at: str | None,
    kubeconfig: str | None,
    context: str | None,
    output: str,
) -> int:
    """Show hard, used and remaining for each quota.

    Without -f the live cluster is read. Files are counted as the API server would store them.

    \b
    moorage usage -n team-a
    kubectl get pods,nsq -A -o yaml | moorage usage -f -

    Exit code 0 with an answer, 2 for bad input, such as no quota among it or a cluster that cannot be read.
    """
    moment = _moment(at)
    documents = read_documents(filenames) if filenames else _live(namespace, kubeconfig, context)
    default = namespace or "default"
    rules = read_documents([quota]) if quota is not None else documents
    quotas = [read_quota(each, namespace=default) for each in rules if each.kind in QUOTA_KINDS]
    quotas = [each for each in quotas if namespace in (None, each.namespace)]
    if not quotas:
        raise BadInput("there is no NamespaceQuota or ResourceQuota; name a file that has one with --quota")
    ledger, reader = Ledger(), PodReader()
    for number, each in enumerate(document for document in documents if document.kind == "Pod"):
        ledger.put(read_pod(each, reader, namespace=default, number=number))
    reports = [(each, _count(each, ledger, moment)) for each in quotas]
    emit(
        {"quotas": [_answer(*each) for each in reports]}, output, lambda: "\n\n".join(_table(*each) for each in reports)
    )
    return 0


def _count(quota: Quota, ledger: Ledger, moment: float) -> QuotaReport:
    key = (quota.namespace, f"{quota.kind}/{quota.name}")
    ledger.set_quota(*key, quota.rules.terms)
    ledger.release_due(moment)
    return report(quota.rules.hard, ledger.usage(*key).used)


def _answer(quota: Quota, found: QuotaReport) -> dict[str, Any]:
    return {
        "namespace": quota.namespace,
        "name": quota.name,
        "kind": quota.kind,
        "hard": found.hard,
        "used": found.used,
        "remaining": found.remaining,
        "utilization": found.utilization,
        "untracked": list(quota.rules.uncounted),
    }


def _table(quota: Quota, found: QuotaReport) -> str:
    lines = [f"{quota.kind} {quota.namespace}/{quota.name}", *(f"  {line}" for line in found.summary)]
    if quota.rules.uncounted:
        lines.append(f"  not counted: {', '.join(quota.rules.uncounted)}")
    return "\n".join(lines)


def _moment(text: str | None) -> float:
    if text is None:
        return time.time()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"--at: {text!r} is not a time; write one such as 2026-01-31T12:00:00Z") from error
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _live(namespace: str | None, kubeconfig: str | None, context: str | None) -> list[Document]:
    from moorage.cli.live import live_documents  # noqa: PLC0415 - the client takes half a second to import

    return live_documents(namespace=namespace, kubeconfig=kubeconfig, context=context)
