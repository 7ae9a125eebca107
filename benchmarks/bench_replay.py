"""Replay beside eager, TorchScript, torch.compile, ONNX Runtime and OpenVINO, on nine pieces of work."""

from __future__ import annotations

import argparse
import datetime
import pathlib
import sys
import warnings
from collections.abc import Sequence

import torch
from rich.console import Console

import ostinato as ost
from ostinato.cli._machine import Machine, measured

from .replay._cost import cost
from .replay._measure import measure
from .replay._ours import figures
from .replay._report import Line, document, keep, show
from .replay._rows import PEERS, ROWS, Row
from .replay._runner import PeerFailed


def main(argv: Sequence[str] = ()) -> int:
    options = _parser().parse_args(argv)
    rows = [row for row in ROWS if not options.rows or row.name in options.rows]
    errors = Console(stderr=True)
    results: dict[Machine, list[Line]] = {}
    failures: list[str] = []
    warnings.simplefilter("ignore")  # what the peers' packages tell their developers
    _warm_up("compile" in options.peers)
    with errors.status("") as status:
        for threads in options.threads or (1, 2):
            status.update(f"the rates of {threads} threads")
            machine = measured(threads)
            lines = results[machine] = []
            for row in rows:
                try:
                    lines.append(_line(row, machine, options, status.update))
                except PeerFailed as error:
                    failures.append(str(error))
                    errors.print(f"error: {error}", style="red", markup=False)
            if lines:
                show(machine, lines, Console(width=None if sys.stdout.isatty() else 170))
    whole = not options.rows and not options.threads and options.peers == list(PEERS) and not failures
    if whole or options.out:
        path = keep(document(results, datetime.datetime.now(datetime.timezone.utc)), options.out)
        errors.print(f"kept in {path}", style="dim", highlight=False)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks replay", description=__doc__)
    some = {"type": lambda text: text.split(","), "metavar": "A,B"}
    parser.add_argument("--rows", **some, help=f"some of {', '.join(row.name for row in ROWS)}")
    parser.add_argument("--peers", **some, default=list(PEERS), help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--threads", type=lambda text: [int(each) for each in text.split(",")], metavar="1,2")
    parser.add_argument("--rounds", type=int, default=25, help="in each of which all take turns (25)")
    parser.add_argument("--out", type=pathlib.Path, help="where to keep the JSON of a part of the rows")
    return parser


def _line(row: Row, machine: Machine, options: argparse.Namespace, tell: object) -> Line:
    timed = measure(row, machine.threads, options.peers, options.rounds, tell)
    spent = cost(row)
    limit = machine.least_seconds(spent.flops, spent.bytes) * 1e6
    return Line(timed, spent, limit, figures(row, "fast"))


def _warm_up(compiles: bool) -> None:
    """What a process does once, so that no row pays for it: it loads the engine, and the compiler."""
    x = torch.zeros(8)
    with ost.accelerator.Graph(numerics="fast"):
        x.add(1)
    if compiles:
        torch.compile(torch.sin)(x)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
