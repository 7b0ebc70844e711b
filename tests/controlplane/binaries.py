"""Where the programs of a control plane are: built here, or some of them envtest's (KUBEBUILDER_ASSETS)."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .build import Builder, to_stderr
from .stages import CONTROLPLANE, KARPENTER, KWOK

ENVTEST_PROGRAMS = ("etcd", "kube-apiserver")  # must be there; its kubectl is used too when it is


class BinariesError(RuntimeError):
    """Programs that the user pointed at are not there."""


@dataclass(frozen=True)
class Binaries:
    """How each program is called, and the files that kwok and Karpenter need."""

    controlplane: Path
    kwok: Path
    kwok_stages: tuple[Path, ...]
    karpenter: Path | None = None
    karpenter_crds: tuple[Path, ...] = ()
    envtest: Path | None = None

    def command(self, component: str) -> list[str]:
        """The words that start a component."""
        if component == "kwok":
            return [str(self.kwok)]
        if component == "karpenter":
            if self.karpenter is None:
                raise BinariesError("these programs were found without Karpenter: find_binaries(karpenter=True)")
            return [str(self.karpenter)]
        if self.envtest is not None and (self.envtest / component).exists():
            return [str(self.envtest / component)]
        return [str(self.controlplane), component]


def find_binaries(*, karpenter: bool = False, report: Callable[[str], None] = to_stderr) -> Binaries:
    """Find all programs; what is not built yet is built now."""
    builder = Builder(report=report)
    stages = [CONTROLPLANE, KWOK, KARPENTER] if karpenter else [CONTROLPLANE, KWOK]
    folders = builder.ensure(*stages)
    found = Binaries(
        controlplane=folders[0] / CONTROLPLANE.name,
        kwok=folders[1] / KWOK.name,
        kwok_stages=tuple(sorted((folders[1] / "stages").iterdir())),
        envtest=_envtest_assets(),
    )
    if not karpenter:
        return found
    return replace(
        found,
        karpenter=folders[2] / KARPENTER.name,
        karpenter_crds=tuple(sorted((folders[2] / "crds").iterdir())),
    )


def _envtest_assets() -> Path | None:
    value = os.environ.get("KUBEBUILDER_ASSETS")
    if not value:
        return None
    folder = Path(value).absolute()
    missing = [name for name in ENVTEST_PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise BinariesError(f"KUBEBUILDER_ASSETS={value} has no program {' and no '.join(missing)}")
    return folder


def find_kubectl(report: Callable[[str], None] = to_stderr) -> list[str]:
    """The words that start a kubectl for a user's own cluster: envtest's, the user's, or one that is built."""
    envtest = _envtest_assets()
    if envtest is not None and (envtest / "kubectl").exists():
        return [str(envtest / "kubectl")]
    on_path = shutil.which("kubectl")
    if on_path is not None:
        return [on_path]
    (folder,) = Builder(report=report).ensure(CONTROLPLANE)
    return [str(folder / CONTROLPLANE.name), "kubectl"]
