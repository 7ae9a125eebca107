"""Runs every benchmark, or those named: ``python -m benchmarks accelerator``."""

from __future__ import annotations

import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def main() -> None:
    names = sys.argv[1:] or sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    for name in names:
        importlib.import_module(f"benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
