"""Runs every benchmark, or those named, with options for one: ``python -m benchmarks replay --rows mlp``."""

from __future__ import annotations

import importlib
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def main() -> int:
    given = sys.argv[1:]
    names = list(itertools.takewhile(lambda each: not each.startswith("-"), given))
    options = given[len(names) :]
    if options and len(names) != 1:
        sys.exit("error: options need the name of one benchmark before them")
    names = names or sorted(p.stem.removeprefix("bench_") for p in HERE.glob("bench_*.py"))
    mains = [importlib.import_module(f"benchmarks.bench_{name}").main for name in names]
    return max((main(options) if options else main()) or 0 for main in mains)


if __name__ == "__main__":
    sys.exit(main())
