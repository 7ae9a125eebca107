"""``ostinato deploy``."""

from __future__ import annotations

import argparse

from ._printer import Printer
from ._values import GRAMMAR, parse_args

NAME = "deploy"
HELP = "make one portable file of a model, and prove that it does what the model does"
EXAMPLES = (
    "ostinato deploy silero_vad.jit -o vad.pt2",
    "ostinato deploy mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]'",
    "ostinato deploy vad.jit -o vad.pt2 --args 'float32[1,512], 16000' --args 'float32[1,256], 8000'",
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
        "--numerics", choices=("fast", "exact"), default="fast", help="fast: within 1e-4; exact: bit for bit"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not compare the file with its source")


def run(options: argparse.Namespace, printer: Printer) -> int:
    args = [parse_args(text) for text in options.args] if options.args else None
    from ..deployment import deploy

    with printer.progress() as tell:
        report = deploy(
            options.source,
            args,
            out=options.out,
            numerics=options.numerics,
            verify=not options.no_verify,
            tell=tell,
        )
    printer.result(report.to_json(), str(report))
    return 0
