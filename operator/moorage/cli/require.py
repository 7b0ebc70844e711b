"""`moorage require`: policies by which some objects need a quota that covers them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from moorage.admission.policies import coverage
from moorage.admission.policies.coverage import Demand
from moorage.api.documents import yaml_text
from moorage.cli.errors import BadInput
from moorage.quoting import quoted

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_HEADER = ("Made by `moorage require`. Pods and claims that need a NamespaceQuota which covers them.",)


@click.command()
@click.option(
    "--priority-class", "priority_classes", multiple=True, metavar="NAME", help="Pods of this priority class."
)
@click.option("--storage-class", "storage_classes", multiple=True, metavar="NAME", help="Claims of this storage class.")
@click.option("--cross-namespace-affinity", is_flag=True, help="Pods with affinity to pods of other namespaces.")
def require(priority_classes: Iterable[str], storage_classes: Iterable[str], cross_namespace_affinity: bool) -> None:
    """Print policies that admit certain objects only where a NamespaceQuota covers them.

    \b
    moorage require --priority-class high | kubectl apply --server-side -f -

    A quota covers the pods of a class when its scopes are PriorityClass In with that name alone, those with affinity
    across namespaces when they are CrossNamespacePodAffinity alone, and the claims of a storage class when it has no
    scopes and limits <class>.storageclass.storage.k8s.io/requests.storage or .../persistentvolumeclaims.
    """
    demands = [
        *(coverage.of_priority_class(_checked(each)) for each in priority_classes),
        *(coverage.of_storage_class(_checked(each)) for each in storage_classes),
        *([coverage.of_affinity()] if cross_namespace_affinity else []),
    ]
    if not demands:
        raise BadInput("say what needs a quota: --priority-class, --storage-class or --cross-namespace-affinity")
    click.echo(_text(demands), nl=False)


def _checked(name: str) -> str:
    if len(name) > 253 or _NAME.fullmatch(name) is None:
        raise BadInput(f"{quoted(name)} is no name of a class: lower-case letters, digits, '-' and '.'")
    return name


def _text(demands: Iterable[Demand]) -> str:
    return yaml_text(*(document for demand in demands for document in coverage.documents(demand)), header=_HEADER)
