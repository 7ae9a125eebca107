"""From a TorchScript archive to a replayed file, on half a minute of speech: what `make demo` runs.

Every step is the command that you would type yourself; it is printed before it runs.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

import fetch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> int:
    folder = ROOT / "demo"
    try:
        fetch.inputs(folder, ROOT / "constraints.txt")
    except fetch.NotFetched as error:
        print(f"error: {error}\nhint: the demo needs the package index once", file=sys.stderr)
        return 2
    began = time.monotonic()
    model, speech, deployed = folder / "silero_vad.jit", folder / "sample.wav", folder / "vad.pt2"
    python = [sys.executable, "-W", "ignore"]
    steps = [
        ("ostinato", ["deploy", model, "-o", deployed], [sys.executable, "-m", "ostinato.cli"]),
        ("python", [HERE / "detect.py", deployed, speech], python),
        ("python", [HERE / "compare.py", folder], python),
    ]
    for program, arguments, launcher in steps:
        given = [str(each.relative_to(ROOT)) if isinstance(each, Path) else each for each in arguments]
        print(f"\n$ {shlex.join([program, *given])}", flush=True)
        status = subprocess.run([*launcher, *given], cwd=ROOT, check=False).returncode
        if status:
            print(f"error: the last command ended with status {status}", file=sys.stderr)
            return 1
    print(f"\nDone in {time.monotonic() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
