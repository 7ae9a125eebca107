"""Chains of pointwise operators: what joins one, what must not, and what comes out."""

from __future__ import annotations

import copy

import pytest
import torch

import ostinato as ost

F = torch.nn.functional


def chains(function, *inputs, rtol=1e-5, atol=1e-6):
    """How many operators each chain of the fast graph of ``function`` stands for, after a check.

    Results, and what the function leaves in its inputs, are those of eager on numbers
    written after the capture.
    """
    graph = ost.accelerator.Graph(numerics="fast")
    mine = [x.clone() if x.is_contiguous() else x for x in inputs]
    with torch.no_grad(), graph:
        outs = function(*mine)
    for step in range(2):
        torch.manual_seed(step)
        for x in mine:
            x.copy_(torch.randn(x.shape) * 2 if x.is_floating_point() else torch.randint(0, 2, x.shape))
        its = [x.clone(memory_format=torch.preserve_format) for x in mine]
        graph.replay()
        with torch.no_grad():
            wants = function(*its)
        for out, want in zip(outs, wants, strict=True):
            assert (out.dtype, out.stride()) == (want.dtype, want.stride())
            torch.testing.assert_close(out, want, rtol=rtol, atol=atol)
        for x, y in zip(mine, its, strict=True):
            torch.testing.assert_close(x, y, rtol=rtol, atol=atol)
    return [len(node.sources) for node in graph.nodes if node.op == "ostinato::chain"]


def gates(x, c):
    i, f, g, o = x.chunk(4, 1)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * new.tanh(), new


def through_a_view(x, c):
    return ((x * 2).view(2, 3, 4, 4).exp() + 1).reshape(6, 16) * 0.5, c


def in_place(x, c):
    c.mul_(0.9).add_(x[:, :4], alpha=0.1)
    return (x.tanh().add_(1),)


def exchange(x, c):
    a, b = x[:, :4], x[:, 4:8]
    old = a.clone()
    a.copy_(b * 2)
    b.copy_(old + 1)
    return (c,)


def read_before_and_after(x, c):
    before = c.exp()
    c.add_(1)
    return before, c.exp()


def by_a_reduction(x, c):
    return (x - x.tanh().mean(1, keepdim=True)).relu() * 2, c


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (gates, [9]),
        (through_a_view, [4]),
        (in_place, [2, 2]),
        (exchange, [5]),
        (read_before_and_after, [3]),
        (by_a_reduction, [1, 3]),
        (lambda x, c: (x * 1.5 + 0.5, c), [2]),
        (lambda x, c: (x.t() * 2 - 1, c), [2]),
        (lambda x, c: (F.gelu(x), c), [1]),
        (lambda x, c: (torch.where(c > 0, c, c.exp() - 1), c), [4]),
        (lambda x, c: ((x.bfloat16() * 2).float() + 1, c), [4]),
        (lambda x, c: (((c > 0) & ~(c > 1)).float(), c), [5]),
    ],
)
def test_one_loop(function, expected):
    assert chains(function, torch.randn(6, 16), torch.randn(6, 4), rtol=1e-5) == expected


def neighbours(x, c):
    x[:, 1:].add_(x[:, :-1] * 1.0)
    return (x * 1.0 + 1,)


def flipped(x, c):
    c.copy_(c.flip(0) * 2.0 + 1)
    return (c,)


def of_a_row(x, c):
    c.mul_(c[0] * 1.0 + 1)
    return (c,)


def overlapping(x, c):
    wide = x.as_strided((5, 16), (8, 1))
    return (wide * 2.0 + 1, c)


def bits_of_it(x, c):
    y = c * 2.0
    z = y.view(torch.int32) + 1
    return (z.view(torch.float32) * 1.0, c)


def scalar_of_it(x, c):
    y = c * 2.0 + 1
    return (y * y[0, 0] + 1, c)


