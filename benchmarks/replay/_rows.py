"""The nine rows: a model, its inputs, and the peers that there are for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from .._models import Chain, LstmPolicy, blocks, cnn, mlp
from . import _silero

Tensors = tuple[torch.Tensor, ...]

# In the order of the columns. The first that a row has is what all others must agree with.
PEERS = ("torchscript", "eager", "compile", "onnxruntime", "openvino")
OURS = ("exact", "fast")


@dataclasses.dataclass(frozen=True)
class Row:
    """``model`` makes what is run, in evaluation mode; ``inputs`` gives fresh arguments, others each time."""

    name: str
    title: str
    model: Callable[[], torch.nn.Module]
    inputs: Callable[[], Callable[[], Tensors]]
    peers: tuple[str, ...] = PEERS[1:]
    deployed: bool = False  # a file of `ost.deploy` and not a graph is what is timed

    def make(self) -> torch.nn.Module:
        """The model; the same weights each time."""
        torch.manual_seed(0)
        return self.model().eval().requires_grad_(False)


def _normal(*shapes: tuple[int, ...]) -> Callable[[], Callable[[], Tensors]]:
    def begin() -> Callable[[], Tensors]:
        generator = torch.Generator().manual_seed(1)
        return lambda: tuple(torch.randn(shape, generator=generator) for shape in shapes)

    return begin


ROWS = (
    Row(
        "silero",
        "Silero VAD, a chunk of 512 samples",
        _silero.module,
        _silero.chunks,
        peers=("torchscript", "eager", "onnxruntime", "openvino"),
        deployed=True,
    ),
    Row("mlp", "MLP 4 x 256, batch 1", mlp, _normal((1, 256))),
    Row("lstm", "LSTM policy, state in and out", LstmPolicy, _normal((1, 1, 47), (1, 1, 64), (1, 1, 64))),
    Row("block32", "block d 256, 32 tokens", lambda: blocks(1, 256, 8), _normal((1, 32, 256))),
    Row("block1", "block d 256, 1 token", lambda: blocks(1, 256, 8), _normal((1, 1, 256))),
    Row("blocks6", "6 blocks d 384, 32 tokens", lambda: blocks(6, 384, 6), _normal((1, 32, 384))),
    Row("cnn", "CNN 3x32x32, batch 1", cnn, _normal((1, 3, 32, 32))),
    Row("chain1m", "pointwise chain, 1 M", Chain, _normal((1_000_000,))),
    Row("chain1k", "pointwise chain, 1 k", Chain, _normal((1_000,))),
)
