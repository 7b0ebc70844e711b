"""Encrypted connections: who is trusted, and under which name."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.cluster.client import Client
from moorage.cluster.credentials import Credentials
from moorage.cluster.errors import CredentialsError, UnreachableError


@dataclass
class Secure:
    """A server with a certificate for `inside.example`, reached at 127.0.0.1, and its CA (itself)."""

    url: str
    ca: Path


def self_signed(folder: Path, *names: x509.GeneralName) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_path, key_path = folder / "tls.crt", folder / "tls.key"
    certificate_path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate_path, key_path


async def version(_: web.Request) -> web.Response:
    return web.json_response({"major": "1"})


@pytest.fixture(params=["inside.example", "127.0.0.1"])
async def secure(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Secure]:
    name = request.param
    alternative = x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    certificate, key = self_signed(tmp_path, alternative)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    app = web.Application()
    app.router.add_get("/version", version)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield Secure(f"https://127.0.0.1:{runner.addresses[0][1]}", certificate)
    await runner.cleanup()


def credentials(secure: Secure, folder: Path, **cluster: object) -> Credentials:
    path = folder / "config"
    path.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": secure.url} | cluster}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "c",
            }
        )
    )
    return Credentials.load(path)


async def version_of(chosen: Credentials) -> object:
    async with Client(chosen, retries=0) as client:
        return (await client.get("/version"))["major"]


untrusted = pytest.raises(UnreachableError, match="certificate verify failed")


@pytest.mark.parametrize("secure", ["127.0.0.1"], indirect=True)
async def test_a_trusted_server_is_talked_to_and_another_is_not(secure: Secure, tmp_path: Path) -> None:
    assert await version_of(credentials(secure, tmp_path, **{"certificate-authority": str(secure.ca)})) == "1"
    assert await version_of(credentials(secure, tmp_path, **{"insecure-skip-tls-verify": True})) == "1"
    with untrusted:
        await version_of(credentials(secure, tmp_path))


@pytest.mark.parametrize("secure", ["inside.example"], indirect=True)
async def test_a_server_behind_a_tunnel_is_checked_under_its_own_name(secure: Secure, tmp_path: Path) -> None:
    trusted = {"certificate-authority": str(secure.ca)}
    assert await version_of(credentials(secure, tmp_path, **trusted, **{"tls-server-name": "inside.example"})) == "1"
    with untrusted:
        await version_of(credentials(secure, tmp_path, **trusted))
    with untrusted:
        await version_of(credentials(secure, tmp_path, **trusted, **{"tls-server-name": "other.example"}))


async def test_a_ca_that_is_none_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n")
    chosen = credentials(
        Secure("https://127.0.0.1:1", tmp_path / "ca.pem"), tmp_path, **{"certificate-authority": "ca.pem"}
    )
    with pytest.raises(CredentialsError, match=r"the certificates for https://127\.0\.0\.1:1 cannot be used"):
        await version_of(chosen)
