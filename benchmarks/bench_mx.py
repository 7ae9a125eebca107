"""MX formats: products with quantized weights beside ``F.linear`` in float32, and blocks beside a copy.

``--threads`` (comma separated) and ``--rows`` (linear, rounded, llama, blocks, torchao) choose.
``OSTINATO_ISA=avx2`` takes the kernels of older machines; ``MKL_ENABLE_INSTRUCTIONS=AVX2`` does the same for
torch. torchao and llama.cpp (``pip install llama-cpp-python``, which compiles it) are measured where they
are installed. The shortest of several rounds counts.
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

from . import _ggml
from ._timing import alternate

FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")
SIZE = 4096
BATCHES = (1, 2, 4, 8, 32, 128)
ROUNDED_BATCHES = (1, 8, 32)
ROUNDS = 11  # of which the shortest counts
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
            taken = alternate(runs, rounds=ROUNDS, seconds=0.02, of=min)
            rows[name].append(f"{taken['float32'] / taken['mx']:.2f} ({taken['mx']:.0f})")
    title = f"linear {SIZE} x {SIZE}, {threads} threads: times faster than F.linear in float32 (µs)"
    table(title, [f"batch {b}" for b in BATCHES], rows)


def rounded_inputs(threads: int) -> None:
    """With the input rounded on the fly, and its error beside that of the weights alone."""
    weight = torch.randn(SIZE, SIZE)
    rows: dict[str, list[str]] = {}
    for name in ("mxfp4", "mxfp8_e4m3", "mxint8"):
        for inputs in ("mxfp8_e4m3", "mxint8"):
            layer = rounding_layer(weight, name, inputs)
            cells = []
            for batch in ROUNDED_BATCHES:
                x = torch.randn(batch, SIZE)
                runs = {
                    "float32": lambda x=x: torch.nn.functional.linear(x, weight),
                    "mx": lambda x=x, layer=layer: layer(x),
                }
                taken = alternate(runs, rounds=ROUNDS, seconds=0.02, of=min)
                cells.append(f"{taken['float32'] / taken['mx']:.2f} ({taken['mx']:.0f})")
            exact = x.double() @ weight.double().T
            for y in (torch.nn.functional.linear(x, layer.weight), layer(x)):
                cells.append(f"{error(y, exact):.4f}")
            rows[f"{name}, {inputs} inputs"] = cells
    title = f"linear {SIZE} x {SIZE}, {threads} threads, inputs rounded: times faster (µs)"
    batches = [f"batch {b}" for b in ROUNDED_BATCHES]
    table(title, [*batches, "error of weights", "with inputs"], rows)


def rounding_layer(weight: torch.Tensor, format: str, inputs: str) -> torch.nn.Linear:
    layer = torch.nn.Linear(*weight.shape[::-1], bias=False)
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    return ost.mx.quantize_(layer, getattr(ost.mx, format), activations=getattr(ost.mx, inputs))


def error(y: torch.Tensor, exact: torch.Tensor) -> float:
    return ((y - exact).norm() / exact.norm()).item()


def llama(threads: int) -> None:
    """Beside llama.cpp's product with the same weights in mxfp4: its inputs are rounded to int8, too."""
    if not _ggml.is_installed():
        Console(stderr=True).print(f"llama.cpp is not installed, and left out: {_ggml.INSTALL}")
        return
    layer = rounding_layer(torch.randn(SIZE, SIZE), "mxfp4", "mxint8")
    weight: Any = layer.weight
    exact = weight.dequantize(torch.float64).T
    rows: dict[str, list[str]] = {}
    for batch in ROUNDED_BATCHES:
        x = torch.randn(batch, SIZE)
        plain, packed = (_ggml.Product(weight.qdata, weight.scale, x, threads, way) for way in (False, True))
        runs: dict[str, Callable[[], object]] = {
            "llama.cpp": plain.run,
            "llama.cpp, packed": packed.run,
            "ours": lambda x=x: layer(x),
            "ours, float32 inputs": lambda x=x: torch.nn.functional.linear(x, weight),
        }
        taken = alternate(runs, rounds=ROUNDS, seconds=0.02, of=min)
        best = min(taken["llama.cpp"], taken["llama.cpp, packed"])
        errors = [error(y, x.double() @ exact) for y in (packed.result(), layer(x))]
        cells = [*(f"{v:.0f}" for v in taken.values()), f"{best / taken['ours']:.2f}"]
        rows[f"batch {batch}"] = [*cells, *(f"{e:.4f}" for e in errors)]
    title = f"mxfp4 {SIZE} x {SIZE}, {threads} threads, µs"
    table(title, [*runs, "times faster than the better", "error of llama.cpp", "ours"], rows)


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
        taken = alternate(runs, rounds=ROUNDS, seconds=0.02, of=min)
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
            taken = alternate(runs, rounds=7, seconds=0.05, of=min)
            cells = [f"{taken[side] / 1000:.2f}" for side in ("torchao", "ours")]
            rows[f"{work} {name}"] = [*cells, f"{taken['torchao'] / taken['ours']:.1f}"]
    table(f"{NUMBERS} float32 numbers, {threads} threads, ms", ["torchao", "ours", "times faster"], rows)


ROWS: dict[str, tuple[Callable[[int], None], ...]] = {
    "linear": (linear,),
    "rounded": (rounded_inputs,),
    "llama": (llama,),
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
