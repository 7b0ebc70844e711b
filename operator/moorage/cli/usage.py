"""`moorage usage`: what namespaces use of their quotas and who uses it, from files or from a live cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.objects import count_objects
from moorage.cli.output import columns, emit, output_option
from moorage.cli.quotas import QUOTA_KINDS, Quota, read_quota
from moorage.quota.ledger import Holder, Ledger, Usage
from moorage.quota.names import why_not_counted
from moorage.quota.report import QuotaReport, ResourceLine, report
from moorage.quoting import quoted
from moorage.status.findings import plural


@click.command()
@click.option("-f", "--filename", "filenames", multiple=True, help="File or folder of objects; - for standard input.")
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
    """Show hard, used and remaining for each quota, and who holds what.

    Without -f the live cluster is read. Files are counted as the API server would store them: a workload in a manifest
    counts with the pods it would make.

    \b
    moorage usage -n team-a
    kubectl get pods,nsq -A -o yaml | moorage usage -f -

    Exit code 0 with an answer, 2 for bad input, such as no quota among it or a cluster that cannot be read.
    """
    moment = _moment(at)
    default = namespace or "default"
    if filenames:
        documents = read_documents(filenames)
        quotas = _quotas(read_documents([quota]) if quota is not None else documents, namespace)
    else:
        quotas, documents = _live(quota, namespace, kubeconfig, context)
    ledger = Ledger()
    count_objects(documents, ledger, namespace=default)
    answers = [_Answer(each, ledger, moment) for each in quotas]
    emit(
        {"quotas": [each.as_dict() for each in answers]}, output, lambda: "\n\n".join(each.table() for each in answers)
    )
    return 0


class _Answer:
    """What one quota's readers get."""

    def __init__(self, quota: Quota, ledger: Ledger, moment: float) -> None:
        key = (quota.namespace, f"{quota.kind}/{quota.name}")
        ledger.set_quota(*key, quota.rules.terms)
        ledger.release_due(moment)
        self.quota = quota
        self.found: QuotaReport = _report(quota, ledger.usage(*key))
        self.holders: list[tuple[ResourceLine, list[Holder]]] = [
            (line, ledger.holders(*key, line.name, most=None)) for line in self.found.lines if line.used
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the answer for programs."""
        return {
            "namespace": self.quota.namespace,
            "name": self.quota.name,
            "kind": self.quota.kind,
            "hard": self.found.hard,
            "used": self.found.used,
            "buffered": self.found.buffered,
            "remaining": self.found.remaining,
            "utilization": self.found.utilization,
            "untracked": list(self.quota.rules.uncounted),
            "holders": [
                {
                    "resource": line.name,
                    "top": [
                        {"workload": each.workload, "used": line.canonical(each.used), "pods": each.pods}
                        for each in holders
                    ],
                }
                for line, holders in self.holders
            ],
        }

    def table(self) -> str:
        """Return the answer for people."""
        parts = [f"{self.quota.kind} {self.quota.namespace}/{self.quota.name}"]
        parts += [f"  {line}" for line in self.found.summary]
        parts += [f"  not counted: {why_not_counted(name) or name}" for name in self.quota.rules.uncounted]
        rows = [
            (
                "  " if number else line.name,
                each.workload,
                line.canonical(each.used),
                plural(each.pods, "pod") if each.pods else "",
            )
            for line, holders in self.holders
            for number, each in enumerate(holders)
        ]
        if rows:
            parts += ["  held by", *(f"    {row}" for row in columns(rows).splitlines())]
        return "\n".join(parts)


def _report(quota: Quota, usage: Usage) -> QuotaReport:
    """Compare a quota with usage. Units of buffers, running as placeholders or not, are told apart in one of ours."""
    if quota.kind == "ResourceQuota":
        return report(quota.rules.hard, usage.used)
    buffered = (quota.buffered or usage.placeholders) if quota.rules.counts_buffers else {}
    return report(quota.rules.hard, usage.without_placeholders().used, buffered)


def _quotas(documents: Iterable[Document], namespace: str | None) -> list[Quota]:
    quotas = [read_quota(each, namespace=namespace or "default") for each in documents if each.kind in QUOTA_KINDS]
    quotas = [each for each in quotas if namespace in (None, each.namespace)]
    if not quotas:
        raise BadInput("there is no NamespaceQuota or ResourceQuota; name a file that has one with --quota")
    return quotas


def _moment(text: str | None) -> float:
    if text is None:
        return time.time()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadInput(f"--at: {quoted(text)} is not a time; write one such as 2026-01-31T12:00:00Z") from error
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _live(
    quota: str | None, namespace: str | None, kubeconfig: str | None, context: str | None
) -> tuple[list[Quota], list[Document]]:
    # The client takes half a second to import.
    from moorage.cli.live import connected, live_objects, live_quotas  # noqa: PLC0415

    with connected(kubeconfig, context) as api:
        quotas = _quotas(read_documents([quota]) if quota is not None else live_quotas(api, namespace), namespace)
        resources = {resource for each in quotas for resource in each.rules.terms.resources}
        return quotas, live_objects(api, resources, namespace)
