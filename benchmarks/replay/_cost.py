"""What a row has to do at least: the operations of its matrix products, and the bytes it must touch."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from ._rows import Row


@dataclasses.dataclass(frozen=True)
class Cost:
    """``flops`` counts two for a multiplication and addition in matrix products and convolutions, and no
    other arithmetic; ``bytes`` counts inputs, weights and outputs once each."""

    flops: int
    bytes: int


class _Touched(TorchDispatchMode):
    """Collects the tensors that a computation reads without having made them."""

    def __init__(self) -> None:
        super().__init__()
        self._made: set[int] = set()
        self._kept: list[torch.Tensor] = []  # so that no address is given out twice
        self.read: dict[int, int] = {}  # bytes by storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        before = {t.untyped_storage().data_ptr(): t for t in _tensors((args, kwargs))}
        result = func(*args, **kwargs)
        for address, tensor in before.items():
            if address not in self._made:
                self.read[address] = max(self.read.get(address, 0), tensor.numel() * tensor.element_size())
        for tensor in _tensors(result):
            self._kept.append(tensor)
            if tensor.untyped_storage().data_ptr() not in before:
                self._made.add(tensor.untyped_storage().data_ptr())
        return result


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(tree) if isinstance(each, torch.Tensor)]


def cost(row: Row) -> Cost:
    """Counted by running the row's model once, its LSTM as the products that it is."""
    model, inputs = row.make(), row.inputs()()
    counter, touched = FlopCounterMode(display=False), _Touched()
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), counter, touched:
        outputs = _tensors(model(*inputs))
    written = sum(each.numel() * each.element_size() for each in outputs)
    return Cost(counter.get_total_flops(), sum(touched.read.values()) + written)
