"""``ostinato run``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .._errors import fail
from ._printer import Printer
from ._values import GRAMMAR, as_arguments, load_tensors, parse_args

NAME = "run"
HELP = "run a deployed file and describe what it returns"
EXAMPLES = (
    "ostinato run vad.pt2",
    "ostinato run vad.pt2 --args 'float32[1,512], 16000' --repeat 100",
    "ostinato run vad.pt2 --input chunk.pt --output speech.pt",
)
_SHOWN = 16  # elements of a tensor that is printed in full


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a .pt2 of ostinato deploy or of torch.export.save")
    given = parser.add_mutually_exclusive_group()
    given.add_argument(
        "--args",
        metavar="VALUES",
        help=f"the arguments: {GRAMMAR}; by default those in the file, or random ones",
    )
    given.add_argument("--input", metavar="FILE", help="a file of torch.save with the arguments")
    parser.add_argument("--method", default="forward", metavar="NAME", help="the method to call (forward)")
    parser.add_argument("--output", metavar="FILE", help="write what the last call returns with torch.save")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="call it N times in a row")


def run(options: argparse.Namespace, printer: Printer) -> int:
    if options.repeat < 1:
        raise fail("cli.usage", message="--repeat takes a number from 1 on", command="ostinato run")
    from ..deployment import load

    model = load(options.file)
    if options.method not in model.methods:
        raise fail("cli.method", path=options.file, method=options.method, known=", ".join(model.methods))
    method = model.methods[options.method]
    args = arguments(options.args, options.input, method)
    began = time.perf_counter()
    for _ in range(options.repeat):
        result = method(*args)
    elapsed = (time.perf_counter() - began) / options.repeat * 1e6
    outputs = [{"name": name, **described(value)} for name, value in leaves(result)]
    if options.output:
        write_tensors(result, options.output)
    if options.repeat > 1:
        printer.note(f"{options.repeat} calls, {elapsed:.1f} µs a call with the capture")
    printer.result({"method": options.method, "calls": options.repeat, "outputs": outputs})
    printer.table(
        [
            [each["name"], each["type"], *(shown(each.get(k)) for k in ("min", "mean", "max"))]
            for each in outputs
        ],
        header=("output", "type", "min", "mean", "max"),
        right=(2, 3, 4),
    )
    for each in outputs:
        if "values" in each:
            printer.table([[each["name"], brief(each["values"])]])
    return 0


def arguments(text: str | None, path: str | None, method: Any) -> tuple[Any, ...]:
    """What the command line gives, else the example in the file, else random values of its kind."""
    if text is not None:
        return parse_args(text)
    if path is not None:
        return as_arguments(load_tensors(path))
    example: tuple[Any, ...] = method.example()
    return example


def leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """``(path, value)`` of what lies in a result; the path of a single one is ``"result"``."""
    if isinstance(value, dict):
        items = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, (tuple, list)):
        items = [(str(i), each) for i, each in enumerate(value)]
    else:
        return [(name or "result", value)]
    return [leaf for key, each in items for leaf in leaves(each, f"{name}.{key}" if name else key)]


def described(value: Any) -> dict[str, Any]:
    """What JSON and the table say about one value."""
    import torch

    if not isinstance(value, torch.Tensor):
        return {"type": type(value).__name__, "values": value}
    dtype = str(value.dtype).removeprefix("torch.")
    entry: dict[str, Any] = {
        "type": f"{dtype}{list(value.shape)}",
        "dtype": dtype,
        "shape": list(value.shape),
    }
    if value.numel() and not value.is_complex():
        wide = value.to(torch.float64)
        entry.update(min=wide.min().item(), mean=wide.mean().item(), max=wide.max().item())
    if value.numel() <= _SHOWN and not value.is_complex():
        entry["values"] = value.tolist()
    return entry


def shown(value: Any) -> str:
    return "" if value is None else f"{value:.6g}"


def brief(value: Any) -> str:
    """Numbers with as many digits as float32 has."""
    if isinstance(value, list):
        return f"[{', '.join(map(brief, value))}]"
    return f"{value:.7g}" if isinstance(value, float) else repr(value)


def write_tensors(value: Any, path: str) -> None:
    import torch

    try:
        torch.save(value, path)
    except (OSError, RuntimeError) as error:  # torch reports a missing folder as a RuntimeError
        raise fail("cli.unwritable", path=path, reason=str(error).splitlines()[0]) from None
