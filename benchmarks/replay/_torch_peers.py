"""The peers that torch brings: eager, TorchScript, torch.compile."""

from __future__ import annotations

import torch

from . import _silero
from ._rows import Row, Tensors
from ._runner import Clock, Runner, calling, nothing


def eager(row: Row, threads: int, inputs: Tensors) -> Runner:
    model = row.make()
    clock = Clock()
    model(*inputs)
    return calling(model, inputs, clock(), getattr(model, "reset", nothing))


def torchscript(row: Row, threads: int, inputs: Tensors) -> Runner:
    """The archive as torch.jit runs it, after the calls in which it optimises itself."""
    clock = Clock()
    model = _silero.AtRate(torch.jit.load(_silero.archive()).eval())
    for _ in range(4):
        model(*inputs)
    return calling(model, inputs, clock(), model.reset)


def compiled(row: Row, threads: int, inputs: Tensors) -> Runner:
    """torch.compile for inference: shapes fixed, weights frozen, nothing taken from a cache on the disk.

    The code that it makes is for the number of threads that torch has at that moment.
    """
    from torch._inductor.utils import fresh_cache

    torch._dynamo.reset()
    model = row.make()
    clock = Clock()
    with torch._dynamo.config.patch(allow_rnn=True), fresh_cache():
        function = torch.compile(model, dynamic=False, fullgraph=True, options={"freezing": True})
        function(*inputs)
    return calling(function, inputs, clock())
