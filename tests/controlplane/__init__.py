"""A real Kubernetes control plane, built from source, for the demo, the tests and the benchmarks."""

from .choice import open_cluster
from .cluster import Cluster, KubectlError
from .commands import Options
from .component import ComponentError
from .control_plane import ControlPlane
from .waiting import wait_for, wait_for_async

__all__ = [
    "Cluster",
    "ComponentError",
    "ControlPlane",
    "KubectlError",
    "Options",
    "open_cluster",
    "wait_for",
    "wait_for_async",
]
