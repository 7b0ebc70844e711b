"""The demo shows the main job, prints what README shows of it, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.controlplane import Cluster, ControlPlane, wait_for
from tests.unit.docs.pages import ROOT, Block, Command, commands, commands_of, matches

USER_KUBECONFIG = "MOORAGE_KUBECONFIG"
DEMO_SECONDS = 200
END_SECONDS = 100
"""On a user's cluster the end waits until namespaces are gone."""


class Demo:
    """A demo in a process of its own, whose temporary files are in a folder of the test."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._out, self._err = folder / "out", folder / "err"
        variables = {name: value for name, value in os.environ.items() if name != USER_KUBECONFIG}
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.demo"],
                cwd=ROOT,
                env={**variables, **environment, "TMPDIR": str(self.temporary)},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8")

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Wait until it has printed a text."""

        def printed() -> bool:
            assert self.process.poll() is None or text in self.out, self.out + self.err
            return text in self.out

        wait_for(printed, timeout=DEMO_SECONDS, message=lambda: f"{text!r}: {self.out}{self.err}")

    def interrupt(self) -> None:
        """Press Ctrl-C: the whole process group gets it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Wait for its end; its exit code."""
        return self.process.wait(DEMO_SECONDS + END_SECONDS)

    def left(self) -> list[str]:
        """What is left of it: files, and processes that know of its folder."""
        processes = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.temporary) in line:
                processes.append(line)
        return processes + [str(path) for path in self.temporary.iterdir()]


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    """Start a demo; it ends with the test at the latest."""
    started: list[Demo] = []

    def start(**environment: str) -> Demo:
        started.append(Demo(tmp_path, **environment))
        return started[-1]

    yield start
    for demo in started:
        demo.process.kill()
        demo.process.wait()


@pytest.fixture
def cluster(control_plane: Cluster, start_control_plane: Callable[..., ControlPlane]) -> Cluster:
    """A cluster in the role of a user's own, with nodes that pods run on."""
    if not isinstance(control_plane, ControlPlane):
        return control_plane
    plane = start_control_plane()
    plane.add_nodes(2)
    return plane


def ageless(text: str) -> str:
    """Take ages out of a table."""
    return re.sub(r" +(\d+[smh])+$", " AGE", text, flags=re.MULTILINE)


def shown_in_readme() -> list[Command]:
    return [each for each in commands() if each.block.page == "README.md" and each.line.startswith("kubectl ")]


@pytest.mark.skipif(USER_KUBECONFIG in os.environ, reason="a control plane of our own is not wanted here")
def test_the_demo_prints_what_readme_shows_and_leaves_nothing(start_demo: Callable[..., Demo]) -> None:
    demo = start_demo()
    assert demo.end() == 0, demo.out + demo.err
    printed: dict[str, list[str]] = {}
    for command in commands_of(Block("demo", 1, "console", re.sub(r"^(# .*\n)+", "", demo.out, flags=re.MULTILINE))):
        printed.setdefault(command.line, []).append(ageless(command.output.rstrip("\n")) + "\n")
    assert len(shown_in_readme()) >= 10
    for command in shown_in_readme():
        outputs = printed.get(command.line, [])
        assert any(matches(output, ageless(command.output)) for output in outputs), (command.line, outputs)
    assert demo.left() == []


@pytest.mark.skipif(USER_KUBECONFIG in os.environ, reason="a control plane of our own is not wanted here")
def test_ctrl_c_ends_everything(start_demo: Callable[..., Demo]) -> None:
    demo = start_demo()
    demo.wait_for("$ kubectl get nsq,cbuf -A")
    demo.interrupt()
    assert demo.end() == 130
    assert demo.left() == []


def test_a_users_cluster_is_left_as_it_was(cluster: Cluster, start_demo: Callable[..., Demo]) -> None:
    def objects() -> set[str]:
        return set(cluster.kubectl("get", "namespaces,crds", "-o", "name").split())

    before = objects()
    demo = start_demo(**{USER_KUBECONFIG: str(cluster.kubeconfig)})
    demo.wait_for("$ kubectl describe cbuf web")
    made = objects() - before
    assert {re.sub("demo-[0-9a-f]+", "demo", each) for each in made if each.startswith("namespace/")} == {
        "namespace/moorage-demo-team-a",
        "namespace/moorage-demo-team-b",
    }
    demo.interrupt()
    assert demo.end() == 130, demo.out + demo.err
    assert made & objects() == set()
    assert before <= objects()
    assert demo.left() == []


def test_a_failure_shows_the_log_of_the_operator(cluster: Cluster, start_demo: Callable[..., Demo]) -> None:
    demo = start_demo(**{USER_KUBECONFIG: str(cluster.kubeconfig)})
    demo.wait_for("$ kubectl apply -n")
    namespace = re.search(r"moorage-demo-\w+-team-a", demo.out)
    assert namespace is not None
    cluster.kubectl("delete", "namespace", namespace[0], "--wait=false")
    assert demo.end() == 1
    assert "The end of the operator's log:" in demo.err
    assert "The demo failed: " in demo.err
    assert demo.left() == []
