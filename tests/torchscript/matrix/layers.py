"""The module classes of ``torch.nn``, each small, with the inputs of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

A = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
B = torch.randn(2, 3, generator=torch.Generator().manual_seed(1))
T1 = torch.randn(2, 4, 8, generator=torch.Generator().manual_seed(2))
T2 = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(3))
T3 = torch.randn(1, 2, 6, 6, 6, generator=torch.Generator().manual_seed(4))
SEQ = torch.randn(5, 2, 4, generator=torch.Generator().manual_seed(5))
P = torch.rand(2, 3, generator=torch.Generator().manual_seed(6))
ONE = torch.tensor([1.0, -1.0])
CLASSES = torch.tensor([0, 2])
IDS = torch.tensor([[1, 0, 2], [3, 3, 1]])
BY_DIMENSION = {1: T1, 2: T2, 3: T3}

Layer = tuple[Callable[[], nn.Module], tuple[Any, ...]]


def _by_dimension(name: str, dimensions: str, *args: Any, **kwargs: Any) -> dict[str, Layer]:
    """``name1d`` … of these dimensions; a leading "c" among the arguments stands for the channels."""
    found: dict[str, Layer] = {}
    for each in map(int, dimensions):
        x = BY_DIMENSION[each]
        given = tuple(x.size(1) if value == "c" else value for value in args)
        found[f"{name}{each}d"] = (_maker(getattr(nn, f"{name}{each}d"), *given, **kwargs), (x,))
    return found


def _maker(cls: Any, *args: Any, **kwargs: Any) -> Callable[[], nn.Module]:
    return lambda: cls(*args, **kwargs)


def _all(names: str, *inputs: Any) -> dict[str, Layer]:
    return {name: (_maker(getattr(nn, name)), inputs) for name in names.split()}


LAYERS: dict[str, Layer] = {
    **_all(
        "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish PReLU "
        "ReLU ReLU6 RReLU SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Flatten Dropout "
        "AlphaDropout FeatureAlphaDropout",
        A,
    ),
    **_all("Dropout1d", T1),
    **_all("Dropout2d Softmax2d", T2),
    **_all("Dropout3d", T3),
    **{name: (_maker(getattr(nn, name), dim=1), (A,)) for name in ("Softmax", "Softmin", "LogSoftmax")},
    "GLU": (_maker(nn.GLU, 1), (T1,)),
    "Threshold": (_maker(nn.Threshold, 0.1, 20.0), (A,)),
    # ---- losses ----
    **_all("MSELoss L1Loss SmoothL1Loss HuberLoss SoftMarginLoss", A, B),
    **_all("BCELoss KLDivLoss BCEWithLogitsLoss PoissonNLLLoss", P, P.flip(0)),
    **_all("CrossEntropyLoss NLLLoss MultiMarginLoss", A, CLASSES),
    "NLLLoss2d": (_maker(nn.NLLLoss2d), (T2[:, :3], torch.ones(2, 8, 8, dtype=torch.int64))),
    "MultiLabelMarginLoss": (_maker(nn.MultiLabelMarginLoss), (A, IDS % 3)),
    "MultiLabelSoftMarginLoss": (_maker(nn.MultiLabelSoftMarginLoss), (A, P.round())),
    "CosineEmbeddingLoss": (_maker(nn.CosineEmbeddingLoss), (A, B, ONE)),
    "MarginRankingLoss": (_maker(nn.MarginRankingLoss), (A[:, 0], B[:, 0], ONE)),
    "HingeEmbeddingLoss": (_maker(nn.HingeEmbeddingLoss), (A, torch.where(B > 0, 1.0, -1.0))),
    "TripletMarginLoss": (_maker(nn.TripletMarginLoss), (A, B, A + B)),
    "TripletMarginWithDistanceLoss": (_maker(nn.TripletMarginWithDistanceLoss), (A, B, A + B)),
    "GaussianNLLLoss": (_maker(nn.GaussianNLLLoss), (A, B, P)),
    "CTCLoss": (
        _maker(nn.CTCLoss),
        (SEQ.log_softmax(2), torch.tensor([[1, 2], [3, 1]]), torch.tensor([5, 5]), torch.tensor([2, 2])),
    ),
    "AdaptiveLogSoftmaxWithLoss": (_maker(nn.AdaptiveLogSoftmaxWithLoss, 3, 8, [4]), (A, CLASSES)),
    "CosineSimilarity": (_maker(nn.CosineSimilarity), (A, B)),
    "PairwiseDistance": (_maker(nn.PairwiseDistance), (A, B)),
    # ---- by dimension ----
    **_by_dimension("Conv", "123", "c", 4, 3, padding=1),
    **_by_dimension("ConvTranspose", "123", "c", 4, 3, stride=2),
    **_by_dimension("BatchNorm", "123", "c"),
    **_by_dimension("InstanceNorm", "123", "c", affine=True),
    **_by_dimension("MaxPool", "123", 2),
    **_by_dimension("AvgPool", "123", 2),
    **_by_dimension("LPPool", "123", 2.0, 2),
    **_by_dimension("AdaptiveAvgPool", "123", 2),
    **_by_dimension("AdaptiveMaxPool", "123", 2),
    **_by_dimension("ReflectionPad", "123", 1),
    **_by_dimension("ReplicationPad", "123", 1),
    **_by_dimension("ZeroPad", "123", 1),
    **_by_dimension("CircularPad", "123", 1),
    **_by_dimension("ConstantPad", "123", 1, 2.5),
    **_by_dimension("FractionalMaxPool", "23", 2, output_size=3),
    # ---- linear, normalised, embedded ----
    "Linear": (_maker(nn.Linear, 3, 4), (A,)),
    "Bilinear": (_maker(nn.Bilinear, 3, 3, 4), (A, B)),
    "LinearCrossEntropyLoss": (_maker(nn.LinearCrossEntropyLoss, 3, 5), (A, CLASSES)),
    "LayerNorm": (_maker(nn.LayerNorm, 8), (T1,)),
    "RMSNorm": (_maker(nn.RMSNorm, 8), (T1,)),
    "GroupNorm": (_maker(nn.GroupNorm, 2, 4), (T1,)),
    "LocalResponseNorm": (_maker(nn.LocalResponseNorm, 2), (T2,)),
    "CrossMapLRN2d": (_maker(nn.CrossMapLRN2d, 2), (T2,)),
    "SyncBatchNorm": (_maker(nn.SyncBatchNorm, 4), (T2,)),
    "Embedding": (_maker(nn.Embedding, 4, 3, padding_idx=0), (IDS,)),
    "EmbeddingBag": (_maker(nn.EmbeddingBag, 4, 3), (IDS,)),
    # ---- shapes ----
    "Unflatten": (_maker(nn.Unflatten, 1, (2, 2)), (T1,)),
    "Fold": (_maker(nn.Fold, (4, 4), (2, 2), stride=2), (T1[:, :, :4],)),
    "Unfold": (_maker(nn.Unfold, (2, 2)), (T2,)),
    "PixelShuffle": (_maker(nn.PixelShuffle, 2), (T2,)),
    "PixelUnshuffle": (_maker(nn.PixelUnshuffle, 2), (T2,)),
    "ChannelShuffle": (_maker(nn.ChannelShuffle, 2), (T2,)),
    "Upsample": (_maker(nn.Upsample, scale_factor=2.0, mode="bicubic"), (T2,)),
    "UpsamplingBilinear2d": (_maker(nn.UpsamplingBilinear2d, scale_factor=2), (T2,)),
    "UpsamplingNearest2d": (_maker(nn.UpsamplingNearest2d, size=(5, 6)), (T2,)),
    **{
        f"MaxUnpool{n}d": (
            _maker(getattr(nn, f"MaxUnpool{n}d"), (2,) * n),
            getattr(nn.functional, f"max_pool{n}d")(x, 2, return_indices=True),
        )
        for n, x in BY_DIMENSION.items()
    },
    # ---- recurrent, attention ----
    "RNN": (lambda: _Around(nn.RNN(4, 3, 2, nonlinearity="relu")), (SEQ,)),
    "LSTM": (lambda: _Around(nn.LSTM(4, 3, 2, bidirectional=True, proj_size=2)), (SEQ,)),
    "GRU": (lambda: _Around(nn.GRU(4, 3, batch_first=True)), (SEQ,)),
    **{name: (_maker(getattr(nn, name), 4, 3), (SEQ[0],)) for name in ("RNNCell", "LSTMCell", "GRUCell")},
    "MultiheadAttention": (_maker(nn.MultiheadAttention, 4, 2), (SEQ, SEQ, SEQ)),
    "TransformerEncoderLayer": (_maker(nn.TransformerEncoderLayer, 4, 2, 8), (SEQ,)),
    "TransformerDecoderLayer": (_maker(nn.TransformerDecoderLayer, 4, 2, 8), (SEQ, SEQ)),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2),
        (SEQ,),
    ),
    "TransformerDecoder": (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2), (SEQ, SEQ)),
    "Transformer": (_maker(nn.Transformer, 4, 2, 1, 1, 8), (SEQ, SEQ)),
    # ---- containers ----
    "Sequential": (lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), (A,)),
    "ModuleList": (lambda: _Through(nn.ModuleList([nn.Linear(3, 3), nn.Tanh()])), (A,)),
    "ModuleDict": (lambda: _ThroughNamed(nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Tanh()})), (A,)),
    "ParameterList": (lambda: _Sum(nn.ParameterList([torch.ones(3), torch.ones(2, 3)])), (A,)),
    "ParameterDict": (lambda: _SumNamed(nn.ParameterDict({"a": torch.ones(3)})), (A,)),
}


def _lazy(name: str) -> Layer:
    """A lazy module that a first call has made."""
    make, inputs = LAYERS[name]
    like = make()
    given = {"Linear": (4,), "Conv": (4, 3), "ConvTranspose": (4, 3)}.get(name.rstrip("123d"), ())

    def made() -> nn.Module:
        module = getattr(nn, f"Lazy{name}")(*given)
        module(*inputs)
        assert type(module) is type(like)
        return module

    return made, inputs


class _Through(nn.Module):
    def __init__(self, parts: nn.ModuleList):
        super().__init__()
        self.parts = parts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class _Around(nn.Module):
    """A recurrent layer, whose own ``forward`` is overloaded, is compiled as a part."""

    def __init__(self, part: nn.Module):
        super().__init__()
        self.part = part

    def forward(self, x: torch.Tensor):  # type: ignore[no-untyped-def]
        return self.part(x)


class _ThroughNamed(nn.Module):
    def __init__(self, parts: nn.ModuleDict):
        super().__init__()
        self.parts = parts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts.values():
            x = part(x)
        return x


class _Sum(nn.Module):
    def __init__(self, parts: nn.ParameterList):
        super().__init__()
        self.parts = parts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = x + part
        return x


class _SumNamed(nn.Module):
    def __init__(self, parts: nn.ParameterDict):
        super().__init__()
        self.parts = parts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.parts["a"]


LAYERS.update(
    (f"Lazy{name}", _lazy(name))
    for name in (
        "Linear",
        *(
            f"{kind}{n}d"
            for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm")
            for n in (1, 2, 3)
        ),
    )
)
