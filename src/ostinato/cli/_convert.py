"""``ostinato convert``."""

from __future__ import annotations

import argparse
import os
from typing import Any

from .._errors import fail
from ._printer import Printer
from ._source import add_source, examples

NAME = "convert"
HELP = "write a model as a .pt2 or for ExecuTorch, or an archive as a Python module; compare nothing"
EXAMPLES = (
    "ostinato convert silero_vad.jit -o vad.pt2",
    "ostinato convert silero_vad.jit -o vad.py --weights vad.safetensors",
    "ostinato convert net.jit -o net.pt2 --args 'float32[8,40]' --dynamic 0:batch",
    "ostinato convert stock.pt2 -o ours.pt2",
    "ostinato convert vad.pt2 -o vad.pte --method forward",
    "ostinato convert mypackage.models:make_net -o net.pt2 --args 'float32[1,3,224,224]' --not-portable",
)


# Options of one kind of file alone.
_ENDING_OF = {"not_portable": ".pt2", "dynamic": ".pt2", "method": ".pte", "weights": ".py"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(
        parser, "the file to write: a .pt2 that stock torch opens, a .pte for ExecuTorch, or a .py over torch"
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="for a .py: where its tensors go (default: beside it, .safetensors)"
    )
    parser.add_argument(
        "--not-portable",
        action="store_true",
        help="for a .pt2: allow operators and dtypes that not every torch knows",
    )
    parser.add_argument(
        "--dynamic",
        action="append",
        metavar="DIM:NAME",
        help="for a .pt2: a size to leave open: 0:batch for every tensor, x.1:time for one argument",
    )
    parser.add_argument("--method", metavar="NAME", help="for a .pte: the one that it holds (forward)")


def run(options: argparse.Namespace, printer: Printer) -> int:
    ending = os.path.splitext(options.out)[1]
    for name, needed in _ENDING_OF.items():
        if getattr(options, name) and ending != needed:
            option = f"--{name.replace('_', '-')}"
            raise fail("cli.ending", option=option, ending=needed, out=options.out)
    return {".py": _python, ".pte": _executorch}.get(ending, _program)(options, printer)


def _program(options: argparse.Namespace, printer: Printer) -> int:
    inputs = examples(options)
    from ..deployment import convert

    dynamic = dict(each.rpartition(":")[::2] for each in options.dynamic or ())
    with printer.progress() as tell:
        metadata = convert(
            options.source,
            inputs,
            out=options.out,
            portable=not options.not_portable,
            dynamic=dynamic,
            tell=tell,
        )
    methods = ", ".join(f"{name} ({len(info.variants)})" for name, info in metadata.methods.items())
    nbytes = os.path.getsize(options.out)
    printer.result(
        {"out": options.out, "bytes": nbytes, **metadata.to_json()},
        f"{options.out}: {nbytes} bytes, methods {methods}, state {', '.join(metadata.state) or 'none'}",
    )
    return 0


def _executorch(options: argparse.Namespace, printer: Printer) -> int:
    inputs, method = examples(options), options.method or "forward"
    from ..deployment import convert_to_executorch

    with printer.progress() as tell:
        left = convert_to_executorch(options.source, inputs, out=options.out, method=method, tell=tell)
    for each in left:
        printer.note(f"left out, for a .pte holds one program: {each}")
    nbytes = os.path.getsize(options.out)
    printer.result(
        {"out": options.out, "bytes": nbytes, "method": method, "left_out": left},
        f"{options.out}: {nbytes} bytes, method {method}",
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
