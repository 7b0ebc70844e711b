"""What tests and the demo do with a cluster, whether we started it or it is the user's own."""

import json
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .kubeconfig import make_kubeconfig, write_kubeconfig
from .waiting import BUSY_FACTOR, wait_for

NAMESPACE_PREFIX = "moorage-test-"
KUBECTL_CACHE = "kubectl-cache"
KUBECTL_TIMEOUT_SECONDS = 60.0
NAMESPACE_REMOVAL_SECONDS = 60.0


class KubectlError(RuntimeError):
    """A kubectl command failed; the message has what it wrote to standard error."""

    def __init__(self, arguments: Sequence[str], returncode: int, stderr: str) -> None:
        super().__init__(f"kubectl {' '.join(arguments)} ended with exit code {returncode}: {stderr.strip()}")
        self.returncode = returncode
        self.stderr = stderr


class Cluster:
    """A cluster behind a kubeconfig."""

    def __init__(self, kubeconfig: Path, kubectl: Sequence[str], directory: Path) -> None:
        self.kubeconfig = kubeconfig
        self.directory = directory  # for the kubeconfigs made here
        self.namespaces_left: list[str] = []  # whose removal was asked for and not waited for
        self._kubectl = list(kubectl)

    def kubectl(
        self,
        *arguments: str,
        stdin: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        kubeconfig: Path | None = None,
        timeout: float = KUBECTL_TIMEOUT_SECONDS,
    ) -> str:
        """Run kubectl and return its standard output; a failure raises with its standard error.

        `stdin` is a text, an object or several objects (for `-f -`).
        """
        environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "KUBERC": "off",
            "KUBECACHEDIR": str(self.directory / KUBECTL_CACHE),  # another cluster may have had the same port
        }
        done = subprocess.run(
            [*self._kubectl, *arguments],
            input=_as_text(stdin),
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
            check=False,
        )
        if done.returncode:
            raise KubectlError(arguments, done.returncode, done.stderr)
        return done.stdout

    def get(self, *arguments: str) -> Any:
        """`kubectl get ARGUMENTS... -o json` as Python values; several objects are a list of them."""
        answer = json.loads(self.kubectl("get", *arguments, "-o", "json"))
        return answer["items"] if answer["kind"] == "List" else answer

    def apply(self, *objects: Mapping[str, Any], namespace: str = "default") -> None:
        """Apply objects with server-side apply and strict field validation."""
        self.kubectl("apply", "--server-side", "--validate=strict", "-n", namespace, "-f", "-", stdin=objects)

    @contextmanager
    def namespace(self, prefix: str = NAMESPACE_PREFIX) -> Iterator[str]:
        """A namespace of a new name, ready for pods.

        On leaving its removal is asked for; the controller manager begins with it five seconds later, so waiting is
        left to `wait_for_removal`.
        """
        name = prefix + secrets.token_hex(4)
        self.kubectl("create", "namespace", name)
        try:
            self.wait_for_service_account(name)
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
            self.namespaces_left.append(name)

    def wait_for_service_account(self, namespace: str, name: str = "default", timeout: float = 30.0) -> None:
        """Wait until pods can be made in a namespace: the controller manager makes the account they run as."""
        wait_for(
            lambda: self.kubectl("get", "serviceaccount", "-n", namespace, name, "--ignore-not-found"),
            timeout=timeout,
            message=f"service account {name} in namespace {namespace}",
        )

    def wait_until_served(self, *kinds: str, timeout: float = 30.0) -> None:
        """Wait until objects of custom kinds (`widgets.example.com`) can be read; without names: of all there are.

        `kubectl wait` is not enough: it fails on a definition that is too new to have conditions, and kinds are
        found a moment after these say so.
        """

        def served() -> bool:
            defined = [name.split("/")[1] for name in self.kubectl("get", "crd", "-o", "name").split()]
            self.kubectl("get", ",".join(kinds or defined), "--all-namespaces", "-o", "name")
            return True

        wait_for(
            served, timeout=timeout, ignore=KubectlError, message=f"kinds to be served: {', '.join(kinds) or 'all'}"
        )

    def wait_for_removal(self, namespace: str) -> None:
        """Wait until a namespace and all that was in it is gone."""
        wait_for(
            lambda: not self.kubectl("get", "namespace", namespace, "--ignore-not-found"),
            timeout=NAMESPACE_REMOVAL_SECONDS,
            message=lambda: (
                f"removal of namespace {namespace}, which says: "
                + self.kubectl("get", "namespace", namespace, "-o", "jsonpath={.status.conditions[*].message}")
            ),
        )

    def wait_for_rollout(self, deployment: str, namespace: str = "default", *, timeout: float = 60.0) -> None:
        """Wait until all pods of a deployment run."""
        seconds = timeout * BUSY_FACTOR
        self.kubectl(
            "rollout", "status", f"deployment/{deployment}", "-n", namespace, f"--timeout={seconds:.0f}s",
            timeout=seconds + KUBECTL_TIMEOUT_SECONDS,
        )  # fmt: skip

    def add_nodes(
        self,
        count: int,
        *,
        cpu: str = "32",
        memory: str = "256Gi",
        pods: int = 110,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        extended: Mapping[str, str] | None = None,
        prefix: str = "node-",
    ) -> list[str]:
        """Make simulated nodes and wait until they are ready; returns their names."""
        room = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "1Ti", **(extended or {})}
        nodes = [
            _node(f"{prefix}{secrets.token_hex(3)}", room=room, labels=labels or {}, taints=taints)
            for _ in range(count)
        ]
        names = [str(node["metadata"]["name"]) for node in nodes]
        self.kubectl("create", "-f", "-", stdin=nodes, timeout=KUBECTL_TIMEOUT_SECONDS + count)
        wait_for(
            lambda: self._ready_nodes().issuperset(names),
            timeout=KUBECTL_TIMEOUT_SECONDS + count,
            message=lambda: f"nodes ready: {', '.join(sorted(set(names) - self._ready_nodes()))}",
        )
        return names

    def _ready_nodes(self) -> set[str]:
        return {node["metadata"]["name"] for node in self.get("nodes") if _is_ready(node)}

    def service_account_kubeconfig(self, namespace: str, name: str, *, duration: str = "1h") -> Path:
        """A kubeconfig with exactly the rights of a service account: its token, from the TokenRequest API."""
        token = self.kubectl("create", "token", "-n", namespace, name, f"--duration={duration}").strip()
        content = make_kubeconfig(name, self._cluster_entry(), {"token": token}, namespace=namespace)
        return write_kubeconfig(self.directory / "kubeconfigs" / f"{namespace}.{name}", content)

    def kubeconfig_for_server(self, server: str) -> Path:
        """The same credentials for another URL, for example a proxy's that breaks connections."""
        content = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
        content["clusters"][0]["cluster"]["server"] = server
        folder = self.directory / "kubeconfigs"
        return write_kubeconfig(folder / f"server.{secrets.token_hex(4)}", content)

    def _cluster_entry(self) -> dict[str, Any]:
        view = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
        return dict(view["clusters"][0]["cluster"])


def _node(
    name: str, *, room: Mapping[str, str], labels: Mapping[str, str], taints: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    well_known = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "type": "kwok",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**well_known, **labels},
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"taints": list(taints)},
        "status": {"allocatable": dict(room), "capacity": dict(room)},
    }


def _is_ready(node: Mapping[str, Any]) -> bool:
    """Whether pods can be put on a node: it says Ready, and the taint that new nodes start with is gone."""
    conditions = {condition["type"]: condition["status"] for condition in node["status"].get("conditions", ())}
    taints = {taint["key"] for taint in node["spec"].get("taints", ())}
    return conditions.get("Ready") == "True" and "node.kubernetes.io/not-ready" not in taints


def _as_text(stdin: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> str | None:
    if stdin is None or isinstance(stdin, str):
        return stdin
    if isinstance(stdin, Mapping):
        return json.dumps(stdin)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(stdin)})
