"""``eigh`` beside ``torch.linalg.eigh``, by size, dtype and batch: the figures of docs/guides/eigh.md.

``--plot FILE.svg`` draws the speed-up over n; ``--threads`` and ``--dtypes`` (comma separated) choose.
``OSTINATO_ISA`` makes this library an older machine's; ``MKL_ENABLE_INSTRUCTIONS`` does the same for torch.
"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Sequence

import torch

import ostinato as ost

from ._plot import curves
from ._timing import alternate, show

SIZES = (2, 3, 4, 8, 16, 32, 64, 128, 256, 512)
DTYPES = {"float32": torch.float32, "float64": torch.float64, "complex64": torch.complex64}


def batch_of(n: int) -> int:
    """Many: what the acceptance figures are measured with."""
    return 10_000 if n < 32 else 1_000 if n < 128 else 100 if n < 512 else 20


def hermitian(batch: int, n: int, dtype: torch.dtype) -> torch.Tensor:
    A = torch.randn(*((batch,) if batch > 1 else ()), n, n, dtype=dtype)
    return A + A.mH


def measure(batch: int, n: int, dtype: torch.dtype) -> dict[str, float]:
    """Microseconds a matrix."""
    A = hermitian(batch, n, dtype)
    runs = {"eager": lambda: torch.linalg.eigh(A), "ostinato": lambda: ost.linalg.eigh(A)}
    # Where both end in the same LAPACK only many short turns tell them apart.
    turns = (
        {"rounds": 61, "seconds": 0.003} if batch == 1 else {"rounds": 5 if n > 64 else 9, "seconds": 0.02}
    )
    taken = alternate(runs, **turns)
    return {name: value / batch for name, value in taken.items()}


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser("benchmarks eigh")
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    chosen = parser.parse_args(options)
    torch.set_num_threads(chosen.threads)
    lines: dict[str, list[tuple[int, float]]] = {}
    for name in chosen.dtypes.split(","):
        for many in (True, False):
            rows = {}
            for n in SIZES:
                batch = batch_of(n) if many else 1
                rows[f"n={n}, batch {batch}"] = row = measure(batch, n, DTYPES[name])
                line = lines.setdefault(f"{name}, {'many' if many else 'one matrix'}", [])
                line.append((n, row["eager"] / row["ostinato"]))
            show(f"eigh {name}, {chosen.threads} threads, a matrix", rows)
    if chosen.plot:
        title = f"times faster than torch.linalg.eigh, {chosen.threads} threads"
        chosen.plot.write_text(curves(title, "n", lines), encoding="utf-8")
