"""The certificates and keys of one control plane: an authority of its own, made anew for every cluster."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_DAYS = 365
SERVICE_NETWORK = "10.96.0.0/16"
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


@dataclass(frozen=True)
class Identity:
    """A client of the API server: the user name and groups its certificate gives it."""

    user: str
    groups: tuple[str, ...] = ()


ADMINISTRATORS = "system:masters"
CLIENTS = {
    "admin": Identity("moorage-admin", (ADMINISTRATORS,)),
    "kube-controller-manager": Identity("system:kube-controller-manager"),
    "kube-scheduler": Identity("system:kube-scheduler"),
    "kwok": Identity("kwok", (ADMINISTRATORS,)),
    "karpenter": Identity("karpenter", (ADMINISTRATORS,)),
    "front-proxy": Identity("front-proxy-client"),  # what the API server shows to aggregated API servers
}


@dataclass(frozen=True)
class KeyPair:
    """The files of a certificate and its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Certificates:
    """All files of one cluster's public key infrastructure."""

    authority: Path
    server: KeyPair
    clients: dict[str, KeyPair]
    service_account_key: Path
    service_account_public_key: Path


def make_certificates(directory: Path) -> Certificates:
    """Make an authority, a serving certificate, the clients' certificates and the service accounts' signing key."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority = _Authority(directory)
    server = authority.issue("kube-apiserver", Identity("kube-apiserver"), server=True)
    clients = {name: authority.issue(name, identity) for name, identity in CLIENTS.items()}

    signing_key = ec.generate_private_key(ec.SECP256R1())
    private, public = directory / "service-account.key", directory / "service-account.pub"
    _write_key(private, signing_key)
    public.write_bytes(signing_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return Certificates(authority.certificate_file, server, clients, private, public)


class _Authority:
    """A certificate authority whose own key never touches the disk."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificate_file = directory / "ca.crt"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(Identity("moorage-control-plane"))
        self._key_id = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(authority=True), critical=True)
            .add_extension(self._key_id, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, identity: Identity, *, server: bool = False) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = (
            _builder(_name(identity), self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._key_id), critical=False)
        )
        if server:
            names: list[x509.GeneralName] = [x509.DNSName(host) for host in SERVER_NAMES]
            names += [x509.IPAddress(ipaddress.ip_address(address)) for address in SERVER_ADDRESSES]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        pair = KeyPair(self.directory / f"{name}.crt", self.directory / f"{name}.key")
        _write_key(pair.key, key)
        pair.certificate.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        return pair


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
    )


def _name(identity: Identity) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in identity.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, identity.user)])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
