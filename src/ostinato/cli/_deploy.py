"""``ostinato deploy``."""

from __future__ import annotations

import argparse

from ._printer import Printer
from ._source import add_source, examples

NAME = "deploy"
HELP = "make one portable file of a model, and prove that it does what the model does"
EXAMPLES = (
    "ostinato deploy silero_vad.jit -o vad.pt2",
    "ostinato deploy mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]'",
    "ostinato deploy vad.jit -o vad.pt2 --args 'float32[1,512], 16000' --args 'float32[1,256], 8000'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument(
        "--numerics", choices=("fast", "exact"), default="fast", help="fast: within 1e-4; exact: bit for bit"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not compare the file with its source")


def run(options: argparse.Namespace, printer: Printer) -> int:
    inputs = examples(options)
    from ..deployment import deploy

    with printer.progress() as tell:
        report = deploy(
            options.source,
            inputs,
            out=options.out,
            numerics=options.numerics,
            verify=not options.no_verify,
            tell=tell,
        )
    printer.result(report.to_json(), str(report))
    return 0
