"""What quotas from files leave of a buffer."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from moorage.api.capacitybuffer import CapacityBufferSpec
from moorage.buffer.quotas import Quota, Share, share_out
from moorage.buffer.size import SizingError
from moorage.cli.documents import Document, read_documents
from moorage.cli.errors import BadInput
from moorage.cli.objects import count_objects
from moorage.cli.quotas import QUOTA_KINDS, read_quota
from moorage.quota.ledger import Ledger
from moorage.status.buffer_quotas import asking
from moorage.status.capacitybuffer import buffer_size
from moorage.status.workload import Workload


@dataclass(frozen=True, slots=True)
class QuotaFiles:
    """Where quotas are, and the objects that use them."""

    quota: str
    objects: str | None

    def share(self, spec: CapacityBufferSpec, found: Workload, buffer: Document) -> Share:
        """Return what the quotas of the buffer's namespace leave of it, when no other buffer goes before.

        Raises BadInput.
        """
        if found.template is None:
            raise BadInput("--quota needs the shape of a unit: give --template, or the workload beside the buffer")
        wanted = buffer_size(spec, found)
        if isinstance(wanted, SizingError):
            raise BadInput(str(wanted))
        namespace = buffer.namespace("default")
        asked = asking(buffer.name, found.template, units=wanted.replicas, priority=spec.priority or 0, created="")
        return share_out(self._quotas(namespace), [asked])[buffer.name]

    def _quotas(self, namespace: str) -> list[Quota]:
        ledger = Ledger()
        count_objects(read_documents([self.objects]) if self.objects else [], ledger, namespace=namespace)
        given = [each for each in read_documents([self.quota]) if each.kind in QUOTA_KINDS]
        if not given:
            raise BadInput(f"{self.quota} holds no NamespaceQuota or ResourceQuota")
        found = []
        for each in (read_quota(document, namespace=namespace) for document in given):
            rules = each.rules
            if each.namespace == namespace and rules.counts_buffers and rules.is_enforced:
                key = (namespace, f"{each.kind}/{each.name}")
                ledger.set_quota(*key, rules.terms)
                ledger.release_due(time.time())
                used = ledger.usage(*key).without_placeholders().used
                found.append(Quota(f"{each.kind} {each.name}", rules.hard, used, frozenset(rules.terms.requirements)))
        return found


def quota_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options, as one parameter `quotas` (None: not given)."""

    @functools.wraps(command)
    def with_quotas(*, quota: str | None, objects: str | None, **others: Any) -> int:
        if objects is not None and quota is None:
            raise BadInput("--objects goes with --quota: it tells what is used of those")
        return command(quotas=QuotaFiles(quota, objects) if quota is not None else None, **others)

    for option in (
        click.option("--objects", help="File with the objects that use them, as kubectl get -o yaml gives it."),
        click.option("--quota", help="File with the quotas of the namespace, which may leave less; for -f."),
    ):
        with_quotas = option(with_quotas)
    return with_quotas
