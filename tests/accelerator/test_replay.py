"""What a replay does: inputs by address, outputs in place, every kind of write; eager is the oracle."""

from __future__ import annotations

import pytest
import torch

from ostinato.accelerator import ReplayError

from .support import assert_replays_like_eager, capture, refuses

F = torch.nn.functional


def test_inputs_are_used_by_address():
    x = torch.zeros(3)
    graph, y = capture(lambda: x + 1)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    graph.replay()
    assert y.tolist() == [2, 3, 4]
    address = y.data_ptr()
    view = x.view(3, 1)
    view.add_(1)  # through any alias
    graph.replay()
    assert y.tolist() == [3, 4, 5]
    assert y.data_ptr() == address
    x = torch.full((3,), 100.0)  # another tensor of the same name is another tensor
    graph.replay()
    assert y.tolist() == [3, 4, 5]


def test_outputs_are_overwritten_in_place():
    x = torch.ones(3)
    graph, y = capture(lambda: x * 2)
    graph.replay()
    kept, copy = y, y.clone()
    x.fill_(5)
    graph.replay()
    assert kept.tolist() == [10, 10, 10]
    assert copy.tolist() == [2, 2, 2]


def test_a_replay_can_feed_itself_and_another_graph():
    x = torch.ones(2)
    first, y = capture(lambda: x * 2)
    second, _ = capture(lambda: x.copy_(y + 1))
    for _ in range(4):
        first.replay()
        second.replay()
    assert x.tolist() == [31, 31]


def test_an_output_that_is_an_input():
    x = torch.arange(4.0)
    graph, (same, view, changed) = capture(lambda: (x, x.view(2, 2).t(), x.mul_(2)))
    assert same is x
    assert changed is x
    graph.replay()
    assert view.tolist() == [[0, 4], [2, 6]]
    assert view.data_ptr() == x.data_ptr()


# ---- writes -------------------------------------------------------------------
def _views_of_views(x):
    y = x * 2
    z = y.view(6, 2)[1:5].t()[0]
    z.add_(10)
    y[0, :2] = x[1, :2]
    return y, z, y.unfold(1, 2, 1)


def _intermediates_in_place(x):
    y = x.exp()
    y.mul_(2).add_(x).clamp_(max=3)
    w = torch.empty_like(x)
    w.copy_(y)
    w[:, 0].zero_()
    return w.relu_()


def _inputs_in_place(x):
    y = x + 1
    x.mul_(0.5)
    x[0].sub_(y[1])
    return y, x * 2


def _overlapping(x):
    wide = x.view(-1).as_strided((5, 4), (2, 1))
    return wide + 1, wide.sum(0), wide.t() @ wide


def _expanded(x):
    e = x[:, :1].expand(3, 5)
    return e * 2, e.sum(1), torch.broadcast_to(x[0], (2, 4)) + 1, e


def _backwards(x):
    return x.flip(0), x.t().flip(1) + x.t(), x.roll(1, 0), torch.rot90(x)


def _scatter(x):
    index = torch.tensor([[0, 1, 2, 0], [2, 2, 0, 1]])
    y = x.clone()
    y.scatter_add_(0, index, x[:2])
    y.index_fill_(1, torch.tensor([0]), 5.0)
    y.masked_fill_(x > 0, -1.0)
    return y, x.gather(0, index), torch.where(x > 0, x, y)


def _given_outputs(x):
    a, b, c = torch.empty(3, 4), torch.empty(0), torch.empty(4, 3)
    torch.add(x, 1, out=a)
    torch.mul(x, a, out=b)  # grows
    torch.sin(x, out=c.t())
    v, i = torch.empty(3), torch.empty(3, dtype=torch.int64)
    torch.max(x, 1, out=(v, i))
    return a, b, c, v, i


def _foreach(x):
    parts = [x[0].clone(), x[1] * 1, x[:, 0].contiguous()]
    torch._foreach_mul_(parts, 2.0)
    torch._foreach_add_(parts, [1.0, 2.0, 3.0])
    torch._foreach_addcmul_(parts, parts, parts, 0.5)
    return parts, torch._foreach_norm(parts), torch._foreach_sqrt(torch._foreach_abs(parts))


def _factories(x):
    return (
        torch.zeros(2, 2).add_(x[0, 0]),
        torch.ones_like(x) * x,
        torch.arange(4) * x,
        torch.full((3, 1), 2.5) * x,
        torch.eye(3) @ x,
        torch.linspace(0, 1, 4) + x,
        torch.tril(torch.ones(4, 4)) @ x.t(),
        torch.arange(600_000.0),  # too large to be kept as a constant
    )


