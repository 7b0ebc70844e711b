"""Fixtures of tests on a cluster that everything in the base is installed in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.admission.certificate_store import CONFIGURATION
from tests.cluster.audit import AuditLog
from tests.cluster.explaining import free_ports
from tests.cluster.install.installation import ACCOUNT, SYSTEM, USER, StartInstalled, build, install_base
from tests.controlplane import ControlPlane, Options
from tests.controlplane.choice import USER_KUBECONFIG, user_kubeconfig
from tests.manifests.documents import BASE
from tests.operator_process import OperatorProcess


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A cluster of this module's own, since it is installed into as a whole, with an audit log."""
    if user_kubeconfig() is not None:
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    with ControlPlane(options=Options(audit=True)) as plane:
        plane.add_nodes(1)
        yield plane


@pytest.fixture
def installed(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster with everything in the base, and nothing added to it.

    Nothing here routes to Services, so the webhook would cost each object its timeout: its configuration is left out.
    """
    install_base(control_plane)
    control_plane.kubectl("delete", "mutatingwebhookconfiguration", CONFIGURATION)
    yield control_plane
    control_plane.kubectl("delete", "clusterrole", "moorage-operator-rollouts", "--ignore-not-found")


@pytest.fixture
def audit(installed: ControlPlane) -> AuditLog:
    return AuditLog(installed.place.audit_log, USER)


@pytest.fixture
def start_installed(installed: ControlPlane, tmp_path: Path) -> Iterator[StartInstalled]:
    """Start the operator with the installed account's rights and the arguments that a kustomization gives it.

    But for the port of its webhook, which another run on this machine may have.
    """
    started: list[OperatorProcess] = []

    def start(
        *further: str, cluster: ControlPlane = installed, folder: Path = BASE, wait: bool = True
    ) -> OperatorProcess:
        [operator] = [each for each in build(cluster, folder) if each["kind"] == "Deployment"]
        command, *arguments = operator["spec"]["template"]["spec"]["containers"][0]["args"]
        assert command == "run"
        arguments = [f"--webhook-port={port}" if "--webhook-port" in each else each for each in arguments]
        account = cluster.service_account_kubeconfig(SYSTEM, ACCOUNT)
        process = OperatorProcess(account, tmp_path / f"operator-{len(started)}.log", *arguments, *further)
        started.append(process)
        if wait:
            process.start_and_wait()
        else:
            process.start()
        return process

    with free_ports(1) as [port]:
        yield start
    for process in started:
        process.stop()
