"""The policies as code: what the API server fills in and refuses by itself, with the operator running or not.

Each reads the NamespaceQuotas of the request's namespace as its parameters. `make crds` writes manifests/policies.
"""

from __future__ import annotations

from moorage.admission.policies import claims, defaults, labels, pods, probes
from moorage.api.documents import yaml_text

__all__ = ["policy_documents"]

_HEADER = ("Generated from operator/moorage/admission/policies by `make crds`. Do not edit: change the code instead.",)


def policy_documents() -> dict[str, str]:
    """Return the YAML text of each policy and its binding by file name."""
    return {
        "claims.yaml": yaml_text(*claims.documents(), header=_HEADER),
        "defaults.yaml": yaml_text(*defaults.documents(), header=_HEADER),
        "labels.yaml": yaml_text(*labels.documents(), header=_HEADER),
        "pods.yaml": yaml_text(*pods.documents(), header=_HEADER),
        "probes.yaml": yaml_text(*probes.documents(), header=_HEADER),
    }
