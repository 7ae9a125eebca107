"""Compares random programs with eager torch by the thousand: `python scripts/fuzz.py --count 20000 --seed 1`.

Stops at the first program that is wrong, makes it as small as it can, and prints it as a file that runs
it again. Exit status 0: none was wrong; 1: one was.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import hypothesis
from tests.accelerator.random_check import check
from tests.accelerator.random_graphs import random_graphs

BATCH = 500  # programs of one seed; hypothesis keeps those of a batch in memory


def run_batch(seed, count):
    """The smallest program that is wrong and its error, or None."""
    wrong = []

    def run(graph):
        try:
            check(graph)
        except Exception as error:
            wrong[:] = [graph, error]
            raise

    options = hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        hypothesis.seed(seed)(options(hypothesis.given(random_graphs())(run)))()
    except Exception:
        if not wrong:
            raise
        return wrong
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="programs in all")
    parser.add_argument("--seed", type=int, default=0, help="of the first batch; each further one adds 1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    begin, done = time.perf_counter(), 0
    while done < options.count:
        count = min(BATCH, options.count - done)
        wrong = run_batch(options.seed + done // BATCH, count)
        if wrong is not None:
            graph, error = wrong
            print(f"{graph!r}\n# seed {options.seed + done // BATCH}: {type(error).__name__}: {error}")
            return 1
        done += count
        print(f"{done} programs, 0 wrong, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
