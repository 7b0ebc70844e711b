"""The TLS of the webhook's port: a context whose certificate can be replaced while it serves."""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from moorage.admission.certificates import Certificate


def server_context() -> ssl.SSLContext:
    """Return a context without a certificate; until one is loaded, every handshake fails."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """Have connections that are made from now on see this certificate; those that exist go on.

    Raises ssl.SSLError when the certificate or key is none.
    """
    with _as_file(certificate.certificate + b"\n" + certificate.key) as path:
        context.load_cert_chain(path)


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Lend a path, since the ssl module reads nothing else. In memory where that can be: our image has no disk."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
