"""Runs one OpInfo entry under capture: exact is eager bit for bit, fast as near to float64 as eager is."""

from __future__ import annotations

import dataclasses
import warnings

import torch
from torch.utils import _pytree as pytree

import ostinato as ost

from .random_oracle import wrong

SAMPLES = 8  # of one entry and dtype; the first ones cover the plain forms and most keyword arguments


@dataclasses.dataclass
class Outcome:
    """What became of one entry with one dtype."""

    equal: int = 0
    refused: dict = dataclasses.field(default_factory=dict)  # code of the error -> its message
    wrong: list = dataclasses.field(default_factory=list)
    python: set = dataclasses.field(default_factory=set)  # operators that took a Python step


def entries(dtype):
    """The OpInfo entries that have ``dtype`` on a CPU."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if op.supports_dtype(dtype, "cpu")]


def samples(op, dtype, seed):
    torch.manual_seed(seed)
    made = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        made.append((sample.input, sample.args, sample.kwargs))
        if len(made) == SAMPLES:
            break
    return made


def _clone(tree):
    """Copies every tensor with its strides and, where it is expanded, its overlap."""

    def clone(tensor):
        if tensor.layout is not torch.strided:
            return tensor.clone()
        return tensor.detach().clone(memory_format=torch.preserve_format)

    return pytree.tree_map_only(torch.Tensor, clone, tree)


def _same_shape(a, b):
    left, left_spec = pytree.tree_flatten(a)
    right, right_spec = pytree.tree_flatten(b)
    if left_spec != right_spec:
        return False
    for x, y in zip(left, right, strict=True):
        if isinstance(x, torch.Tensor):
            if (x.shape, x.dtype, x.layout) != (y.shape, y.dtype, y.layout) or x.layout is not torch.strided:
                return False
        elif not (x is y or x == y):
            return False
    return True


def _bits(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype in (torch.bfloat16, torch.complex32):  # NumPy has neither
        tensor = tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else torch.view_as_real(tensor)
    return torch.frombuffer(tensor.numpy().tobytes(), dtype=torch.uint8) if tensor.numel() else tensor


def identical(got, want):
    """Same dtype, shape, strides and bits (a NaN equals a NaN)."""
    if (got.dtype, got.shape, got.stride()) != (want.dtype, want.shape, want.stride()):
        return False
    if torch.equal(_bits(got), _bits(want)):
        return True
    return torch.equal(torch.nan_to_num(got), torch.nan_to_num(want)) and torch.equal(
        got.isnan(), want.isnan()
    )


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def check(op, dtype):
    """Captures every sample of ``op``, feeds it other values, replays, and compares with eager."""
    outcome = Outcome()
    first, second = samples(op, dtype, 0), samples(op, dtype, 1)
    for index, inputs in enumerate(first):
        other = second[index] if index < len(second) and _same_shape(inputs, second[index]) else inputs
        _check_sample(op, inputs, other, index, outcome)
    return outcome


def _run(op, inputs):
    return op(inputs[0], *inputs[1], **inputs[2])


def _check_sample(op, inputs, other, index, outcome):
    inputs = _clone(inputs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _run(op, _clone(inputs))  # what eager itself refuses is no case of ours
            _run(op, _clone(other))
    except Exception:
        return
    graph = ost.accelerator.Graph()
    before = _clone(inputs)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with graph:
                out = _run(op, inputs)
    except ost.accelerator.CaptureError as error:
        outcome.refused.setdefault(error.code, error.message)
        return
    for kept, now in zip(tensors(before), tensors(inputs), strict=True):
        if not identical(now, kept):
            outcome.wrong.append(f"sample {index}: the capture changed an input")
    outcome.python |= set(graph.stats()["python_operators"])
    for tensor, value in zip(tensors(inputs), tensors(other), strict=True):
        if tensor.numel():
            tensor.copy_(value)
    want_inputs = _clone(inputs)
    torch.manual_seed(7)
    graph.replay()
    state = torch.get_rng_state()
    torch.manual_seed(7)
    want = _run(op, want_inputs)
    if not torch.equal(state, torch.get_rng_state()):
        outcome.wrong.append(f"sample {index}: the generator went elsewhere")
    got_all = tensors(out) + tensors(inputs)
    want_all = tensors(want) + tensors(want_inputs)
    pairs = zip(got_all, want_all, strict=True)
    bad = [i for i, (g, w) in enumerate(pairs) if not identical(g, w)]
    if bad and not op.name.startswith(("empty", "new_empty")):
        outcome.wrong.append(f"sample {index}: outputs {bad} differ; {graph}")
    else:
        outcome.equal += 1


def check_fast(op):
    """In fast numerics, every float32 sample that a pass rewrites; its error is held against eager's own."""
    outcome = Outcome()
    for index, inputs in enumerate(samples(op, torch.float32, 0)):
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            try:
                _run(op, _clone(inputs))
            except Exception:
                continue
            _check_fast_sample(op, _clone(inputs), index, outcome)
    return outcome


def _check_fast_sample(op, inputs, index, outcome):
    graph = ost.accelerator.Graph(numerics="fast")
    try:
        with graph:
            out = _run(op, inputs)
    except ost.accelerator.CaptureError as error:
        outcome.refused.setdefault(error.code, error.message)
        return
    if not graph.stats()["fused_nodes"]:
        return
    start = _clone(inputs)
    results = []
    for run in (graph.replay, lambda: _run(op, start), lambda: _run(op, _double(start))):
        torch.manual_seed(7)
        results.append(run())
    if op.name.startswith(("empty", "new_empty")):
        return
    bad = [
        i for i, three in enumerate(zip(*map(tensors, (out, *results[1:])), strict=True)) if _worse(*three)
    ]
    if bad:
        outcome.wrong.append(f"sample {index}: outputs {bad} are worse than eager's; {graph}")
    else:
        outcome.equal += 1


def _double(tree):
    def double(tensor):
        return tensor.double() if tensor.dtype is torch.float32 else tensor.clone()

    return pytree.tree_map_only(torch.Tensor, double, tree)


def _worse(got, want, truth):
    if (got.dtype, got.shape, got.stride()) != (want.dtype, want.shape, want.stride()):
        return True
    return not want.is_complex() and bool(wrong(got, want, truth).any())
