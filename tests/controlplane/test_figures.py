"""What tests tell is shown at the end of a run, in however many processes it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
TELLING = """
from tests.figures import tell

def test_one(pytestconfig):
    tell(pytestconfig, "42 pods/s")

def test_two(pytestconfig):
    tell(pytestconfig, "42 pods/s")
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_is_told_is_shown_once(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(TELLING)
    options = ["-n", workers, "-c", os.devnull, "--rootdir", str(tmp_path), "-p", "tests.figures"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines().count("42 pods/s") == 1
