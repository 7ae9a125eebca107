"""Files of a model in each MX format: their size, the time to load them, and the memory that it takes.

Beside ``torch.export.load`` of the same file, and safetensors with the same bytes.
"""

from __future__ import annotations

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


def main() -> int:
    """Print the table; 1 where a load takes more than 1.5 times torch's or 1.1 times the file's memory."""
    warnings.simplefilter("ignore")
    table = Table(title=f"two linear layers, {_WIDTH} to {_INNER} and back", title_justify="left")
    for name in ("format", "file", "of float32", "of safetensors", "load", "torch's", "ratio", "memory/file"):
        table.add_column(name, justify="left" if name == "format" else "right")
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
    Console(width=110).print(table)
    return int(bad)
