"""``ostinato convert``."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .._errors import fail
from ._printer import Printer
from ._source import add_source, examples

NAME = "convert"
HELP = "write a model as a .pt2 with its state and methods, or an archive as a Python module; compare nothing"
EXAMPLES = (
    "ostinato convert silero_vad.jit -o vad.pt2",
    "ostinato convert silero_vad.jit -o vad.py --weights vad.safetensors",
    "ostinato convert stock.pt2 -o ours.pt2",
    "ostinato convert mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]' --not-portable",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser, "the file to write: a .pt2 that stock torch opens, or a .py over torch alone")
    parser.add_argument(
        "--weights", metavar="FILE", help="for a .py: where its tensors go (default: beside it, .safetensors)"
    )
    parser.add_argument(
        "--not-portable", action="store_true", help="allow operators and dtypes that not every torch knows"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    if options.out.endswith(".py"):
        return _python(options, printer)
    if options.weights:
        raise fail("cli.weights", out=options.out)
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


def _python(options: argparse.Namespace, printer: Printer) -> int:
    from .._atomic import replacing
    from ..torchscript import source

    weights = options.weights or options.out.removesuffix(".py") + ".safetensors"
    with printer.progress() as tell:
        tell(f"reading {options.source}")
        text = source(options.source, weights=weights)
        tell(f"writing {options.out}")
        try:
            with replacing(options.out) as part:
                part.write_text(text, encoding="utf-8")
        except OSError as error:
            raise fail("torchscript.unwritable", path=options.out, reason=error.strerror or error) from None
    document: dict[str, Any] = {
        "out": options.out,
        "bytes": os.path.getsize(options.out),
        "weights": weights,
        "weights_bytes": os.path.getsize(weights),
    }
    lines = text.count("\n")
    printer.result(
        document, f"{options.out}: {lines} lines; {weights}: {document['weights_bytes']} bytes of tensors"
    )
    return 0
