"""What a dispatch mode cannot see: reads of memory, rebinding, optimizers that make their state."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.overrides import TorchFunctionMode

from .._errors import fail
from ._checks import CHECKING, add_checks
from ._source import text, user_line

if TYPE_CHECKING:
    from ._capture import Recorder

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
    """Refuses what a replay could not repeat, and notes which gradients the code itself assigned.

    ``control_flow`` says what becomes of operators that take functions; ``recorder`` is set to that
    of the same capture.
    """

    def __init__(self, control_flow: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self._control_flow = control_flow
        self.recorder: Recorder
        # Tensors whose .grad the code itself set or cleared, each with the one it had before.
        self.assigned: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _READS and isinstance(args[0], torch.Tensor):
            raise fail("accelerator.reads_memory", what=_READS[func], where=text(user_line()))
        if func == _SET_DATA:
            raise fail("accelerator.data_setter", what="data", where=text(user_line()))
        if func == _SET_GRAD:
            self.assigned.setdefault(id(args[0]), (args[0], args[0].grad))
        if func in self._control_flow:
            with self:
                return self._control_flow[func](self.recorder, *args, **(kwargs or {}))
        nodes = self.recorder.nodes
        start = len(nodes)
        out = func(*args, **(kwargs or {}))
        if func in CHECKING:
            add_checks(nodes, start, CHECKING[func])
        return out


class OptimizerWatch:
    """Raises where an optimizer makes its state inside the capture, or counts in numbers of Python."""

    def __enter__(self) -> OptimizerWatch:
        self._thread = threading.get_ident()  # torch's hooks are for all threads, a capture for one
        self._before: dict[int, tuple[Optimizer, set[tuple[int, str]]]] = {}
        self._numbers: dict[int, list[tuple[dict[Any, Any], str, Any]]] = {}
        self._handles = [
            register_optimizer_step_pre_hook(self._pre),
            register_optimizer_step_post_hook(self._post),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        for optimizer, state in self._before.values():  # their step raised half way
            self._drop(optimizer, self._state(optimizer) - state)

    @staticmethod
    def _state(optimizer: Optimizer) -> set[tuple[int, str]]:
        return {
            (id(parameter), name)
            for parameter, state in optimizer.state.items()
            for name, value in state.items()
            if isinstance(value, torch.Tensor)
        }

    def _pre(self, optimizer: Optimizer, *_: Any) -> None:
        if threading.get_ident() == self._thread:
            self._before[id(optimizer)] = (optimizer, self._state(optimizer))
            places: list[dict[Any, Any]] = [*optimizer.state.values(), *optimizer.param_groups]
            numbers = [(p, n, v) for p in places for n, v in p.items() if isinstance(v, (int, float))]
            self._numbers[id(optimizer)] = numbers

    @staticmethod
    def _drop(optimizer: Optimizer, made: set[tuple[int, str]]) -> None:
        """What a first step made is no state of the user's: a warm-up step shall make it."""
        for parameter in list(optimizer.state):
            if any(id(parameter) == owner for owner, _ in made):
                del optimizer.state[parameter]

    def _post(self, optimizer: Optimizer, *_: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        made = self._state(optimizer) - self._before.pop(id(optimizer), (optimizer, set()))[1]
        if made:
            self._drop(optimizer, made)
            name = sorted(name for _, name in made)[0]
            raise fail("accelerator.optimizer_state", optimizer=type(optimizer).__name__, state=name)
        counted = [c for c in self._numbers.pop(id(optimizer)) if c[0].get(c[1]) != c[2]]
        for place, name, value in counted:
            place[name] = value
        if counted:
            raise fail("accelerator.optimizer_counts", optimizer=type(optimizer).__name__, name=counted[0][1])


class GradientWatch:
    """Finds gradients that the capture bound for the first time."""

    def __init__(self, watch: WatchMode) -> None:
        self._watch = watch
        # Weakly: what nobody else holds in the end, such as the inputs that checkpointing detaches,
        # has a .grad that nobody can read.
        self._leaves: weakref.WeakValueDictionary[int, torch.Tensor] = weakref.WeakValueDictionary()

    def note(self, tensors: list[torch.Tensor]) -> None:
        """Called with the inputs of each operator that require a gradient and were there before."""
        for tensor in tensors:
            if id(tensor) not in self._leaves and tensor.is_leaf and tensor.grad is None:
                self._leaves[id(tensor)] = tensor

    def check(self) -> None:
        bound = [
            tensor
            for tensor in self._leaves.values()
            if tensor.grad is not None and id(tensor) not in self._watch.assigned
        ]
        if bound:
            raise fail("accelerator.grad_bound", count=len(bound), shape=tuple(bound[0].shape))

    def undo(self) -> None:
        """Gives every tensor the .grad that it had before the capture."""
        for tensor in self._leaves.values():
            tensor.grad = None
        for tensor, grad in self._watch.assigned.values():
            tensor.grad = grad


def hide_from_dynamo(function: Any) -> None:
    """Keeps dynamo, should the captured code load it, out of ``function`` and all that it calls."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameAction.SKIP
    frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))


hide_from_dynamo(WatchMode.__torch_function__)
