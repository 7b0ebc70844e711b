"""The policy of the operator's own requests: it may create pods and claims as dry runs only, which store nothing.

A role cannot say that. Without it, whoever took hold of the operator's token could run pods in every namespace.
"""

from __future__ import annotations

from moorage.admission.policies.documents import Document, Rule, plain_policy

NAME = "moorage-probes"
ACCOUNT = "system:serviceaccount:moorage-system:moorage"
"""Written into manifests/base; whoever installs under another name changes it in both."""


def documents() -> tuple[Document, ...]:
    """Return the policy and its binding."""
    return plain_policy(
        NAME,
        rules=(Rule(("pods", "persistentvolumeclaims"), ("CREATE",)),),
        condition=f'request.userInfo.username == "{ACCOUNT}"',
        holds="request.dryRun",
        message="the operator of Moorage creates nothing but dry runs",
    )
