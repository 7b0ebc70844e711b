"""Where the demo plays: a control plane that ends with it, one that stays up, or the user's own cluster."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.controlplane import Cluster, ControlPlane, daemon
from tests.controlplane.binaries import find_binaries, find_kubectl
from tests.demo import keeper
from tests.operator_process import OperatorProcess

USER_KUBECONFIG = "MOORAGE_KUBECONFIG"
NODES = 3
POLICIES = "manifests/policies"
CRDS = ("capacitybuffers.moorage.dev", "namespacequotas.moorage.dev")


class PlaceError(RuntimeError):
    """The demo cannot play there; the message says what to do."""


@dataclass
class Place:
    """A cluster to play on."""

    cluster: Cluster
    about: str
    """A sentence on what kind of cluster it is."""
    operator_log: Path
    run_operator: Callable[[], None]
    """Runs the operator and returns when it is ready."""
    prefix: str = ""
    """What names of namespaces begin with, where the cluster is not the demo's alone."""
    has_definitions: bool = False
    """Whether our CRDs were in the cluster before."""
    namespaces: list[str] = field(default_factory=list)
    """Those that the demo made, or is about to make."""

    @property
    def alone(self) -> bool:
        """Whether the cluster is the demo's alone."""
        return not self.prefix


def choose(*, keep: bool) -> AbstractContextManager[Place]:
    """Choose by MOORAGE_KUBECONFIG, and by whether the cluster is to be kept."""
    users = os.environ.get(USER_KUBECONFIG)
    if users:
        return of_the_user(Path(users).expanduser().absolute(), keep=keep)
    return staying(daemon.DIRECTORY) if keep else passing()


@contextmanager
def passing() -> Iterator[Place]:
    """A control plane that ends with the demo, however that ends."""
    binaries = find_binaries()
    started = time.monotonic()
    with ControlPlane(binaries=binaries) as plane:
        plane.add_nodes(NODES)
        operator = OperatorProcess(plane.kubeconfig, plane.logs / "moorage.log")
        try:
            yield Place(plane, _own(plane, started), operator.log, operator.start_and_wait)
        finally:
            operator.stop()


@contextmanager
def staying(directory: Path) -> Iterator[Place]:
    """A control plane that stays up with its operator when all goes well, until `make cluster-down`."""
    if daemon.owner_of(directory) is not None:
        raise PlaceError(
            f"a cluster is up already: end it with `make cluster-down`, "
            f"or show the demo on it with {USER_KUBECONFIG}={directory / 'kubeconfig'}"
        )
    binaries = find_binaries()
    started = time.monotonic()
    try:
        daemon.up(directory, ["--nodes", str(NODES)])
        cluster = Cluster(directory / "kubeconfig", binaries.command("kubectl"), directory)
        log = keeper.operator_log(directory)
        yield Place(cluster, _own(cluster, started), log, lambda: keeper.keep(directory))
    except BaseException:
        daemon.down(directory)
        raise
    _print_lines(
        "The cluster and the operator are left running. To use them, and to end them:",
        f"export KUBECONFIG={cluster.kubeconfig}",
        f'export PATH="{directory / "bin"}:$PATH"',
        "make cluster-down",
    )


@contextmanager
def of_the_user(kubeconfig: Path, *, keep: bool) -> Iterator[Place]:
    """The user's cluster: namespaces of the demo's own, removed afterwards, and so are definitions that it brought."""
    if not kubeconfig.is_file():
        raise PlaceError(f"{USER_KUBECONFIG}: {kubeconfig} is no file")
    on_path = shutil.which("kubectl")
    prefix = f"moorage-demo-{secrets.token_hex(2)}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        cluster = Cluster(kubeconfig, [on_path] if on_path else find_kubectl(), Path(folder))
        context = cluster.kubectl("config", "current-context").strip()
        started: list[OperatorProcess] = []

        def run_operator() -> None:
            flags = [flag for namespace in place.namespaces for flag in ("-n", namespace)]
            started.append(OperatorProcess(kubeconfig, place.operator_log, *flags))
            started[0].start_and_wait()

        place = Place(
            cluster,
            f"This is your cluster, {context} (Kubernetes {_version(cluster)}).",
            Path(folder) / "moorage.log",
            run_operator,
            prefix=prefix,
            has_definitions=_has_definitions(cluster),
        )
        try:
            yield place
        except BaseException:
            _clean_up(place, started)
            raise
        if not keep:
            _clean_up(place, started)
            return
        for operator in started:
            operator.stop()
        _print_lines(
            "The namespaces are left in your cluster. To use them, and to remove them:",
            f"export KUBECONFIG={kubeconfig}",
            f"moorage run {' '.join(f'-n {each}' for each in place.namespaces)}",
            f"kubectl delete namespace {' '.join(place.namespaces)}",
        )


def _clean_up(place: Place, operators: Sequence[OperatorProcess]) -> None:
    """End the operator and remove what the demo made in the user's cluster; an interrupt does not keep us from it."""
    print("\nRemoving what the demo made in your cluster.", flush=True)
    try:
        try:
            _remove(place, operators)
        except (KeyboardInterrupt, SystemExit):
            print("Still removing; interrupt once more to leave the rest.", flush=True)
            _remove(place, operators)
    except BaseException:
        left = [f"kubectl delete namespace {' '.join(place.namespaces)}"] if place.namespaces else []
        if not place.has_definitions:
            left += [f"kubectl delete -k {POLICIES}", f"kubectl delete crd {' '.join(CRDS)}"]
        _print_lines("Not all could be removed. What is left goes away with:", *left)
        raise


def _remove(place: Place, operators: Sequence[OperatorProcess]) -> None:
    cluster = place.cluster
    for operator in operators:
        operator.stop()
    if place.namespaces:
        cluster.kubectl("delete", "namespace", *place.namespaces, "--wait=false", "--ignore-not-found")
        for namespace in place.namespaces:
            cluster.wait_for_removal(namespace)
    if not place.has_definitions:
        cluster.kubectl("delete", "-k", POLICIES, "--ignore-not-found")
        cluster.kubectl("delete", "crd", *CRDS, "--ignore-not-found")


def _has_definitions(cluster: Cluster) -> bool:
    found = cluster.kubectl("get", "crd", *CRDS, "--ignore-not-found", "-o", "name").split()
    if len(found) == 1:
        raise PlaceError(f"of our two definitions the cluster has {found[0]} alone; install both, or remove it first")
    return bool(found)


def _own(cluster: Cluster, started: float) -> str:
    seconds = time.monotonic() - started
    return f"A Kubernetes {_version(cluster)} of our own with {NODES} simulated nodes, up in {seconds:.1f} s."


def _version(cluster: Cluster) -> str:
    return str(json.loads(cluster.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"])


def _print_lines(first: str, *indented: str) -> None:
    print("\n".join(["", first, *(f"  {line}" for line in indented)]), flush=True)