@pytest.mark.parametrize("function", [neighbours, flipped, of_a_row, overlapping, bits_of_it, scalar_of_it])
def test_elements_that_meet_other_elements(function):
    chains(function, torch.randn(6, 16), torch.randn(6, 4))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 1, 5), (2, 3, 5, 7), (70000,), (130, 130)])
def test_shapes(shape):
    chains(lambda x, y: (x.sigmoid() * y + x, y), torch.randn(shape), torch.randn(shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex64])
def test_other_dtypes_are_left_alone(dtype):
    x = torch.ones(4, 4).to(dtype)
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        y = x * 3 + x
    graph.replay()
    assert torch.equal(y, x * 3 + x)
    assert not [node for node in graph.nodes if node.op == "ostinato::chain"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_round_after_each_operator_as_eager_does(dtype):
    x, y = torch.randn(500, 3).to(dtype), torch.randn(500, 3).to(dtype)
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        z = (x + y) * y - x
    graph.replay()
    assert torch.equal(z, (x + y) * y - x)


def test_threads_share_a_chain():
    x = torch.randn(3000, 100)
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        y = (x.tanh() + 1) * x.T.contiguous().T.sigmoid()
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        graph.replay()
        one = y.clone()
        torch.set_num_threads(2)
        y.zero_()
        graph.replay()
        assert torch.equal(one, y)
    finally:
        torch.set_num_threads(before)


def test_a_chain_waits_for_nothing_that_it_does_not_need():
    """A node between two members stays where it is unless it touches what they touch."""
    w = torch.nn.Parameter(torch.randn(16, 16))

    def function(x, c):
        y = x * 2.0
        z = c @ c.t()
        return ((y + 1.0).tanh(), z, x @ w)

    assert chains(function, torch.randn(6, 16), torch.randn(6, 4)) == [3]


def test_gradients_of_activations():
    """Backward formulas against autograd in float64."""
    functions = [F.gelu, F.silu, F.elu, F.softplus, torch.tanh, torch.sigmoid, F.hardtanh, F.leaky_relu]
    functions += [lambda x: F.gelu(x, approximate="tanh"), F.hardsigmoid, F.relu, F.celu]
    for function in functions:
        x = torch.linspace(-7, 7, 1001, requires_grad=True)
        graph = ost.accelerator.Graph(numerics="fast")
        with graph:
            (grad,) = torch.autograd.grad((function(x) * x.detach()).sum(), x)
        graph.replay()
        exact = x.detach().double().requires_grad_()
        (want,) = torch.autograd.grad((function(exact) * exact.detach()).sum(), exact)
        torch.testing.assert_close(grad, want.float(), rtol=1e-5, atol=5e-6)


BATCH_NORMS = [
    (torch.nn.BatchNorm2d, (2, 5, 9, 11)),
    (torch.nn.BatchNorm2d, (1, 3, 20, 40)),  # rows that a tile does not share
    (torch.nn.BatchNorm1d, (4, 7)),
    (torch.nn.BatchNorm1d, (2, 7, 130)),
    (torch.nn.BatchNorm3d, (1, 2, 3, 4, 5)),
]


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("kind", "shape"), BATCH_NORMS)
def test_a_batch_norm_by_known_statistics_joins_a_chain(kind, shape, affine):
    norm = kind(shape[1], affine=affine).eval()
    for numbers in (norm.running_mean, norm.running_var, *norm.parameters()):
        torch.nn.init.uniform_(numbers, 0.5, 2.0)
    x, noise = torch.randn(shape), torch.randn(shape)
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        y = torch.relu(norm(x)) * noise
    assert [node.op for node in graph.nodes] == ["ostinato::chain"]
    x.normal_()
    norm.running_mean.mul_(1.5)
    graph.replay()
    exact = copy.deepcopy(norm).double()(x.double()).relu() * noise.double()
    torch.testing.assert_close(y.double(), exact, rtol=1e-5, atol=1e-5)
