"""kubeconfig files, read by the official client library: contexts, credential plugins, token refresh, relative paths.

Imported only when a kubeconfig is used. Nothing global is touched: its configuration goes
into an object of our own.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import logging
import os
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import kopf
import yaml
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, kube_config

from moorage.cluster.credentials import pem, token_expiration
from moorage.cluster.errors import CredentialsError
from moorage.quoting import quoted


def read_kubeconfig(paths: str, context: str | None) -> kopf.ConnectionInfo:
    """Read one context of one or more kubeconfig files (joined as in KUBECONFIG); None: the current context.

    Runs credential plugins and writes refreshed tokens back, as kubectl does; so it may take seconds.
    Raises CredentialsError.
    """
    where = f"kubeconfig {paths}" + (f", context {context}" if context else "")
    existing = [path for path in map(os.path.expanduser, paths.split(os.pathsep)) if path and os.path.exists(path)]
    if not existing:
        raise CredentialsError(f"there is no kubeconfig at {paths}; name one with --kubeconfig or KUBECONFIG")
    try:
        return _load(os.pathsep.join(existing), context, where)
    except (ConfigException, yaml.YAMLError, OSError) as error:
        raise CredentialsError(f"{where} cannot be used: {_one_line(error)}") from error
    except CredentialsError:
        raise
    except Exception as error:
        # The library assumes well-formed documents and stumbles over others in any way; so do the ones it uses to
        # refresh tokens.
        what = f"{type(error).__name__}: {_one_line(error)}"
        raise CredentialsError(f"{where} is not a valid kubeconfig, or cannot be used now ({what})") from error


def _load(paths: str, context: str | None, where: str) -> kopf.ConnectionInfo:
    merger: Any = kube_config.KubeConfigMerger(paths)  # type: ignore[no-untyped-call]
    loader: Any = kube_config.KubeConfigLoader(  # type: ignore[no-untyped-call]
        config_dict=merger.config,
        active_context=context,
        config_base_path=None,
        config_persister=merger.save_changes,
    )
    section = loader.current_context["context"]
    cluster = merger.config["clusters"].get_with_name(section["cluster"])["cluster"]
    if "server" not in cluster:
        raise CredentialsError(f"{where} names no server for its cluster {quoted(section['cluster'])}")

    configuration = Configuration()
    with _Complaints() as complaints:
        loader.load_and_set(configuration)
    if complaints.texts and not (configuration.api_key or configuration.cert_file):
        raise CredentialsError(f"{where}: its credential plugin gave no credentials: {complaints.texts[0]}")

    header = configuration.get_api_key_with_prefix("BearerToken") or ""
    scheme, _, token = header.partition(" ")
    info: dict[str, Any] = {
        "server": configuration.host,
        "ca_data": pem(Path(configuration.ssl_ca_cert)) if configuration.ssl_ca_cert else None,
        "insecure": not configuration.verify_ssl,
        "scheme": scheme or None,
        "token": token.strip() or None,
        "certificate_data": pem(Path(configuration.cert_file)) if configuration.cert_file else None,
        "private_key_data": pem(Path(configuration.key_file)) if configuration.key_file else None,
        "default_namespace": section.get("namespace"),
        "proxy_url": cluster["proxy-url"] if "proxy-url" in cluster else _proxy_of_environment(configuration.host),
        "expiration": token_expiration(token),
    }
    if configuration.tls_server_name:
        return NamedServerConnection(**info, tls_server_name=configuration.tls_server_name)
    return kopf.ConnectionInfo(**info)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NamedServerConnection(kopf.ConnectionInfo):
    """A server whose certificate is for another name than its address (`tls-server-name`), as tunnels have it."""

    tls_server_name: str

    def as_ssl_context(self) -> ssl.SSLContext:
        """Return a context that asks for and checks `tls_server_name`, whatever host the caller connects to."""
        context = super().as_ssl_context()
        wrap = context.wrap_bio

        def wrap_bio(*args: Any, **kwargs: Any) -> ssl.SSLObject:
            return wrap(*args, **(kwargs | {"server_hostname": self.tls_server_name}))

        # aiohttp offers no server name per session, and kopf builds the session; asyncio calls only this method.
        context.wrap_bio = wrap_bio  # type: ignore[method-assign]
        return context


class _Complaints(logging.Handler):
    """What the library logs in this thread meanwhile: it logs the failure of a credential plugin and goes on."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self.texts: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.texts.append(_one_line(record.getMessage()))

    def __enter__(self) -> _Complaints:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


def _proxy_of_environment(server: str) -> str | None:
    """Return the proxy for a server as kubectl has it: never for this machine, nor for what NO_PROXY names.

    The library's own choice ignores both, and would have our requests for a local cluster leave through the proxy.
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    with suppress(ValueError):
        if host == "localhost" or ipaddress.ip_address(host).is_loopback:
            return None
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _one_line(error: object) -> str:
    return " ".join(str(error).split())
