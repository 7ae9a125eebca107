"""What a dispatch mode cannot see: reads of memory, rebinding, optimizers that make their state."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.overrides import TorchFunctionMode

from .._errors import fail
from ._source import text, user_line

_READS = {
    torch.Tensor.numpy: "numpy()",
    torch.Tensor.tolist: "tolist()",
    torch.Tensor.__array__: "__array__()",
    torch.Tensor.__repr__: "__repr__()",
    torch.Tensor.__format__: "__format__()",
    torch.Tensor.__dlpack__: "__dlpack__()",
}
_SET_GRAD = torch.Tensor.grad.__set__  # type: ignore[attr-defined,union-attr]
_SET_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]


class WatchMode(TorchFunctionMode):
    """Refuses what a replay could not repeat, and notes which gradients the code itself cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.cleared: dict[int, torch.Tensor] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _READS and isinstance(args[0], torch.Tensor):
            raise fail("accelerator.reads_memory", what=_READS[func], where=text(user_line()))
        if func == _SET_DATA:
            raise fail("accelerator.data_setter", what="data", where=text(user_line()))
        if func == _SET_GRAD and args[1] is None:
            self.cleared[id(args[0])] = args[0]
        return func(*args, **(kwargs or {}))


class OptimizerWatch:
    """Raises where an optimizer makes its state inside the capture."""

    def __enter__(self) -> OptimizerWatch:
        self._before: dict[int, set[tuple[int, str]]] = {}
        self._handles = [
            register_optimizer_step_pre_hook(self._pre),
            register_optimizer_step_post_hook(self._post),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    @staticmethod
    def _state(optimizer: Optimizer) -> set[tuple[int, str]]:
        return {
            (id(parameter), name)
            for parameter, state in optimizer.state.items()
            for name, value in state.items()
            if isinstance(value, torch.Tensor)
        }

    def _pre(self, optimizer: Optimizer, *_: Any) -> None:
        self._before[id(optimizer)] = self._state(optimizer)

    def _post(self, optimizer: Optimizer, *_: Any) -> None:
        made = self._state(optimizer) - self._before.pop(id(optimizer), set())
        if made:
            # What this first step made is no state of the user's: a warm-up step shall make it.
            for parameter, state in list(optimizer.state.items()):
                if any(id(parameter) == owner for owner, _ in made):
                    optimizer.state.pop(parameter)
                    del state
            name = sorted(name for _, name in made)[0]
            raise fail("accelerator.optimizer_state", optimizer=type(optimizer).__name__, state=name)


class GradientWatch:
    """Finds gradients that the capture bound for the first time."""

    def __init__(self, watch: WatchMode) -> None:
        self._watch = watch
        self._leaves: dict[int, torch.Tensor] = {}

    def note(self, tensors: list[torch.Tensor]) -> None:
        """Called with the inputs of each operator."""
        for tensor in tensors:
            if not tensor.requires_grad or id(tensor) in self._leaves:
                continue
            if tensor.is_leaf and tensor.grad is None:
                self._leaves[id(tensor)] = tensor

    def check(self) -> None:
        bound = [
            tensor
            for tensor in self._leaves.values()
            if tensor.grad is not None and id(tensor) not in self._watch.cleared
        ]
        if bound:
            for tensor in bound:
                tensor.grad = None
            raise fail("accelerator.grad_bound", count=len(bound), shape=tuple(bound[0].shape))


@contextlib.contextmanager
def eager_compile() -> Iterator[None]:
    """Runs compiled regions as they were written, since a recorder cannot look into compiled code."""
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
