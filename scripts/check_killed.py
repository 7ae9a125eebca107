"""Kills a deployment at seeded moments over all of its duration, and looks at what is left.

``python scripts/check_killed.py [--count N] [--seed S]``: the process and its children get SIGKILL, every
second time the process alone. The file must be the old one or the whole new one, no child may go on, and the
next deployment must clear what was left, beside the file and among temporary files. Exit status 1 where not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OLD = b"the old file"
NET = "import torch\n\ndef net():\n    return torch.nn.Linear(64, 4)\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        (folder / "nets.py").write_text(NET)
        began = time.monotonic()
        assert _start(folder).wait() == 0
        duration = time.monotonic() - began
        moments = random.Random(options.seed)
        wrong = 0
        for number in range(options.count):
            after = moments.uniform(0, duration)
            found = _killed(folder, after, alone=bool(number % 2))
            wrong += bool(found)
            print(f"killed after {after:5.2f} of {duration:.2f} s: {found or 'nothing wrong'}", flush=True)
        assert _start(folder).wait() == 0
        left = [*folder.glob(".*"), *(folder / "tmp").glob("ostinato*")]  # torch keeps a cache there
        print(f"after the next deployment: {[each.name for each in left] or 'nothing left'}")
    return int(wrong > 0 or bool(left))


def _start(folder: Path) -> subprocess.Popen:
    (folder / "x.pt2").write_bytes(OLD)
    command = [sys.executable, "-W", "ignore", "-m", "ostinato.cli", "deploy", "nets:net", "-o", "x.pt2"]
    return subprocess.Popen(
        [*command, "--args", "f32[1,64]"],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _killed(folder: Path, after: float, alone: bool) -> str:
    """What is wrong after a deployment was killed; empty where nothing is."""
    process = _start(folder)
    time.sleep(after)
    (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
    process.wait()
    content = (folder / "x.pt2").read_bytes()
    if content != OLD and not _runs(folder / "x.pt2"):
        return "the file is neither the old one nor the new one"
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return ""
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    return "a child went on"


def _runs(path: Path) -> bool:
    import torch

    import ostinato as ost

    return ost.load(path)(torch.zeros(1, 64)).shape == (1, 4)


if __name__ == "__main__":
    sys.exit(main())
