"""Fixtures that run the operator on the test's cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.controlplane.cluster import Cluster
from tests.operator_process import OperatorProcess


@pytest.fixture(scope="module")
def operator(crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """An operator that the tests of a module share; other modules want their objects left alone."""
    process = OperatorProcess(crds.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    process.start_and_wait()
    yield process
    process.stop()


@pytest.fixture
def start_operator(crds: Cluster, tmp_path: Path) -> Iterator[Callable[..., OperatorProcess]]:
    """Start an operator of the test's own: `start_operator("-n", namespace)`; it ends with the test.

    With `wait=False` it is not waited for until it is ready, which it may never be.
    """
    started: list[OperatorProcess] = []

    def start(*arguments: str, kubeconfig: Path | None = None, wait: bool = True) -> OperatorProcess:
        process = OperatorProcess(kubeconfig or crds.kubeconfig, tmp_path / f"operator-{len(started)}.log", *arguments)
        started.append(process)
        if wait:
            process.start_and_wait()
        else:
            process.start()
        return process

    yield start
    for process in started:
        process.stop()
