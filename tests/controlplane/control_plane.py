"""A control plane of our own: real etcd, Kubernetes and kwok (and Karpenter) on this machine's loopback."""

import fcntl
import os
import shutil
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from .binaries import Binaries, find_binaries
from .build import to_stderr
from .certificates import CLIENTS, make_certificates
from .cluster import KUBECTL_CACHE, Cluster
from .commands import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KARPENTER,
    KWOK,
    SCHEDULER,
    Options,
    Place,
    component_command,
    karpenter_environment,
)
from .component import Component, ComponentError, tail
from .health import NOT_YET, is_healthy
from .kubeconfig import client_certificate, cluster_entry, make_kubeconfig, write_kubeconfig
from .ports import ReservedPort
from .waiting import wait_for

START_TIMEOUT_SECONDS = 60.0
LOCK = "lock"
EPHEMERAL = (
    "etcd",
    "pki",
    "kubeconfigs",
    "bin",
    "kubeconfig",
    KUBECTL_CACHE,
    "pod-delete.yaml",
)  # of no use without the processes; logs are kept
PORTS = {
    ETCD: (ETCD, "etcd-peer"),
    APISERVER: (APISERVER,),
    CONTROLLER_MANAGER: (CONTROLLER_MANAGER,),
    SCHEDULER: (SCHEDULER,),
    KWOK: (KWOK,),
    KARPENTER: (KARPENTER, "karpenter-metrics"),
}
EVERY_ADDRESS = {KARPENTER}  # it cannot be told to serve on loopback only


