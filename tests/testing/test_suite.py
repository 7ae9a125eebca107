"""The conformance suite holds on the CPU and on the example device, and finds a device that is wrong."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "device"
GROUPS = ["life cycle", "errors", "memory", "random", "streams", "control flow", "training", "threads"]

WRONG = """
from ostinato.accelerator import register_graph_impl
from ostinato.accelerator._backends.cpu import CpuGraph

class Forgetful(CpuGraph):
    def replay(self):
        pass

register_graph_impl("cpu", Forgetful)
"""


def suite(directory, *options):
    """Runs the suite; its exit status, and for each group what the table says: holds, fails, lacking."""
    command = [sys.executable, "-m", "ostinato.testing", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": str(directory)}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    rows = re.findall(r"^  ([a-z ]+?) +(\d+) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)
    return done, {name: tuple(map(int, counts)) for name, *counts in rows}


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        (["--device", "cpu"], set()),
        (["--device", "cpu", "--numerics", "fast"], set()),
        (["--device", "sketch", "-p", "sketch_graph"], {"control flow", "life cycle"}),
    ],
    ids=["cpu exact", "cpu fast", "example"],
)
def test_the_suite_holds(options, lacking):
    done, table = suite(EXAMPLE, *options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert list(table) == [*GROUPS, "all"]
    holds, fails, _ = table["all"]
    assert holds >= 120
    assert fails == 0
    assert {group for group in GROUPS if table[group][2]} == lacking


def test_a_device_that_forgets_to_replay_is_found(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    done, table = suite(tmp_path, "-p", "wrong", "-k", "life_cycle or random")
    assert done.returncode == 1
    assert table["life cycle"][1] >= 10
    assert table["random"][1] >= 10
    assert table["threads"] == (0, 0, 0)


def test_the_example_is_as_short_as_the_guide_says():
    assert len((EXAMPLE / "sketch_graph.py").read_text().splitlines()) < 150
