"""``ostinato convert``."""

from __future__ import annotations

import argparse
import os

from ._printer import Printer
from ._source import add_source, examples

NAME = "convert"
HELP = "write a model as a .pt2 that stock torch opens, with its state and methods, without comparing it"
EXAMPLES = (
    "ostinato convert silero_vad.jit -o vad.pt2",
    "ostinato convert stock.pt2 -o ours.pt2",
    "ostinato convert mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]' --not-portable",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument(
        "--not-portable", action="store_true", help="allow operators and dtypes that not every torch knows"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    inputs = examples(options)
    from ..deployment import convert

    with printer.progress() as tell:
        metadata = convert(
            options.source, inputs, out=options.out, portable=not options.not_portable, tell=tell
        )
    methods = ", ".join(f"{name} ({len(info.variants)})" for name, info in metadata.methods.items())
    nbytes = os.path.getsize(options.out)
    printer.result(
        {"out": options.out, "bytes": nbytes, **metadata.to_json()},
        f"{options.out}: {nbytes} bytes, methods {methods}, state {', '.join(metadata.state) or 'none'}",
    )
    return 0
