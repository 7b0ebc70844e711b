"""The webhook's certificate: made by an authority of its own that signs once and is forgotten.

Nothing here reads a clock, a file or the API server. There is no key of an authority to steal: each certificate comes
with a new authority, and the authorities before it are trusted for as long as replicas may still serve what they
signed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=90)
_RENEWED_AFTER = 2 / 3
"""Share of its life after which a certificate is replaced, so that there is a month to notice when that fails."""

_SKEW = timedelta(hours=1)
"""How much earlier certificates begin, for API servers whose clock is behind ours."""

_MOST_AUTHORITIES = 4
"""How many are trusted at the same time, the newest first: more are never in use, and the list must not grow."""

_MOST_NAME_LENGTH = 64
"""What a common name may have; the names that count are in the extension, where they may be longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a webhook serves with and is trusted by, each in PEM."""

    authorities: bytes
    """The certificates that a caller has to trust, the one that signed `certificate` first."""
    certificate: bytes
    key: bytes


def issue(names: Collection[str], now: datetime, *, trusted: bytes = b"", life: timedelta = LIFE) -> Certificate:
    """Make a certificate for host names and addresses, signed by a new authority.

    `trusted` are authorities to go on trusting, in PEM; what is no certificate, expired or one too many is left out.
    """
    begins, ends = now - _SKEW, now + life
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name(f"moorage webhook authority {now:%Y-%m-%d %H:%M:%S}")
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), begins, ends)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    subject = _name(min(names, default="moorage")[:_MOST_NAME_LENGTH])
    certificate = (
        _builder(subject, issuer, key.public_key(), begins, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(each) for each in sorted(names)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Certificate(
        authorities=_pem([authority, *_living(trusted, now)[: _MOST_AUTHORITIES - 1]]),
        certificate=_pem([certificate]),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )


def flaw(certificate: Certificate, names: Collection[str], now: datetime) -> str:
    """Return why a certificate cannot be served under these names now, or an empty text.

    It may be anything, such as the content of a Secret that somebody else wrote.
    """
    try:
        [*authorities] = x509.load_pem_x509_certificates(certificate.authorities)
        [leaf, *_] = x509.load_pem_x509_certificates(certificate.certificate)
        key = load_pem_private_key(certificate.key, password=None)
    except Exception:  # the library promises no exhaustive list
        return "it is not a certificate with its key and authority"
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != leaf.public_key():
        return "the key is not that of the certificate"
    if not any(_has_signed(each, leaf) for each in authorities):
        return "no authority beside it has signed it"
    if not leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc:
        return f"it is valid from {leaf.not_valid_before_utc:%F %T} to {leaf.not_valid_after_utc:%F %T} UTC only"
    if missing := sorted(set(names) - _names(leaf)):
        return f"it does not name {', '.join(missing)}"
    return ""


def is_due(certificate: Certificate, now: datetime) -> bool:
    """Whether so much of the life of a certificate without a flaw is over that it should be replaced."""
    leaf = x509.load_pem_x509_certificate(certificate.certificate)
    life = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    return now >= leaf.not_valid_before_utc + life * _RENEWED_AFTER


def _living(authorities: bytes, now: datetime) -> list[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(authorities) if authorities else []
    except Exception:
        return []
    return [each for each in found if each.not_valid_after_utc > now]


def _has_signed(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(leaf: x509.Certificate) -> set[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = {str(each) for each in names.get_values_for_type(x509.IPAddress)}
    return addresses | set(names.get_values_for_type(x509.DNSName))


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begins: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)
