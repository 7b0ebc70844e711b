"""The webhook's certificate: what is made, and what is not taken for one."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from moorage.admission.certificates import LIFE, Certificate, flaw, is_due, issue
from moorage.admission.tls import load, server_context

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("moorage.moorage-system.svc", "127.0.0.1")
GOOD = issue(NAMES, NOW)
OTHER = issue(NAMES, NOW)
GARBAGE = Certificate(authorities=b"\x00\xff", certificate=b"-----BEGIN", key=b"{}")
_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)


def authorities(certificate: Certificate) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(certificate.authorities)


def test_a_new_certificate_has_no_flaw_and_is_not_due() -> None:
    assert flaw(GOOD, NAMES, NOW) == ""
    assert not is_due(GOOD, NOW)


def test_each_comes_with_an_authority_of_its_own() -> None:
    assert authorities(GOOD) != authorities(OTHER)
    assert len(authorities(GOOD)) == 1


def test_the_authority_signs_nothing_else_and_the_certificate_only_serves() -> None:
    [authority] = authorities(GOOD)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0
    leaf = x509.load_pem_x509_certificate(GOOD.certificate)
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(
    ("after", "due", "usable"),
    [
        pytest.param(timedelta(0), False, True, id="new"),
        pytest.param(LIFE / 2, False, True, id="in the middle of its life"),
        pytest.param(LIFE * 0.7, True, True, id="in its last third"),
        pytest.param(LIFE, True, False, id="expired"),
        pytest.param(-timedelta(minutes=30), False, True, id="a clock that is half an hour behind"),
        pytest.param(-timedelta(hours=2), False, False, id="not valid yet"),
    ],
)
def test_it_is_replaced_in_time(after: timedelta, due: bool, usable: bool) -> None:
    assert is_due(GOOD, NOW + after) == due
    assert (flaw(GOOD, NAMES, NOW + after) == "") == usable


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        pytest.param(dataclasses.replace(GOOD, certificate=b""), "not a certificate", id="no certificate"),
        pytest.param(dataclasses.replace(GOOD, key=b""), "not a certificate", id="no key"),
        pytest.param(dataclasses.replace(GOOD, authorities=b""), "not a certificate", id="no authority"),
        pytest.param(GARBAGE, "not a certificate", id="garbage"),
        pytest.param(
            dataclasses.replace(GOOD, certificate=GOOD.certificate[:200]), "not a certificate", id="cut short"
        ),
        pytest.param(dataclasses.replace(GOOD, key=OTHER.key), "key is not that", id="another key"),
        pytest.param(dataclasses.replace(GOOD, key=_RSA), "key is not that", id="a key of another kind"),
        pytest.param(dataclasses.replace(GOOD, authorities=OTHER.authorities), "no authority", id="another authority"),
        pytest.param(issue(NAMES[:1], NOW), "does not name 127.0.0.1", id="a name is missing"),
        pytest.param(dataclasses.replace(GOOD, certificate=GOOD.authorities), "key is not that", id="no leaf"),
    ],
)
def test_what_cannot_be_served_is_seen(bad: Certificate, says: str) -> None:
    assert says in flaw(bad, NAMES, NOW)


def test_authorities_before_it_stay_trusted_until_they_expire() -> None:
    later = NOW + LIFE * 0.7
    second = issue(NAMES, later, trusted=GOOD.authorities)
    assert [each.subject for each in authorities(second)[1:]] == [each.subject for each in authorities(GOOD)]
    third = issue(NAMES, NOW + LIFE + timedelta(days=1), trusted=second.authorities)
    assert len(authorities(third)) == 2
    assert flaw(dataclasses.replace(GOOD, authorities=second.authorities), NAMES, later) == ""


def test_the_list_of_authorities_does_not_grow() -> None:
    latest = GOOD
    for _ in range(9):
        latest = issue(NAMES, NOW, trusted=latest.authorities)
    assert len(authorities(latest)) == 4
    assert issue(NAMES, NOW, trusted=b"garbage").authorities.count(b"BEGIN") == 1


def test_a_long_name_is_named() -> None:
    names = [f"{'a' * 60}.{'b' * 60}.svc"]
    assert flaw(issue(names, NOW), names, NOW) == ""


async def test_a_context_serves_a_new_certificate_without_a_restart() -> None:
    now = datetime.now(UTC)
    first, second = issue(NAMES, now), issue(NAMES, now)
    context = server_context()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(OSError):  # noqa: PT011 - of what kind depends on the version of OpenSSL
            await served(port, first)
        for each, other in ((first, second), (second, first)):
            load(context, each)
            assert await served(port, each) == der(each)
            with pytest.raises(ssl.SSLCertVerificationError):
                await served(port, other)


async def served(port: int, trusting: Certificate) -> bytes | None:
    """Return the certificate that a caller sees who trusts this one's authorities."""
    trust = ssl.create_default_context(cadata=trusting.authorities.decode())
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    try:
        seen: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return seen
    finally:
        writer.transport.abort()


def der(certificate: Certificate) -> bytes:
    lines = certificate.certificate.decode().strip().splitlines()
    return base64.b64decode("".join(lines[1:-1]))
