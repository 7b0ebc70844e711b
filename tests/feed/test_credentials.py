"""Where credentials come from, that they are always fresh, and what is said when there are none."""

from __future__ import annotations

import base64
import datetime
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.credentials import Credentials, token_expiration
from moorage.cluster.errors import CredentialsError

CA = "-----BEGIN CERTIFICATE-----\nY2E=\n-----END CERTIFICATE-----\n"
IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def jwt(**claims: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("secret\n")
    (folder / "ca.crt").write_text("# the cluster's CA\n" + CA)
    (folder / "namespace").write_text("moorage")
    return folder


def in_pod(folder: Path, **environ: str) -> Credentials:
    return Credentials.load(service_account=folder, environ=IN_CLUSTER | environ)


class TestServiceAccount:
    def test_everything_comes_from_the_pod(self, service_account: Path) -> None:
        info = in_pod(service_account).read()
        assert info.server == "https://10.0.0.1:443"
        assert info.as_http_headers() == {"Authorization": "Bearer secret"}
        assert info.ca_data == CA
        assert info.default_namespace == "moorage"

    def test_an_ipv6_address_is_bracketed(self, service_account: Path) -> None:
        info = in_pod(service_account, KUBERNETES_SERVICE_HOST="fd00::1").read()
        assert info.server == "https://[fd00::1]:443"

    async def test_a_rotated_token_is_seen_at_the_next_read(self, service_account: Path) -> None:
        credentials = in_pod(service_account)
        old = await credentials.connection()
        assert await credentials.connection() == old, "equal as long as nothing changed, which kopf relies on"
        (service_account / "token").write_text("newer")
        assert (await credentials.connection()).token == "newer"

    @pytest.mark.parametrize(
        ("spoil", "told"),
        [
            (lambda folder: (folder / "token").write_text(" \n"), "token is empty; is the token volume mounted?"),
            (lambda folder: (folder / "ca.crt").unlink(), "ca.crt cannot be read: No such file or directory"),
            (lambda folder: (folder / "ca.crt").write_text("?"), "ca.crt holds no PEM certificate or key"),
        ],
        ids=["empty token", "no CA", "CA is no PEM"],
    )
    def test_what_is_missing_is_named(self, service_account: Path, spoil: Any, told: str) -> None:
        spoil(service_account)
        with pytest.raises(CredentialsError, match=f"{service_account}/{told}".replace("?", r"\?")):
            in_pod(service_account).read()

    def test_missing_service_variables_are_named(self, service_account: Path) -> None:
        with pytest.raises(CredentialsError, match="KUBERNETES_SERVICE_HOST"):
            Credentials.load(service_account=service_account, environ={}).read()


class TestChoice:
    def test_a_named_kubeconfig_wins_over_everything(self, service_account: Path) -> None:
        chosen = Credentials.load("mine", service_account=service_account, environ={"KUBECONFIG": "other"})
        assert chosen.kubeconfig == "mine"

    def test_then_the_environment(self, service_account: Path) -> None:
        assert Credentials.load(service_account=service_account, environ={"KUBECONFIG": "a:b"}).kubeconfig == "a:b"

    def test_then_the_service_account(self, service_account: Path) -> None:
        assert Credentials.load(service_account=service_account, environ={"KUBECONFIG": ""}).kubeconfig is None

    def test_then_the_home_directory(self, tmp_path: Path) -> None:
        assert Credentials.load(service_account=tmp_path, environ={}).kubeconfig == "~/.kube/config"

    def test_a_named_context_is_one_of_a_kubeconfig(self, service_account: Path) -> None:
        chosen = Credentials.load(context="dev", service_account=service_account, environ={})
        assert (chosen.kubeconfig, chosen.context) == ("~/.kube/config", "dev")
        assert str(chosen) == "kubeconfig ~/.kube/config, context dev"


class TestTokenExpiration:
    def test_it_is_read_again_after_nine_tenths_of_its_life(self) -> None:
        assert token_expiration(jwt(iat=1000, exp=2000)) == datetime.datetime.fromtimestamp(1900, tz=datetime.UTC)

    @pytest.mark.parametrize("token", ["opaque", "a.b.c", "a.e30.c", "", jwt(exp=10**30), "a.W10.c"])
    def test_a_token_that_does_not_tell_has_none(self, token: str) -> None:
        assert token_expiration(token) is None


def kubeconfig(path: Path, *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None,
               name: str = "dev", **top: Any) -> Path:  # fmt: skip
    """Write a kubeconfig (YAML is a superset of JSON) with one context, current unless said otherwise."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example:6443"} | (cluster or {})}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "here"}}],
        "current-context": name,
    } | top
    path.write_text(json.dumps(document))
    return path


def plugin(path: Path, script: str) -> dict[str, Any]:
    """Write a credential plugin and return the user that runs it."""
    path.write_text(f"#!{sys.executable}\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "interactiveMode": "Never"}}


def exec_credential(**status: str) -> str:
    return json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status})


class TestKubeconfig:
    def test_the_current_context_is_read(self, tmp_path: Path) -> None:
        path = kubeconfig(tmp_path / "config", user={"token": "secret"}, cluster={"proxy-url": "http://proxy:1"})
        info = Credentials.load(path).read()
        assert info.server == "https://dev.example:6443"
        assert info.as_http_headers() == {"Authorization": "Bearer secret"}
        assert (info.default_namespace, info.proxy_url, info.insecure) == ("here", "http://proxy:1", False)

    def test_several_files_are_merged_and_a_context_is_chosen(self, tmp_path: Path) -> None:
        first = kubeconfig(tmp_path / "first", user={"token": "one"})
        second = kubeconfig(tmp_path / "second", name="prod", user={"username": "jo", "password": "pw"})
        both = f"{first}{os.pathsep}{second}{os.pathsep}{tmp_path / 'missing'}"
        info = Credentials.load(context="prod", environ={"KUBECONFIG": both}).read()
        assert info.server == "https://prod.example:6443"
        assert info.as_http_headers() == {"Authorization": "Basic am86cHc="}

    def test_relative_paths_are_relative_to_the_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir("/")
        folder = tmp_path / "nested"
        folder.mkdir()
        (folder / "ca.pem").write_text(CA)
        (folder / "token").write_text("from-file")
        path = kubeconfig(folder / "config", user={"tokenFile": "token"}, cluster={"certificate-authority": "ca.pem"})
        info = Credentials.load(path).read()
        assert (info.ca_data, info.token) == (CA, "from-file")

    def test_client_certificates_come_along(self, tmp_path: Path) -> None:
        key = CA.replace("CERTIFICATE", "PRIVATE KEY")
        user = {
            "client-certificate-data": base64.b64encode(CA.encode()).decode(),
            "client-key-data": base64.b64encode(key.encode()).decode(),
        }
        info = Credentials.load(kubeconfig(tmp_path / "config", user=user)).read()
        assert (info.certificate_data, info.private_key_data, info.token) == (CA, key, None)

    async def test_a_credential_plugin_is_run_anew_each_time(self, tmp_path: Path) -> None:
        count = tmp_path / "count"
        script = (
            f"import pathlib; p = pathlib.Path({str(count)!r}); n = int(p.read_text()) + 1 if p.exists() else 1\n"
            f"p.write_text(str(n)); print({exec_credential(token='T%d')!r} % n)"
        )
        credentials = Credentials.load(kubeconfig(tmp_path / "config", user=plugin(tmp_path / "plugin", script)))
        assert [(await credentials.connection()).token for _ in range(2)] == ["T1", "T2"]

    def test_a_failing_credential_plugin_is_quoted(self, tmp_path: Path) -> None:
        user = plugin(tmp_path / "plugin", "import sys; sys.exit('please log in')")
        with pytest.raises(
            CredentialsError, match=r"plugin gave no credentials: exec: process returned 1\. please log in"
        ):
            Credentials.load(kubeconfig(tmp_path / "config", user=user)).read()

    def test_a_missing_credential_plugin_is_named(self, tmp_path: Path) -> None:
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}}
        with pytest.raises(CredentialsError, match="no-such-plugin"):
            Credentials.load(kubeconfig(tmp_path / "config", user=user)).read()

    def test_nothing_global_is_set(self, tmp_path: Path) -> None:
        from kubernetes.client import Configuration  # noqa: PLC0415

        Credentials.load(kubeconfig(tmp_path / "config", user={"token": "secret"})).read()
        assert not Configuration.get_default_copy().api_key

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "is empty|file is empty"),
            ("a: [", "cannot be used: while parsing"),
            ("- a list", "is not a valid kubeconfig"),
            ("kind: Config", "cannot be used: .*current-context"),
        ],
        ids=["empty", "no YAML", "another shape", "no context"],
    )
    def test_a_bad_file_is_named(self, tmp_path: Path, text: str, told: str) -> None:
        path = tmp_path / "config"
        path.write_text(text)
        with pytest.raises(CredentialsError, match=told) as caught:
            Credentials.load(path).read()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_missing_file_says_how_to_name_another(self, tmp_path: Path) -> None:
        with pytest.raises(CredentialsError, match=f"no kubeconfig at {tmp_path}/none; name one with --kubeconfig"):
            Credentials.load(tmp_path / "none").read()

    def test_an_unknown_context_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(CredentialsError, match="prod"):
            Credentials.load(kubeconfig(tmp_path / "config"), "prod").read()

    def test_a_cluster_without_a_server_is_named(self, tmp_path: Path) -> None:
        path = kubeconfig(
            tmp_path / "config", clusters=[{"name": "dev", "cluster": {"insecure-skip-tls-verify": True}}]
        )
        with pytest.raises(CredentialsError, match="names no server for its cluster 'dev'"):
            Credentials.load(path).read()
