"""Convolutions replayed in fast numerics beside eager, shape by shape.

On these figures rests which of them ``_passes/_convolution.py`` leaves to torch.
``OSTINATO_ISA`` makes this library an older machine's; ``ONEDNN_MAX_CPU_ISA`` and
``ATEN_CPU_CAPABILITY`` do the same for torch.
"""

from __future__ import annotations

import torch

import ostinato as ost

from ._timing import alternate, show

# name -> channels, input size, filters, kernel, stride, padding, groups
SHAPES: dict[str, tuple[int, tuple[int, ...], int, int, int, int, int]] = {
    "3x3 3-8 32, stride 2": (3, (32, 32), 8, 3, 2, 1, 1),
    "3x3 16-32 8, stride 2": (16, (8, 8), 32, 3, 2, 1, 1),
    "7x7 3-64 224, stride 2": (3, (224, 224), 64, 7, 2, 3, 1),
    "3x3 64-64 56": (64, (56, 56), 64, 3, 1, 1, 1),
    "3x3 128-128 28": (128, (28, 28), 128, 3, 1, 1, 1),
    "3x3 512-512 7": (512, (7, 7), 512, 3, 1, 1, 1),
    "1x1 256-64 56": (256, (56, 56), 64, 1, 1, 0, 1),
    "1x1 1024-256 14": (1024, (14, 14), 256, 1, 1, 0, 1),
    "1x1 256-512 56, stride 2": (256, (56, 56), 512, 1, 2, 0, 1),
    "3x3 depthwise 32 112": (32, (112, 112), 32, 3, 1, 1, 32),
    "3x3 depthwise 192 28": (192, (28, 28), 192, 3, 1, 1, 192),
    "3x3 depthwise 960 7": (960, (7, 7), 960, 3, 1, 1, 960),
    "3x3 4 groups 64-64 28": (64, (28, 28), 64, 3, 1, 1, 4),
    "3 129-128 of 4": (129, (4,), 128, 3, 1, 1, 1),
    "256 1-258 of 640, stride 128": (1, (640,), 258, 256, 128, 0, 1),
    "1024 1-514 of 16000, stride 256": (1, (16000,), 514, 1024, 256, 0, 1),
    "10 1-512 of 16000, stride 5": (1, (16000,), 512, 10, 5, 0, 1),
    "3 512-512 of 799, stride 2": (512, (799,), 512, 3, 2, 0, 1),
}


def measure(name: str, batch: int, channels_last: bool) -> dict[str, float] | None:
    channels, size, filters, kernel, stride, padding, groups = SHAPES[name]
    if channels_last and len(size) == 1:
        return None
    make = torch.nn.Conv1d if len(size) == 1 else torch.nn.Conv2d
    convolution = make(channels, filters, kernel, stride, padding, groups=groups)
    x = torch.randn(batch, channels, *size)
    if channels_last:
        convolution, x = (t.to(memory_format=torch.channels_last) for t in (convolution, x))
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        out = convolution(x)
    x.normal_()
    graph.replay()
    with torch.no_grad():
        torch.testing.assert_close(out, convolution(x), rtol=1e-4, atol=1e-4)
        return alternate({"eager": lambda: convolution(x), "replay": graph.replay}, rounds=9, seconds=0.02)


def main() -> None:
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for batch in (1, 8):
            for channels_last in (False, True):
                figures = {name: measure(name, batch, channels_last) for name in SHAPES}
                layout = "channels last" if channels_last else "contiguous"
                rows = {name: row for name, row in figures.items() if row is not None}
                show(f"Convolutions, batch {batch}, {layout}, {threads} threads", rows)
