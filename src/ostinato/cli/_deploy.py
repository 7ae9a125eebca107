"""``ostinato deploy``."""

from __future__ import annotations

import argparse

from ._printer import Printer
from ._quantize import FORMATS
from ._source import add_source, examples

NAME = "deploy"
HELP = "make one portable file of a model, and prove that it does what the model does"
EXAMPLES = (
    "ostinato deploy silero_vad.jit -o vad.pt2",
    "ostinato deploy mypackage.models:make_net -o net.pt2 --args 'x=f32[1,3,224,224]'",
    "ostinato deploy vad.jit -o vad.pt2 --args 'x=f32[1,512], sr=16000' --data speech/",
    "ostinato deploy net.jit -o net.pt2 --mx mxfp4 --mx 'head.*=none' --max-error 0.01 --save-report r.html",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument(
        "--data", metavar="PATH", help="a .npz, .pt, .wav, .png or .csv, or a folder of them, to compare on"
    )
    parser.add_argument(
        "--numerics", choices=("fast", "exact"), default="fast", help="fast: within 1e-4; exact: bit for bit"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not compare the file with its source")
    parser.add_argument(
        "--mx",
        action="append",
        metavar="FORMAT",
        help=f"keep weights in blocks of {', '.join(FORMATS)}; or GLOB=FORMAT, GLOB=none for those so called",
    )
    parser.add_argument(
        "--max-error",
        type=float,
        metavar="E",
        help="with --mx: wider formats where the results would differ by more than this share",
    )
    parser.add_argument(
        "--save-report", metavar="FILE", help="write the report as .html, .md or .json, by the suffix"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    inputs = examples(options)
    from ..deployment import deploy

    with printer.progress() as tell:
        report = deploy(
            options.source,
            inputs,
            out=options.out,
            data=options.data,
            numerics=options.numerics,
            verify=not options.no_verify,
            mx=dict(map(_rule, options.mx)) if options.mx else None,
            max_error=options.max_error,
            tell=tell,
        )
    if options.save_report:
        report.save(options.save_report)
        printer.note(f"report: {options.save_report}")
    printer.result(report.to_json(), str(report))
    return 0


def _rule(text: str) -> tuple[str, str]:
    """``(glob, format)`` of ``GLOB=FORMAT``, or of a format alone, which is for all."""
    glob, _, format = text.rpartition("=")
    return glob or "*", format
