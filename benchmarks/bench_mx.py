"""MX formats: products with quantized weights beside ``F.linear`` in float32, and blocks beside a copy.

``--threads`` (comma separated) and ``--rows`` (linear, blocks, torchao) choose. ``OSTINATO_ISA=avx2`` takes
the kernels of older machines; ``MKL_ENABLE_INSTRUCTIONS=AVX2`` does the same for torch. torchao is measured
where it is installed.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import ostinato as ost

from ._timing import alternate

FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")
SIZE = 4096
BATCHES = (1, 2, 4, 8, 32, 128)
NUMBERS = 1 << 22


def keep_freed_memory() -> None:
    """So that no side pays the system for the pages of a large result, which costs more than to fill them."""
    if sys.platform == "linux":
        trim, threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of <malloc.h>
        for option in (trim, threshold):
            ctypes.CDLL(None).mallopt(option, 1 << 30)


def table(title: str, columns: Sequence[str], rows: dict[str, list[str]]) -> None:
    made = Table(title=title, title_justify="left")
    made.add_column("")
    for column in columns:
        made.add_column(column, justify="right")
    for name, cells in rows.items():
        made.add_row(name, *cells)
    Console(width=110).print(made)


def linear(threads: int) -> None:
    weight = torch.randn(SIZE, SIZE)
    quantized = {name: ost.mx.quantize(weight, getattr(ost.mx, name)) for name in FORMATS}
    rows: dict[str, list[str]] = {name: [] for name in FORMATS}
    for batch in BATCHES:
        x = torch.randn(batch, SIZE)
        for name, q in quantized.items():
            runs = {
                "float32": lambda x=x: torch.nn.functional.linear(x, weight),
                "mx": lambda x=x, q=q: torch.nn.functional.linear(x, q),
            }
            taken = alternate(runs, rounds=9, seconds=0.02)
            rows[name].append(f"{taken['float32'] / taken['mx']:.2f} ({taken['mx']:.0f})")
    title = f"linear {SIZE} x {SIZE}, {threads} threads: times faster than F.linear in float32 (µs)"
    table(title, [f"batch {b}" for b in BATCHES], rows)


def rounded_inputs(threads: int) -> None:
    """With the input rounded on the fly, and its error beside that of the weights alone."""
    weight, x = torch.randn(SIZE, SIZE), torch.randn(1, SIZE)
    exact = x.double() @ weight.double().T
    rows: dict[str, list[str]] = {}
    for name in ("mxfp4", "mxfp8_e4m3", "mxint8"):
        q = ost.mx.quantize(weight, getattr(ost.mx, name))
        for inputs in ("mxfp8_e4m3", "mxint8"):
            format = getattr(ost.mx, inputs)

            def call(q: Any = q, format: Any = format) -> torch.Tensor:
                return torch.nn.functional.linear(ost.mx.fake_quantize(x, format), q)

            runs = {"float32": lambda: torch.nn.functional.linear(x, weight), "mx": call}
            taken = alternate(runs, rounds=9, seconds=0.02)
            errors = [
                ((y - exact).norm() / exact.norm()).item() for y in (torch.nn.functional.linear(x, q), call())
            ]
            speed = f"{taken['float32'] / taken['mx']:.2f} ({taken['mx']:.0f})"
            rows[f"{name} weights, {inputs} inputs"] = [speed, *(f"{e:.4f}" for e in errors)]
    title = f"linear {SIZE} x {SIZE}, batch 1, {threads} threads, with rounded inputs"
    table(title, ["times faster (µs)", "error, weights alone", "with the inputs"], rows)


def blocks(threads: int) -> None:
    """The share of a copy's bytes a second that each conversion reaches."""
    x = torch.randn(NUMBERS // SIZE, SIZE)
    rows: dict[str, list[str]] = {}
    for name in FORMATS:
        format = getattr(ost.mx, name)
        q = ost.mx.quantize(x, format)
        runs: dict[str, Callable[[], object]] = {
            "copy": lambda: x.clone(),
            "quantize": lambda format=format: ost.mx.quantize(x, format),
            "dequantize": lambda q=q: q.dequantize(),
        }
        taken = alternate(runs, rounds=15, seconds=0.02)
        moved = x.nbytes + q.qdata.nbytes + q.scale.nbytes
        cells = [f"{taken['copy']:.0f}"]
        for run in ("quantize", "dequantize"):
            share = taken["copy"] / taken[run] * moved / (2 * x.nbytes)
            cells.append(f"{share:.2f} ({taken[run]:.0f})")
        rows[name] = cells
    title = f"{NUMBERS} float32 numbers, {threads} threads: bytes a second, of those of a copy (µs)"
    table(title, ["copy µs", "quantize", "dequantize"], rows)


def torchao(threads: int) -> None:
    if importlib.util.find_spec("torchao") is None:
        Console(stderr=True).print("torchao is not installed: left out")
        return
    from torchao.prototype.mx_formats.mx_tensor import MXTensor  # type: ignore[import-not-found]

    x = torch.randn(NUMBERS // SIZE, SIZE)
    rows: dict[str, list[str]] = {}
    for name, kind in (("mxfp8_e4m3", torch.float8_e4m3fn), ("mxfp4", torch.float4_e2m1fn_x2)):
        format = getattr(ost.mx, name)
        mine, theirs = ost.mx.quantize(x, format), MXTensor.to_mx(x, kind, 32)
        pairs: dict[str, dict[str, Callable[[], object]]] = {
            "quantize": {
                "torchao": lambda kind=kind: MXTensor.to_mx(x, kind, 32),
                "ours": lambda format=format: ost.mx.quantize(x, format),
            },
            "dequantize": {
                "torchao": lambda theirs=theirs: theirs.dequantize(torch.float32),
                "ours": lambda mine=mine: mine.dequantize(),
            },
        }
        for work, runs in pairs.items():
            taken = alternate(runs, rounds=7, seconds=0.05)
            cells = [f"{taken[side] / 1000:.2f}" for side in ("torchao", "ours")]
            rows[f"{work} {name}"] = [*cells, f"{taken['torchao'] / taken['ours']:.1f}"]
    table(f"{NUMBERS} float32 numbers, {threads} threads, ms", ["torchao", "ours", "times faster"], rows)


ROWS: dict[str, tuple[Callable[[int], None], ...]] = {
    "linear": (linear, rounded_inputs),
    "blocks": (blocks,),
    "torchao": (torchao,),
}


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser("benchmarks mx")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rows", default=",".join(ROWS))
    chosen = parser.parse_args(options)
    keep_freed_memory()
    for threads in map(int, chosen.threads.split(",")):
        torch.set_num_threads(threads)
        for name in chosen.rows.split(","):
            for measure in ROWS[name]:
                measure(threads)
