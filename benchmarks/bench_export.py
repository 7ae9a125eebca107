"""Files of a model in each MX format: their size, the time to load them, and the memory that it takes.

Beside ``torch.export.load`` of the same file, and safetensors with the same bytes. Where ExecuTorch is
installed, also as ``.pte`` files: their size, and the time of a call in its runtime.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import ostinato as ost

from ._timing import alternate

_FORMATS = ("float32", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")
_WIDTH, _INNER, _ROUNDS = 4096, 11008, 7  # what is between two attentions of a language model of 7 B

# In a process of its own: what loading adds to the memory in use at its highest, and afterwards.
_MEMORY = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch, ostinato as ost

def field(name):
    for line in open("/proc/self/status"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024

ost.export.load(sys.argv[2])
open("/proc/self/clear_refs", "w").write("5")
before = field("VmRSS")
program = ost.export.load(sys.argv[1])
print(json.dumps([field("VmHWM") - before, field("VmRSS") - before]))
"""


def _model(format: str) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(_WIDTH, _INNER), nn.GELU(), nn.Linear(_INNER, _WIDTH)).eval()
    return model if format == "float32" else ost.mx.quantize_(model, getattr(ost.mx, format))


def _safetensors(program: Any, path: pathlib.Path) -> int:
    from safetensors.torch import save_file

    state = program.state_dict.items()
    save_file({name: tensor.detach().view(torch.uint8).contiguous() for name, tensor in state}, path)
    return path.stat().st_size


def _times(path: pathlib.Path) -> tuple[float, float]:
    """Seconds of our load and of torch's, in turn: the least, for what else the machine does only adds."""
    taken: dict[Any, list[float]] = {ost.export.load: [], torch.export.load: []}
    for _ in range(_ROUNDS):
        for load, times in taken.items():
            start = time.perf_counter()
            load(path)
            times.append(time.perf_counter() - start)
    ours, stock = map(min, taken.values())
    return ours, stock


def _memory(path: pathlib.Path, small: pathlib.Path) -> float | None:
    """The most memory that loading needs, as a multiple of the file; None where the system does not tell."""
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    command = [sys.executable, "-c", _MEMORY, str(path), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)[0]) / path.stat().st_size


def _pte_cells(program: Any, path: pathlib.Path) -> tuple[str, ...]:
    """Size, and a call in ExecuTorch's runtime beside torch's of the same program; or why there is none."""
    from executorch.runtime import Runtime

    x, run = torch.randn(1, _WIDTH), program.module()
    try:
        ost.export.to_executorch(program, path)
    except ost.OstinatoError as error:
        return error.message, "", "", ""
    method = Runtime.get().load_program(path).load_method("forward")
    with torch.no_grad():
        calls = {"runtime": lambda: method.execute((x,)), "torch": lambda: run(x)}
        theirs, eager = (each / 1e3 for each in alternate(calls, 3, of=min).values())
    size = f"{path.stat().st_size / 1e6:.2f} MB"
    return size, f"{theirs:.1f} ms", f"{eager:.1f} ms", f"{theirs / eager:.2f}"


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("format", *columns):
        table.add_column(name, justify="left" if name == "format" else "right")
    return table


def main() -> int:
    """Print the tables; 1 where a load takes more than 1.5 times torch's or 1.1 times the file's memory."""
    warnings.simplefilter("ignore")
    columns = ("file", "of float32", "of safetensors", "load", "torch's", "ratio", "memory/file")
    table = _table(f"two linear layers, {_WIDTH} to {_INNER} and back", columns)
    others = _table("the same for ExecuTorch", ("file", "call", "torch's", "ratio"))
    has_executorch = importlib.util.find_spec("executorch") is not None
    first, bad = 0, False
    with tempfile.TemporaryDirectory() as folder:
        path, small = pathlib.Path(folder, "model.pt2"), pathlib.Path(folder, "small.pt2")
        ost.export.save(torch.export.export(nn.Linear(2, 2), (torch.randn(1, 2),)), small)
        for format in _FORMATS:
            ost.export.save(torch.export.export(_model(format), (torch.randn(1, _WIDTH),)), path)
            size = path.stat().st_size
            first = first or size
            other = _safetensors(ost.export.load(path), pathlib.Path(folder, "model.safetensors"))
            (ours, stock), memory = _times(path), _memory(path, small)
            bad |= ours > 1.5 * stock or (memory or 0) > 1.1
            cells = f"{size / 1e6:.2f} MB", f"{size / first:.3f}", f"{size / other:.4f}"
            times = f"{ours * 1e3:.0f} ms", f"{stock * 1e3:.0f} ms", f"{ours / stock:.2f}"
            table.add_row(format, *cells, *times, "-" if memory is None else f"{memory:.2f}")
            if has_executorch:
                others.add_row(format, *_pte_cells(ost.export.load(path), pathlib.Path(folder, "model.pte")))
    console = Console(width=110)
    console.print(table)
    if has_executorch:
        console.print(others)
    return int(bad)
