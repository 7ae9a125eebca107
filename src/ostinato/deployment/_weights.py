"""The weights of programs that a block format may hold: how each is used says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ..export import Variant, mutated_buffers, tensor_of

_TENSORS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_CONVOLUTIONS = (
    *("conv1d", "conv2d", "conv3d", "convolution", "_convolution"),
    *("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
)
# operator of ATen → (which argument is the weight, what that makes of it)
_USES = {
    "linear": (1, "linear"),
    "embedding": (0, "embedding"),
    **dict.fromkeys(_CONVOLUTIONS, (1, "convolution")),
}
# operator → the places of its weights, those of the first group in a list
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_CELLS = ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
_TRANSPOSES = ("t", "transpose", "permute", "numpy_T")
_PRODUCTS = {"mm": 1, "matmul": 1, "addmm": 2}
_LEAST_COLUMNS = 16  # below, a block is mostly padding


@dataclass(frozen=True)
class Weight:
    """A weight of one or several programs, and what it is for."""

    name: str
    tensor: torch.Tensor
    use: str  # "linear", "embedding", "convolution" or "recurrent"

    @property
    def matrix(self) -> torch.Tensor:
        """[first size, all others]: its rows are what blocks lie in."""
        return self.tensor.detach().reshape(self.tensor.shape[0], -1)


def weights(methods: Mapping[str, list[Variant]]) -> tuple[list[Weight], dict[str, str]]:
    """``(weights that may be quantized, name → why another matrix may not)``."""
    found: dict[str, Weight] = {}
    left: dict[str, str] = {}
    for program in (each.program for variants in methods.values() for each in variants):
        mutated = set(mutated_buffers(program))
        for name, node in placeholders(program):
            tensor = tensor_of(program, name)
            if tensor.dim() < 2 or tensor.dtype not in _FLOATS or not node.users:
                continue
            uses = {_use(user, node) for user in node.users}
            if name in mutated:
                left[name] = "it is state, which the program changes"
            elif len(uses) == 1 and (use := uses.pop()) in (
                "linear",
                "embedding",
                "convolution",
                "recurrent",
            ):
                found[name] = Weight(name, tensor, use)
            else:
                left[name] = f"used by {', '.join(sorted(_operator(user) for user in node.users))}"
    for weight in list(found.values()):
        if weight.matrix.shape[1] < _LEAST_COLUMNS:
            left[weight.name] = f"rows of {weight.matrix.shape[1]} numbers"
    return [each for name, each in found.items() if name not in left], left


def placeholders(program: ExportedProgram) -> Iterator[tuple[str, torch.fx.Node]]:
    """Name → node of every tensor that the program holds."""
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind in _TENSORS and spec.target is not None:
            yield spec.target, nodes[spec.arg.name]


def _use(user: torch.fx.Node, weight: torch.fx.Node) -> str:
    """What ``user`` takes the weight for, as one of a few words; empty where it is something else."""
    name, args = _operator(user), user.args
    if name in _USES:
        place, use = _USES[name]
        return use if _only_at(place, args, weight) else ""
    if name in _RECURRENT and len(args) > 3 and isinstance(args[3], bool):  # not of packed sequences
        return "recurrent" if _only_at(2, args, weight, inside=True) else ""
    if name in _CELLS:
        return "recurrent" if any(_only_at(place, args, weight) for place in (2, 3)) else ""
    if name in _TRANSPOSES and weight.meta["val"].dim() == 2:
        ends = list(user.users)
        place_of = [_PRODUCTS.get(_operator(end)) for end in ends]
        fits = all(
            p is not None and _only_at(p, end.args, user) for p, end in zip(place_of, ends, strict=True)
        )
        return "linear" if ends and fits else ""
    return ""


def _only_at(place: int, args: tuple[Any, ...], node: torch.fx.Node, inside: bool = False) -> bool:
    """Whether ``node`` is the argument at ``place`` (or in the list there) and no other."""
    here = len(args) > place and (node in args[place] if inside else args[place] is node)  # type: ignore[operator]
    return here and not any(each is node for i, each in enumerate(args) if i != place)


def _operator(node: torch.fx.Node) -> str:
    """``conv1d`` of ``aten.conv1d.default``; of other things their name."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.removeprefix("aten::")
    return getattr(target, "__name__", str(target))


__all__ = ["Weight", "placeholders", "weights"]