def _literals(x):
    t = torch.tensor([1.0, 2.0, 3.0, 4.0])
    t.mul_(2)
    legacy = torch.Tensor([1.0, 2.0, 3.0, 4.0])
    legacy.add_(x[0])
    index = torch.tensor([2, 0])
    index[0] -= 1
    scalar = torch.tensor(3.0)
    scalar.add_(1)
    return t + x, legacy, x[index], scalar * x, x.new_tensor([1.0, 1.0, 1.0, 1.0]).add_(x[1])


def _empty(x):
    none = x[:0]
    return none + 1, none.sum(), none.t() @ none, torch.cat([none, x]), none.mean(1), torch.empty(0).cumsum(0)


def _no_dimensions(x):
    s = x.sum()
    s.div_(2)
    return s, s * 2, x.mean() + x, x[0, 0].clone().add_(1), x.max(), s.expand(3), s.view(1, 1)


def _numbers_in_place(x):
    y, z, long = x.clone(), x * 2, x.repeat(20, 9)
    y.pow_(2)
    z.lerp_(x, 0.3)
    return y, z, long.pow_(2), x.abs().pow_(0.5), x.double().float_power_(3)


def _several_outputs(x):
    return {
        "split": x.split(2, 1),
        "top": x.topk(2),
        "sort": list(x.sort(1)),
        "n": 3,
        "cat": torch.cat([x, x]),
    }


def _resized_inside(x):
    y = torch.empty(2)
    y.resize_(40)
    y.fill_(1)
    y[:12].add_(x.view(-1))
    z = torch.empty(1)
    z.resize_(500).fill_(2)
    return y, z.sum()


PROGRAMS = [
    v for k, v in list(globals().items()) if k.startswith("_") and getattr(v, "__module__", "") == __name__
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__.strip("_"))
def test_program(program):
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    assert_replays_like_eager(lambda: program(x), [x], torch.Tensor.normal_)


# ---- operators of the user's --------------------------------------------------
@pytest.fixture(scope="module")
def library():
    def bump(x, by, scale=None):
        x.add_(by if scale is None else by * scale)

    made = torch.library.Library("ostinato_test", "FRAGMENT")
    made.define("rounded(Tensor(a) x, bool copy) -> Tensor(a)")
    made.define("bump_(Tensor(a!) x, Scalar by, Tensor? scale=None) -> ()")
    made.impl("rounded", lambda x, copy: x.round() if copy else x.view(-1), "CPU")
    made.impl("bump_", bump, "CPU")
    yield torch.ops.ostinato_test
    made._destroy()


def test_operators_of_a_library(library):
    """One that hands its input through or makes a new tensor, as the schema allows; one that only writes."""
    x = torch.randn(3, 4)

    def program():
        new, same = library.rounded(x, True), library.rounded(x, False)
        library.bump_(new, 2)
        library.bump_(same, 3, x.abs().view(-1))
        return new, same

    _, (new, same) = assert_replays_like_eager(program, [x], torch.Tensor.normal_)
    assert same.data_ptr() == x.data_ptr() != new.data_ptr()


# ---- failing at replay --------------------------------------------------------
@pytest.mark.parametrize("generator", [None, torch.Generator()], ids=["native step", "Python step"])
def test_an_operator_that_fails_at_replay_is_named(generator):
    """ReplayError says which operator, which line, and what torch said; the graph goes on afterwards."""
    x, i, p = torch.arange(4.0), torch.tensor([0, 1]), torch.tensor([0.0, 1.0])

    def program():
        if generator is None:
            return x[i] + 1, F.embedding(i, x.view(2, 2))
        return p + 1, p.bernoulli(generator=generator)

    graph, out = capture(program)
    graph.replay()
    i[0], p[0] = 9, 9.0
    error = refuses(graph.replay, ReplayError, "step_failed")
    assert __file__ + ":" in error.message
    if generator is None:
        assert "aten.index.Tensor" in error.message
        assert "index 9 is out of bounds for dimension 0 with size 4" in error.message
    else:
        assert "aten.bernoulli.default" in error.message
        assert "p_in <= 1" in error.message
    assert isinstance(error.__cause__, (RuntimeError, IndexError))
    i[0], p[0] = 1, 1.0
    graph.replay()
    assert out[0].tolist() == [2, 2]
