"""How good real models are in each MX format, beside fp32 and torch's dynamic int8. Not a matter of time."""

from __future__ import annotations

import argparse
import copy
import statistics
import warnings
from collections.abc import Callable, Sequence

import torch
from rich.console import Console
from rich.table import Table

import ostinato as ost

from .quality import TASKS, Task

_FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")
Make = Callable[[torch.nn.Module], torch.nn.Module]


def _in_format(name: str, inputs: bool) -> Make:
    format = getattr(ost.mx, name)
    return lambda model: ost.mx.quantize_(model, format, activations=format if inputs else None)


def _dynamic_int8(model: torch.nn.Module) -> torch.nn.Module:
    """Linear layers alone, with their inputs: convolutions and embeddings it leaves in float32."""
    from torch.ao.quantization import quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: torch.nn.Module = quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    return made


def _megabytes(model: torch.nn.Module) -> float:
    """Of what the model keeps of its weights."""
    total = 0
    for each in (*model.parameters(), *model.buffers()):
        parts = (each.qdata, each.scale) if isinstance(each, ost.mx.MXTensor) else (each,)
        total += sum(part.nbytes for part in parts)
    for module in model.modules():
        if isinstance(module, torch.ao.nn.quantized.dynamic.Linear):
            total += module.weight().numel() + (module.bias().nbytes if module.bias() is not None else 0)
    return total / 1e6


def _figures(task: Task, make: Make) -> tuple[float, ...]:
    made = [make(copy.deepcopy(model)) for model in task.models]
    rows = [(_megabytes(model), *task.measure(model)) for model in made]
    return tuple(statistics.mean(column) for column in zip(*rows, strict=True))


def _table(task: Task) -> Table:
    table = Table(
        "format", "MB", *(f"{name}" for name in task.figures), title=task.title, title_justify="left"
    )
    for column in table.columns[1:]:
        column.justify = "right"

    def add(name: str, make: Make) -> None:
        size, *figures = _figures(task, make)
        cells = (format(figure, how) for figure, how in zip(figures, task.formats, strict=True))
        table.add_row(name, f"{size:.2f}", *cells)

    add("fp32", lambda model: model)
    for inputs in (False, True):
        table.add_section()
        for name in _FORMATS:
            add(f"{name}, inputs too" if inputs else name, _in_format(name, inputs))
    table.add_section()
    add("int8 of torch, inputs too", _dynamic_int8)
    return table


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks mx_quality", description=__doc__)
    parser.add_argument("--models", default=",".join(TASKS), help="which, separated by commas")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(argv or [])
    torch.set_num_threads(options.threads)
    console = Console(width=110)
    for name in options.models.split(","):
        if name not in TASKS:
            parser.error(f"--models knows {', '.join(TASKS)}")
        console.print(_table(TASKS[name]()))
    return 0
