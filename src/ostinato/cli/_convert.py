"""``ostinato convert``."""

from __future__ import annotations

import argparse
import os

from ._printer import Printer
from ._values import GRAMMAR, parse_args

NAME = "convert"
HELP = "write a model as a .pt2 that stock torch opens, with its state and methods, without comparing it"
EXAMPLES = (
    "ostinato convert silero_vad.jit -o vad.pt2",
    "ostinato convert stock.pt2 -o ours.pt2",
    "ostinato convert mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]' --not-portable",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", help="a TorchScript archive, a .pt2, or package.module:name"
    )
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help="the file to write, ending in .pt2")
    parser.add_argument(
        "--args", action="append", metavar="VALUES", help=f"example inputs, once a variant: {GRAMMAR}"
    )
    parser.add_argument(
        "--not-portable", action="store_true", help="allow operators and dtypes that not every torch knows"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    args = [parse_args(text) for text in options.args] if options.args else None
    from ..deployment import convert

    with printer.progress() as tell:
        metadata = convert(
            options.source, args, out=options.out, portable=not options.not_portable, tell=tell
        )
    methods = ", ".join(f"{name} ({len(info.variants)})" for name, info in metadata.methods.items())
    nbytes = os.path.getsize(options.out)
    printer.result(
        {"out": options.out, "bytes": nbytes, **metadata.to_json()},
        f"{options.out}: {nbytes} bytes, methods {methods}, state {', '.join(metadata.state) or 'none'}",
    )
    return 0
