"""The policy of the operator's own changes of namespaces: one label, by which policies find those that have limits.

A role cannot say that. Without it, the operator's token could take the labels of pod security off any namespace.
"""

from __future__ import annotations

from moorage.admission.policies.documents import Document, Rule, plain_policy
from moorage.admission.policies.probes import ACCOUNT
from moorage.quota.coverage import ENFORCED

NAME = "moorage-labels"

_NEW, _OLD = "object.metadata.?labels.orValue({})", "oldObject.metadata.?labels.orValue({})"
_OTHER_LABELS_STAY = (
    f'{_NEW}.all(k, k == "{ENFORCED}" || k in {_OLD} && {_OLD}[k] == {_NEW}[k]) && '
    f'{_OLD}.all(k, k == "{ENFORCED}" || k in {_NEW})'
)
_ALL_ELSE_STAYS = " && ".join(
    f"object.metadata.?{field}.orValue({empty}) == oldObject.metadata.?{field}.orValue({empty})"
    for field, empty in (("annotations", "{}"), ("finalizers", "[]"))
)


def documents() -> tuple[Document, ...]:
    """Return the policy and its binding."""
    return plain_policy(
        NAME,
        rules=(Rule(("namespaces",), ("UPDATE",)),),
        condition=f'request.userInfo.username == "{ACCOUNT}"',
        holds=f"{_OTHER_LABELS_STAY} && {_ALL_ELSE_STAYS}",
        message=f"the operator of Moorage changes nothing of a namespace but its label {ENFORCED}",
    )
