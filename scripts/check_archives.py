"""Deploys every real archive with and without block formats, and compares with what was recorded of it.

``python scripts/check_archives.py FOLDER``; beside each archive lies ``NAME.golden.pt``, a list of calls as
``{method, args, kwargs, out}``. Prints a line for each deployment; exit status 1 where one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

import ostinato as ost

FORMATS = (None, "mxfp8_e4m3")
COLUMNS = "{:<24} {:<10} {:>6} {:<16} {:>10} {:>10} {:>9}  {}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=os.environ.get("OSTINATO_ARCHIVES"))
    parser.add_argument("--only", default="", metavar="TEXT", help="archives whose names have it")
    options = parser.parse_args()
    if options.folder is None:
        parser.error("name a folder, or set OSTINATO_ARCHIVES")
    failed = 0
    print(
        COLUMNS.format("archive", "weights", "status", "recorded", "largest", "error", "seconds", "verdict")
    )
    for archive in sorted(Path(options.folder).glob("*.golden.pt")):
        name = archive.name.removesuffix(".golden.pt")
        found = [each for each in archive.parent.glob(f"{name}.*") if each != archive]
        for each in (path for path in found if options.only in path.name):
            for mx in FORMATS:
                failed += not _check(each, torch.load(archive, weights_only=True), mx)
    return int(failed > 0)


def _check(archive: Path, recorded: list[dict], mx: str | None) -> bool:
    """Print the line; whether the deployment succeeded and the file returns what was recorded."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "model.pt2")
        command = [sys.executable, "-W", "ignore", "-m", "ostinato.cli", "deploy", str(archive), "-o", out]
        inputs = [
            tuple(each["args"]) for each in recorded if each["method"] == "forward" and not each["kwargs"]
        ]
        torch.save(inputs, os.path.join(folder, "inputs.pt"))
        command += ["--data", os.path.join(folder, "inputs.pt"), "--json", *(["--mx", mx] if mx else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        line = [archive.name, mx or "as they are", done.returncode]
        if done.returncode:
            error = next((x for x in done.stderr.splitlines() if x.startswith("error:")), "no error told")
            print(COLUMNS.format(*line, "", "", "", "", error), flush=True)
            return False
        report = json.loads(done.stdout)
        equal, calls, largest = _beside(out, recorded)
    lossy = report["quantization"]
    error = f"{lossy['error']:.2g}" if lossy else ""
    verdict = report["verdict"] + _costs(lossy)
    told = f"{equal} of {calls} equal"
    print(
        COLUMNS.format(*line, told, f"{largest:.1e}", error, f"{report['seconds']:.0f}", verdict), flush=True
    )
    return report["verdict"].startswith("Agrees") and (equal == calls or bool(lossy and lossy["weights"]))


def _beside(path: str, recorded: list[dict]) -> tuple[int, int, float]:
    """Of the recorded calls how many are equal, how many the file takes, and the largest difference."""
    model = ost.load(path)
    equal, calls, largest = 0, 0, 0.0
    for call in recorded:
        method = model.methods.get(call["method"])
        if method is None:
            continue
        try:
            got = method(*call["args"], **call["kwargs"])
        except ost.UsageError:  # recorded for sizes that the file was not made for
            continue
        calls += 1
        pairs = list(zip(pytree.tree_leaves(call["out"]), pytree.tree_leaves(got), strict=True))
        tensors = [(a, b) for a, b in pairs if isinstance(a, torch.Tensor)]
        equal += all(torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in tensors)
        largest = max(
            [largest, *(float((a.double() - b.double()).abs().max()) for a, b in tensors if a.numel())]
        )
    return equal, calls, largest


def _costs(lossy: dict | None) -> str:
    worst = sorted(lossy["weights"], key=lambda each: -each["error"])[:2] if lossy else []
    return "; most by " + ", ".join(f"{each['name']} {each['error']:.2g}" for each in worst) if worst else ""


if __name__ == "__main__":
    sys.exit(main())
