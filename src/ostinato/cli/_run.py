"""``ostinato run``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from .._errors import fail
from . import _results
from ._printer import Printer
from ._values import GRAMMAR, parse_args

NAME = "run"
HELP = "run a deployed file on an input, describe what it returns, and write it"
EXAMPLES = (
    "ostinato run vad.pt2 speech.wav -o speech.npz",
    "ostinato run net.pt2 picture.png -o scores.json",
    "cat rows.csv | ostinato run net.pt2 - -o scores.npz",
    "ostinato run vad.pt2 --args 'float32[1,512], 16000' --repeat 100",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .pt2 of ostinato deploy or of torch.export.save")
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "input",
        metavar="INPUT",
        nargs="?",
        help="a .npz, .pt, .wav, .png or .csv, or - for standard input; what is longer than the model "
        "takes becomes several calls in a row",
    )
    given.add_argument(
        "--args",
        metavar="VALUES",
        help=f"the arguments: {GRAMMAR}; by default those in the file, or random ones",
    )
    parser.add_argument("-o", "--out", metavar="OUT", help="write the result: a .npz, .pt or .json")
    parser.add_argument("--method", default="forward", metavar="NAME", help="the method to call (forward)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="do it N times in a row")


def run(options: argparse.Namespace, printer: Printer) -> int:
    if options.repeat < 1:
        raise fail("cli.usage", message="--repeat takes a number from 1 on", command="ostinato run")
    if options.out:
        _results.check(options.out)
    from ..deployment import load

    model = load(options.file)
    if options.method not in model.methods:
        raise fail("cli.method", path=options.file, method=options.method, known=", ".join(model.methods))
    method = model.methods[options.method]
    calls = _calls(options.input, method) if options.input else [arguments(options.args, method)]
    began = time.perf_counter()
    for _ in range(options.repeat):
        results = [method(*args) for args in calls]
    count = options.repeat * len(calls)
    elapsed = (time.perf_counter() - began) / count * 1e6
    result = _results.joined(results)
    if options.out:
        _results.write(result, options.out)
        printer.note(f"result: {options.out}")
    if count > 1:
        printer.note(f"{count} calls, {elapsed:.1f} µs a call with the capture")
    outputs = [{"name": name, **_results.described(value)} for name, value in _results.leaves(result)]
    printer.result({"method": options.method, "calls": count, "outputs": outputs})
    _show(outputs, printer)
    return 0


def _calls(path: str, method: Any) -> list[tuple[Any, ...]]:
    """The calls that a file makes, or standard input."""
    from ..deployment import content_of, read

    content = content_of("standard input", sys.stdin.buffer.read()) if path == "-" else read(path)
    found: list[tuple[Any, ...]] = method._calls_of(content)
    return found


def arguments(text: str | None, method: Any) -> tuple[Any, ...]:
    """What the command line gives, else the example in the file, else random values of its kind."""
    given = parse_args(text) if text is not None else method.example()
    ordered: tuple[Any, ...] = method._ordered(given) if isinstance(given, dict) else given
    return ordered


def _show(outputs: list[dict[str, Any]], printer: Printer) -> None:
    rows = [
        [each["name"], each["type"], *(_number(each.get(k)) for k in ("min", "mean", "max"))]
        for each in outputs
    ]
    printer.table(rows, header=("output", "type", "min", "mean", "max"), right=(2, 3, 4))
    for each in outputs:
        if "values" in each:
            printer.table([[each["name"], _brief(each["values"])]])


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.6g}"


def _brief(value: Any) -> str:
    """Numbers with as many digits as float32 has."""
    if isinstance(value, list):
        return f"[{', '.join(map(_brief, value))}]"
    return f"{value:.7g}" if isinstance(value, float) else repr(value)
