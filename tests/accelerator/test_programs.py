"""Random programs over views, writes in place, pointwise operators, products and reductions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st

from .support import assert_identical, capture

SHAPE = (4, 4)  # every tensor of a program, so that any operator takes any of them

# name -> a function of the tensors that it takes
POINTWISE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b * 0.5,
    "mul": lambda a, b: a * b,
    "where": lambda a, b: torch.where(a > b, a, b),
    "minimum": torch.minimum,
    "tanh": lambda a, b: a.tanh(),
    "sigmoid": lambda a, b: torch.sigmoid(b),
    "relu": lambda a, b: a.relu(),
    "sin": lambda a, b: a.sin(),
    "div": lambda a, b: a / (b.abs() + 1),
    "clamp": lambda a, b: a.clamp(-1, 2),
    "addcmul": lambda a, b: torch.addcmul(a, b, b, value=0.3),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    "cast": lambda a, b: a.double().add(1).float(),
}
REDUCING = {
    "matmul": lambda a, b: a @ b * 0.5,
    "addmm": lambda a, b: torch.addmm(a[0], a, b.t(), alpha=0.25),
    "sum": lambda a, b: a.sum(0, keepdim=True).expand(SHAPE),
    "mean": lambda a, b: a - b.mean(1, keepdim=True),
    "softmax": lambda a, b: a.softmax(-1),
    "max": lambda a, b: a.max(1, keepdim=True).values + b,
    "cumsum": lambda a, b: a.cumsum(1) * 0.5,
    "sort": lambda a, b: a.sort(0).values,
    "norm": lambda a, b: torch.nn.functional.layer_norm(a, (4,)),
    "cat": lambda a, b: torch.cat([a[:2], b[2:]]),
    "outer": lambda a, b: a[0].outer(b[:, 1]),
    "gather": lambda a, b: a.gather(1, b.argsort(1)),
}
# A view has the shape of its base, and shares its memory.
VIEWS = {
    "transpose": lambda a: a.t(),
    "view": lambda a: a.view(-1).view(SHAPE) if a.is_contiguous() else a[:],
    "stride": lambda a: a.diagonal().expand(SHAPE),
    "row": lambda a: a[1].expand(SHAPE),
    "unfold": lambda a: a.reshape(-1).unfold(0, 4, 4),
    "detach": lambda a: a.detach(),
    "alias": lambda a: a[:, :],
}
WRITES = {
    "add_": lambda a, b: a.add_(b, alpha=0.5),
    "mul_": lambda a, b: a.mul_(0.5),
    "copy_": lambda a, b: a.copy_(b),
    "part": lambda a, b: a[1:3].copy_(b[:2].tanh()),
    "column": lambda a, b: a[:, 0].sub_(b[0]),
    "tanh_": lambda a, b: a.tanh_(),
    "fill": lambda a, b: a[2].fill_(1.5),
    "masked": lambda a, b: a.masked_fill_(b > 0.5, 0.25),
    "index": lambda a, b: a.index_add_(0, torch.tensor([0, 2]), b[:2]),
    "out": lambda a, b: torch.add(a, b, out=a),
}


def _overlaps(tensor):
    return any(stride == 0 for stride in tensor.stride())


@st.composite
def programs(draw):
    """A list of (kind, name, first operand, second operand); operands count from the newest tensor."""
    kinds = st.sampled_from(["pointwise", "pointwise", "reducing", "view", "write"])
    names = {"pointwise": POINTWISE, "reducing": REDUCING, "view": VIEWS, "write": WRITES}
    operand = st.integers(0, 5)
    steps = []
    for _ in range(draw(st.integers(2, 12))):
        kind = draw(kinds)
        steps.append((kind, draw(st.sampled_from(sorted(names[kind]))), draw(operand), draw(operand)))
    return steps, draw(st.integers(1, 3))


def run(steps, inputs):
    """Returns every tensor that the program made, the views among them."""
    made = list(inputs)
    for kind, name, first, second in steps:
        a, b = made[-1 - first % len(made)], made[-1 - second % len(made)]
        if kind == "view":
            made.append(VIEWS[name](a))
        elif kind == "write":
            if _overlaps(a):
                continue  # eager refuses these
            # torch wants what is read either to be what is written or not to overlap it
            WRITES[name](a, b.clone())
        else:
            made.append({**POINTWISE, **REDUCING}[name](a, b))
    return made[len(inputs) :]


@pytest.mark.filterwarnings("ignore:The capture recorded nothing")  # a program may be views alone
@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs(), st.booleans())
def test_random_programs(case, drop):
    """Three replays with other inputs: outputs and inputs are bit for bit what eager makes of them.

    With ``drop`` only the last tensor is kept, so that all others share the pool.
    """
    steps, count = case
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(SHAPE, generator=generator) for _ in range(count)]
    graph, out = capture(lambda: run(steps, inputs)[-1:] if drop else run(steps, inputs))
    for _ in range(3):
        fresh = [torch.randn(SHAPE, generator=generator) for _ in range(count)]
        for tensor, value in zip(inputs, fresh, strict=True):
            tensor.copy_(value)
        want = run(steps, fresh)
        graph.replay()
        assert_identical(inputs, fresh)
        assert_identical(out, want[-1:] if drop else want)
