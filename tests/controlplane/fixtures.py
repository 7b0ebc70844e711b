"""pytest fixtures for tests against a real control plane; see docs/control-plane.md."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.figures import tell

from .binaries import Binaries, find_binaries, find_kubectl
from .choice import USER_KUBECONFIG, open_cluster, user_kubeconfig
from .cluster import Cluster
from .commands import CONTROLLER_MANAGER, Options
from .control_plane import ControlPlane

LOG_LINES = 25
SHARED = Options(
    resource_quota_sync_period="24h",
    extra={CONTROLLER_MANAGER: ["--horizontal-pod-autoscaler-sync-period=2s"]},
)
"""Tests show what the native quotas say before they are counted anew, and have that done when they want it. Autoscalers
look every two seconds, since a test that waits for one waits for two of its looks."""
FIXTURES = ("control_plane", "start_control_plane")

Prepared = Binaries | BaseException
_prepared = pytest.StashKey[Prepared]()
_running = pytest.StashKey[list[ControlPlane]]()
_log_sizes = pytest.StashKey[dict[ControlPlane, dict[str, int]]]()


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster of this test run: one of our own, or the user's when MOORAGE_KUBECONFIG is set."""
    binaries = None if user_kubeconfig() else _binaries(request.config)
    running = request.config.stash[_running]
    with open_cluster(options=SHARED, binaries=binaries) as cluster:
        if isinstance(cluster, ControlPlane):
            running.append(cluster)
        yield cluster
        running[:] = [plane for plane in running if plane is not cluster]


@pytest.fixture
def own_control_plane(control_plane: Cluster) -> ControlPlane:
    """The same cluster for tests that restart its components or make nodes; skipped on a user's cluster."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip(f"needs a control plane of our own, and {USER_KUBECONFIG} is set")
    return control_plane


@pytest.fixture
def start_control_plane(request: pytest.FixtureRequest) -> Iterator[Callable[..., ControlPlane]]:
    """Start further control planes, `start_control_plane(audit=True, ...)`; they end with the test."""
    running = request.config.stash[_running]
    started: list[ControlPlane] = []

    def start(**options: Any) -> ControlPlane:
        plane = ControlPlane(options=Options(**options), binaries=_binaries(request.config))
        running.append(plane)
        started.append(plane)
        return plane.__enter__()

    yield start
    for plane in started:
        plane.close()
        running.remove(plane)


@pytest.fixture(scope="session")
def kubeconfig(control_plane: Cluster) -> Path:
    """The administrator's kubeconfig."""
    return control_plane.kubeconfig


@pytest.fixture
def kubectl(control_plane: Cluster) -> Callable[..., str]:
    """Run kubectl: `kubectl("get", "pods", "-n", namespace)` returns what it prints, or raises with its errors."""
    return control_plane.kubectl


@pytest.fixture
def namespace(control_plane: Cluster) -> Iterator[str]:
    """A namespace of the test's own; its removal is asked for at the end of the test."""
    with control_plane.namespace() as name:
        yield name


def _binaries(config: pytest.Config) -> Binaries:
    prepared = config.stash.get(_prepared, None)
    if isinstance(prepared, BaseException):
        raise prepared
    return prepared if prepared is not None else find_binaries()


def _uses(item: pytest.Item, *fixtures: str) -> bool:
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "karpenter: needs Karpenter, which is built when such a test is chosen")
    config.stash[_running] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the chosen tests need, before any test's time limit runs."""
    users = [item for item in session.items if _uses(item, *FIXTURES)]
    if not users or session.config.option.collectonly:
        return
    try:
        on_users_cluster = user_kubeconfig() is not None
    except FileNotFoundError as error:
        raise pytest.UsageError(str(error)) from error
    builders = [item for item in users if _uses(item, "start_control_plane") or not on_users_cluster]
    karpenter = any(item.get_closest_marker("karpenter") for item in builders)
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        try:
            if on_users_cluster:
                find_kubectl()
            if builders:
                session.config.stash[_prepared] = find_binaries(karpenter=karpenter)
        except Exception as error:  # the tests that need it fail with it; the others run
            session.config.stash[_prepared] = error


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember where the logs end."""
    if _uses(item, *FIXTURES):
        item.stash[_log_sizes] = {plane: plane.log_sizes() for plane in item.config.stash[_running]}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Add to a failed test's report what the components logged meanwhile, and keep the logs."""
    report = yield
    if report.failed and _uses(item, *FIXTURES):
        sizes = item.stash.get(_log_sizes, {})
        for plane in item.config.stash[_running]:
            plane.keep_logs = True
            tell(item.config, f"control plane logs kept in {plane.logs}")
            report.sections.append((f"control plane logs ({report.when})", str(plane.logs)))
            for name, text in plane.logs_since(sizes.get(plane, {}), LOG_LINES).items():
                report.sections.append((f"{name} log ({report.when})", text))
    return report
