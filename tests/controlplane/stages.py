"""What is built: the programs of a control plane."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Assets:
    """Files of a Go module that a program needs when it runs."""

    module: str
    patterns: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class Stage:
    """One program to build, with what it needs beside it."""

    name: str
    package: str
    linker_flags: str
    packages: int  # how many a first build compiles after the stages before it, for the progress line
    minutes: str  # how long that takes on two cores
    assets: tuple[Assets, ...] = ()


CONTROLPLANE = Stage(
    name="controlplane",
    package=".",
    linker_flags="-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3",
    packages=2740,
    minutes="6-15",
)
KWOK = Stage(
    name="kwok",
    package="sigs.k8s.io/kwok/cmd/kwok",
    linker_flags="-s -w",
    packages=80,
    minutes="1",
    assets=(
        Assets(
            module="sigs.k8s.io/kwok",
            patterns=(
                "kustomize/stage/node/fast/node-*.yaml",
                "kustomize/stage/node/heartbeat/node-*.yaml",
                "kustomize/stage/pod/fast/pod-*.yaml",
            ),
            folder="stages",
        ),
    ),
)
KARPENTER = Stage(
    name="karpenter",
    package="sigs.k8s.io/karpenter/kwok",
    linker_flags="-s -w",
    packages=150,
    minutes="1-2",
    assets=(
        Assets(
            module="sigs.k8s.io/karpenter",
            patterns=("kwok/charts/crds/*.yaml", "kwok/apis/crds/*.yaml"),
            folder="crds",
        ),
    ),
)
STAGES = {stage.name: stage for stage in (CONTROLPLANE, KWOK, KARPENTER)}
