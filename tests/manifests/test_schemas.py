"""Every manifest has the fields that Kubernetes knows, and no others."""

from __future__ import annotations

import kubernetes_validate
import pytest

from moorage.api import GROUP, parse_capacity_buffer_spec, parse_namespace_quota_spec
from tests.manifests.documents import EXAMPLES, Document, all_documents, read_folder

KUBERNETES = "1.36"
READERS = {"NamespaceQuota": parse_namespace_quota_spec, "CapacityBuffer": parse_capacity_buffer_spec}


@pytest.mark.parametrize("document", all_documents(), ids=str)
def test_it_is_what_kubernetes_reads(document: Document) -> None:
    group = document.content["apiVersion"].partition("/")[0]
    if group in (GROUP, "kustomize.config.k8s.io"):
        with pytest.raises(kubernetes_validate.SchemaNotFoundError):
            kubernetes_validate.validate(document.content, KUBERNETES, strict=True)
    else:
        assert kubernetes_validate.validate(document.content, KUBERNETES, strict=True) == KUBERNETES


@pytest.mark.parametrize(
    "document", [each for each in read_folder(EXAMPLES) if each.content["kind"] in READERS], ids=str
)
def test_examples_of_our_kinds_are_what_the_operator_reads(document: Document) -> None:
    READERS[document.content["kind"]](document.content["spec"])