class ControlPlane(Cluster):
    """Starts a control plane on entering, ends it on leaving, or when its process ends in whatever way.

    Its files (kubeconfig, certificates, logs, etcd's data) are in `directory`, or in a temporary folder that goes
    away with it; set `keep_logs` to keep that folder.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        options: Options | None = None,
        binaries: Binaries | None = None,
        report: Callable[[str], None] = to_stderr,
    ) -> None:
        self.options = options or Options()
        self.binaries = binaries or find_binaries(karpenter=self.options.karpenter, report=report)
        self.temporary = directory is None
        self.keep_logs = not self.temporary
        self.start_seconds = 0.0
        folder = Path(tempfile.mkdtemp(prefix="moorage-cluster-")) if directory is None else directory.absolute()
        super().__init__(folder / "kubeconfig", self.binaries.command("kubectl"), folder)
        self.components: dict[str, Component] = {}
        self._names = [name for name in PORTS if name != KARPENTER or self.options.karpenter]
        self._lock: IO[str] | None = None
        self._reserved: dict[str, ReservedPort] = {}

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException as error:
            self.keep_logs |= isinstance(error, Exception)  # a message points at them
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # One component at a time: for tests of what happens when it fails.

    def start(self, component: str, timeout: float = START_TIMEOUT_SECONDS) -> None:
        """Start a component and wait until it says that it is healthy."""
        self._launch(component)
        self.wait_until_healthy(component, timeout)

    def stop(self, component: str) -> None:
        """End a component with SIGTERM."""
        self.components[component].stop()

    def kill(self, component: str) -> None:
        """End a component with SIGKILL."""
        self.components[component].kill()

    def restart(self, component: str) -> None:
        """End a component in order and start it again on the same port and data.

        The controller manager is restarted with the API server: by itself it backs off, and for up to a minute then
        new namespaces lack the service account that pods need.
        """
        self.stop(component)
        self.start(component)
        if component == APISERVER:
            self.restart(CONTROLLER_MANAGER)

    def pause(self, component: str) -> None:
        """Freeze a component: it keeps its connections and answers nothing."""
        self.components[component].pause()

    def resume(self, component: str) -> None:
        """Let a paused component go on."""
        self.components[component].resume()

    def wait_until_healthy(self, component: str, timeout: float = START_TIMEOUT_SECONDS) -> None:
        """Wait until a component's health check succeeds; raises at once when its process ends."""
        process = self.components[component]

        def healthy() -> bool:
            process.require_running()
            return is_healthy(component, self.place, self._ssl)

        wait_for(
            healthy,
            timeout=timeout,
            ignore=NOT_YET,
            message=lambda: f"{component} healthy; the end of its log {process.log}:\n{process.tail()}",
        )

    # Logs

    @property
    def logs(self) -> Path:
        """The folder of the components' logs."""
        return self.directory / "logs"

    def log_sizes(self) -> dict[str, int]:
        """How long each log is now: for `logs_since`."""
        return {path.name: path.stat().st_size for path in self.logs.glob("*.log")}

    def logs_since(self, sizes: Mapping[str, int], lines: int = 20) -> dict[str, str]:
        """The last lines that each component wrote since then; those that wrote nothing are left out."""
        paths = sorted(self.logs.glob("*.log"))
        texts = {path.stem: tail(path, lines, since=sizes.get(path.name, 0)) for path in paths}
        return {name: text for name, text in texts.items() if text}

    # Start and end of the whole

    def _start_all(self) -> None:
        started = time.monotonic()
        self._prepare()
        self.start(ETCD)
        self.start(APISERVER)
        for component in (CONTROLLER_MANAGER, SCHEDULER):
            self._launch(component)
        self.start(KWOK)
        for component in (CONTROLLER_MANAGER, SCHEDULER):
            self.wait_until_healthy(component)
        self.wait_for_service_account("default", timeout=START_TIMEOUT_SECONDS)
        if self.options.karpenter:
            self._start_karpenter()
        self.start_seconds = time.monotonic() - started

    def _prepare(self) -> None:
        """Claim the folder, empty it of what another cluster left, and make certificates and kubeconfigs."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = _claim(self.directory)
        remove_all(self.directory, *EPHEMERAL, "logs")
        self.logs.mkdir()
        for component in self._names:
            address = "" if component in EVERY_ADDRESS else "127.0.0.1"
            self._reserved.update({port: ReservedPort(address) for port in PORTS[component]})
        ports = {name: port.number for name, port in self._reserved.items()}
        certificates = make_certificates(self.directory / "pki")
        self.place = Place(self.directory, certificates, ports)
        self._ssl = ssl.create_default_context(cafile=str(certificates.authority))
        for client in CLIENTS:
            server = cluster_entry(self.place.url(APISERVER, "https"), certificates.authority)
            user = client_certificate(certificates.clients[client])
            write_kubeconfig(self.place.kubeconfig(client), make_kubeconfig("moorage", server, user))
        self._make_kubectl()
        for name in self._names:
            self.components[name] = Component(
                name,
                [],
                log=self.logs / f"{name}.log",
                remove_when_orphaned=[self.directory if self.temporary else self.place.data] if name == ETCD else [],
            )

    def _make_kubectl(self) -> None:
        """A kubectl to put on PATH beside the kubeconfig."""
        folder = self.directory / "bin"
        folder.mkdir()
        (folder / "kubectl").symlink_to(self.binaries.command("kubectl")[0])

    def _launch(self, component: str) -> None:
        process = self.components[component]
        process.command = component_command(component, binaries=self.binaries, place=self.place, options=self.options)
        if component == KARPENTER:
            process.environment = karpenter_environment(self.place)
        for port in PORTS[component]:
            self._reserved[port].hand_over()
        process.start()

    def _start_karpenter(self) -> None:
        for crd in self.binaries.karpenter_crds:
            self.kubectl("create", "-f", str(crd))
        self.wait_until_served()
        self.start(KARPENTER)

    def close(self) -> None:
        """End everything. Nothing of a cluster's data outlives it, so there is nothing to shut down in order."""
        for process in reversed(self.components.values()):
            process.kill()
            process.wait(0)
        for port in self._reserved.values():
            port.release()
        self.components.clear()
        self._reserved.clear()
        if self._lock is not None:  # else it never started, and the folder may be another cluster's
            remove_all(self.directory, *EPHEMERAL)
            self._lock.close()
            self._lock = None
        if self.temporary and not self.keep_logs:
            shutil.rmtree(self.directory, ignore_errors=True)


def _claim(directory: Path) -> IO[str]:
    """Lock a folder, so that two control planes never share one; the lock file says which process has it."""
    lock = (directory / LOCK).open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise ComponentError(f"a control plane runs already with its files in {directory}") from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def remove_all(directory: Path, *names: str) -> None:
    for name in names:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
