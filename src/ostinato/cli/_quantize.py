"""``ostinato quantize``."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from .._errors import fail
from ._printer import Printer

NAME = "quantize"
HELP = "quantize the weights of a safetensors checkpoint to an MX format"
EXAMPLES = (
    "ostinato quantize model.safetensors -o small.safetensors --format mxfp4",
    "ostinato quantize llama/ -o llama-mxfp8/ --format mxfp8_e4m3 --skip 'lm_head.*'",
    "ostinato quantize model.safetensors -o small.safetensors --layout compressed-tensors --json",
)
# Named here, so that --help needs no torch.
FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")
LAYOUTS = ("ocp", "torchao", "gpt-oss", "compressed-tensors", "deepseek")
SCALE_MODES = ("floor", "even", "ceil", "rceil")
BLOCK_SIZES = (16, 32, 64, 128)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SOURCE", help="a .safetensors file, an index of several, or the folder of a model"
    )
    parser.add_argument(
        "-o", "--out", required=True, metavar="OUT", help="the file to write; of several, the folder"
    )
    parser.add_argument("--format", choices=FORMATS, default="mxfp4", help="of the weights (mxfp4)")
    parser.add_argument("--layout", choices=LAYOUTS, default="ocp", help="whose files it writes (ocp: ours)")
    parser.add_argument(
        "--filter", action="append", metavar="GLOB", help="quantize only tensors of such names"
    )
    parser.add_argument(
        "--skip", action="append", metavar="GLOB", help="leave tensors of such names as they are"
    )
    parser.add_argument(
        "--scale-mode", choices=SCALE_MODES, default="floor", help="how a block's scale is found (floor)"
    )
    parser.add_argument(
        "--block-size", type=int, choices=BLOCK_SIZES, default=32, help="numbers that share a scale (32)"
    )


def run(options: argparse.Namespace, printer: Printer) -> int:
    source = options.source
    # What does not exist is reported by the reader.
    if os.path.isfile(source) and not source.endswith((".safetensors", ".json")):
        raise fail("cli.quantize_source", path=source, format=options.format)
    from .. import mx

    with printer.progress() as tell:
        report = mx.quantize_safetensors(
            source,
            options.out,
            getattr(mx, options.format),
            layout=options.layout,
            filter_fn=_chosen(options.filter, options.skip or []),
            block_size=options.block_size,
            scale_mode=options.scale_mode,
            tell=tell,
        )
    printer.result({"out": options.out, "layout": options.layout, **_document(report)})
    rows = [
        [w.names[0], "x".join(map(str, w.shape)), f"{w.bytes_before:,}", f"{w.bytes_after:,}", f"{w.snr:.1f}"]
        for w in report.quantized
    ]
    total = ["all", "", f"{report.bytes_before:,}", f"{report.bytes_after:,}", ""]
    header = (options.format, "shape", "bytes before", "after", "SNR dB")
    printer.table([*rows, total], header=header, right=(2, 3, 4))
    for each in report.left:
        printer.note(f"left as it is: {each.name}: {each.reason}")
    return 0


def _chosen(wanted: list[str] | None, unwanted: list[str]) -> Callable[[str], bool]:
    def chosen(name: str) -> bool:
        if wanted is not None and not any(fnmatchcase(name, glob) for glob in wanted):
            return False
        return not any(fnmatchcase(name, glob) for glob in unwanted)

    return chosen


def _document(report: Any) -> dict[str, Any]:
    quantized = [
        {
            "name": w.names[0],
            "shape": list(w.shape),
            "format": w.format,
            "bytes_before": w.bytes_before,
            "bytes_after": w.bytes_after,
            "snr": w.snr if math.isfinite(w.snr) else None,  # JSON has no infinity
        }
        for w in report.quantized
    ]
    left = [{"name": each.name, "reason": each.reason} for each in report.left]
    return {
        "bytes_before": report.bytes_before,
        "bytes_after": report.bytes_after,
        "quantized": quantized,
        "left": left,
    }
