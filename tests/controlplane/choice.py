"""The cluster to run on: one of our own, or the user's."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .binaries import Binaries, find_kubectl
from .cluster import Cluster
from .commands import Options
from .control_plane import ControlPlane

USER_KUBECONFIG = "MOORAGE_KUBECONFIG"


def user_kubeconfig() -> Path | None:
    """The kubeconfig of the user's own cluster; None when there is to be one of ours."""
    value = os.environ.get(USER_KUBECONFIG)
    if not value:
        return None
    path = Path(value).expanduser().absolute()
    if not path.is_file():
        raise FileNotFoundError(f"{USER_KUBECONFIG}={value} is no file")
    return path


@contextmanager
def open_cluster(*, options: Options | None = None, binaries: Binaries | None = None) -> Iterator[Cluster]:
    """The cluster to run on, for as long as the block takes; on a user's cluster our namespaces are gone afterwards."""
    kubeconfig = user_kubeconfig()
    if kubeconfig is None:
        with ControlPlane(options=options, binaries=binaries) as plane:
            yield plane
        return
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        cluster = Cluster(kubeconfig, find_kubectl(), Path(folder))
        try:
            yield cluster
        finally:
            for name in cluster.namespaces_left:
                cluster.wait_for_removal(name)
