"""``torch.cond``, ``torch.while_loop`` and their like inside a capture."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.scan import generic_scan

from .._errors import fail
from ._branches import join
from ._capture import Recorder
from ._loops import loop
from ._source import text, user_line

_higher_order = torch.ops.higher_order


def _cond(recorder: Recorder, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    branches = [functools.partial(f, *operands) for f in (true_fn, false_fn)]
    if not isinstance(pred, torch.Tensor):
        return branches[0]() if pred else branches[1]()
    return join(recorder, pred, branches, user_line())


def _while_loop(
    recorder: Recorder, cond_fn: Any, body_fn: Any, carried: Any, additional: Any = (), **_: Any
) -> Any:
    return loop(recorder, cond_fn, body_fn, tuple(carried), tuple(additional), user_line())


def _unroll(operator: Any) -> Callable[..., Any]:
    """Runs what torch runs without dynamo: Python code that calls the body for each element."""

    def run(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
        return operator.py_kernels[torch._C.DispatchKey.CompositeExplicitAutograd](*args, **kwargs)

    return run


def _scan(recorder: Recorder, combine: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    return generic_scan(combine, init, xs, additional_inputs=additional_inputs)  # type: ignore[no-untyped-call]


def _refuse_stack(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    name = _higher_order.while_loop_stack_output.name()
    raise fail("accelerator.data_dependent_shape", op=name, where=text(user_line()))


# What each operator of higher order does in a capture. It is called with both modes of the capture on.
CONTROL_FLOW: dict[Any, Callable[..., Any]] = {
    _higher_order.cond: _cond,
    _higher_order.while_loop: _while_loop,
    _higher_order.while_loop_stack_output: _refuse_stack,
    _higher_order.scan: _scan,
    **{
        operator: _unroll(operator)
        for name in ("map_impl", "associative_scan")
        if (operator := getattr(_higher_order, name, None)) is not None
    },
}
