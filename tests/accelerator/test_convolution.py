"""Convolutions in fast numerics: what is fused with them, and what must not be."""

from __future__ import annotations

import gc

import pytest
import torch

import ostinato as ost
from ostinato import _native

from . import opinfo
from .support import captured

F = torch.nn.functional
nn = torch.nn
CONVOLUTION = "ostinato::convolution"


def operators(graph):
    return [node.op for node in graph.nodes]


def block(activation=None, norm=True, inputs=3, outputs=8, **options):
    """A convolution, batch norm with statistics of its own, an activation."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(inputs, outputs, 3, **options)]
    if norm:
        layers.append(nn.BatchNorm2d(outputs))
        nn.init.uniform_(layers[1].weight, -1, 1)
        nn.init.normal_(layers[1].bias)
        nn.init.normal_(layers[1].running_mean)
        nn.init.uniform_(layers[1].running_var, 0.5, 2)
    return nn.Sequential(*layers, *([activation] if activation else [])).eval()


def agrees(graph, out, function, x):
    """Replays with other numbers, and compares with eager."""
    x.normal_()
    graph.replay()
    with torch.no_grad():
        want = function()
    torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-5)
    assert out.stride() == want.stride()


CLAMPS = [lambda y: y.clamp(min=-0.1), lambda y: y.clamp_(0, 1), lambda y: y.clamp_min(0)]
ACTIVATIONS = [
    None,
    nn.ReLU(),
    nn.ReLU(inplace=True),
    nn.ReLU6(),
    nn.ReLU6(inplace=True),
    nn.Hardtanh(-0.3, 0.7),
    nn.LeakyReLU(0.2),
    nn.LeakyReLU(inplace=True),
]


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("norm", [True, False], ids=["norm", "plain"])
def test_norm_and_activation_are_part_of_the_convolution(activation, norm):
    net, x = block(activation, norm, padding=1, stride=2), torch.randn(2, 3, 17, 15)
    graph, out = captured(lambda: net(x))
    assert operators(graph) == [CONVOLUTION]
    agrees(graph, out, lambda: net(x), x)


@pytest.mark.parametrize("after", CLAMPS)
def test_a_clamp_is_part_of_the_convolution(after):
    net, x = block(bias=False), torch.randn(2, 3, 9, 9)
    graph, out = captured(lambda: after(net(x)))
    assert operators(graph) == [CONVOLUTION]
    agrees(graph, out, lambda: after(net(x)), x)


def test_only_one_activation_is_taken_in():
    net, x = block(nn.ReLU()), torch.randn(1, 3, 9, 9)
    graph, out = captured(lambda: F.leaky_relu(net(x).clamp(max=0.5), 0.1))
    assert operators(graph)[0] == CONVOLUTION
    assert [len(node.sources) for node in graph.nodes] == [3, 2]
    agrees(graph, out, lambda: F.leaky_relu(net(x).clamp(max=0.5), 0.1), x)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dims", [1, 2])
def test_norms_without_gamma_and_in_one_dimension(affine, dims):
    convolution, norm = (nn.Conv1d, nn.BatchNorm1d) if dims == 1 else (nn.Conv2d, nn.BatchNorm2d)
    net = nn.Sequential(convolution(4, 6, 3), norm(6, affine=affine)).eval()
    net[1].running_mean.normal_()
    x = torch.randn(2, 4, *(11,) * dims)
    graph, out = captured(lambda: net(x))
    assert operators(graph) == [CONVOLUTION]
    agrees(graph, out, lambda: net(x), x)


def test_a_norm_in_training_is_not_taken_in():
    net, x = block(nn.ReLU()), torch.randn(4, 3, 9, 9)
    twin = block(nn.ReLU())
    net[1].train()
    twin[1].train()
    graph, out = captured(lambda: net(x))
    assert operators(graph)[0] == CONVOLUTION
    assert len(graph.nodes) > 1
    for _ in range(2):
        agrees(graph, out, lambda: twin(x), x)
        torch.testing.assert_close(net[1].running_var, twin[1].running_var)


def test_statistics_weights_and_bias_may_change_between_replays():
    net, x = block(nn.ReLU()), torch.randn(1, 3, 9, 9)
    graph, out = captured(lambda: net(x))
    for change in (
        lambda: net[1].running_mean.normal_(),
        lambda: net[1].running_var.uniform_(0.1, 3),
        lambda: net[1].weight.mul_(-2),
        lambda: net[1].bias.add_(1),
        lambda: net[0].bias.normal_(),
        lambda: net[0].weight.normal_(),
    ):
        with torch.no_grad():
            change()
        agrees(graph, out, lambda: net(x), x)
    net[1].running_var.numpy()[:] = 0.3  # moves no version counter, and is seen all the same
    agrees(graph, out, lambda: net(x), x)
    net[0].weight.data.fill_(0.5)
    graph.refresh_weights()
    agrees(graph, out, lambda: net(x), x)


def test_what_the_caller_holds_is_computed():
    net, x, kept = block(), torch.randn(1, 3, 9, 9), []

    def function():
        kept[:] = [net[0](x)]
        kept.append(net[1](kept[0]))
        return F.relu(kept[1])

    graph, out = captured(function)
    held = list(kept)
    assert [node.op for node in graph.nodes] == ["ostinato::convolution", "ostinato::chain"]
    agrees(graph, out, function, x)
    for got, want in zip(held, kept, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_what_another_node_reads_is_computed():
    net, x = block(), torch.randn(1, 3, 9, 9)

    def function():
        y = net[0](x)
        return F.relu(net[1](y)), y.sum()

    graph, out = captured(function)
    x.normal_()
    graph.replay()
    with torch.no_grad():
        want = function()
    torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-5)


def test_statistics_that_change_before_the_norm_keep_it_apart():
    net, x = block(nn.ReLU()), torch.randn(1, 3, 9, 9)
    mean = net[1].running_mean.clone()

    def function():
        y = net[0](x)
        net[1].running_mean.add_(1)
        return net[2](net[1](y))

    graph, out = captured(function)
    assert len(graph.nodes) > 1
    for _ in range(2):
        net[1].running_mean.copy_(mean)
        graph.replay()
        net[1].running_mean.copy_(mean)
        with torch.no_grad():
            torch.testing.assert_close(out, function(), rtol=1e-4, atol=1e-5)


def test_an_activation_of_a_part_is_not_taken_in():
    net, x = block(norm=False), torch.randn(1, 3, 9, 9)

    def function():
        y = net(x)
        y[:, :4].relu_()
        return y

    graph, out = captured(function)
    assert len(graph.nodes) == 2
    agrees(graph, out, function, x)


@pytest.mark.parametrize("groups", [1, 16])
def test_graphs_of_one_module_share_one_copy_of_the_filters(groups):
    native = _native.ops()
    layer = nn.Conv2d(16, 32 if groups == 1 else 16, 3, groups=groups, padding=1).eval()
    gc.collect()
    before = native.packed_bytes()
    graphs = []
    for batch in (1, 2):
        x = torch.randn(batch, 16, 12, 12)
        graphs.append((x, *captured(lambda x=x: layer(x))))
        if batch == 1:
            one = native.packed_bytes() - before
            assert one >= 4 * layer.weight.numel()
    assert native.packed_bytes() - before == one
    with torch.no_grad():
        layer.weight.neg_()
    for x, graph, out in graphs:
        agrees(graph, out, lambda x=x: layer(x), x)
    assert native.packed_bytes() - before == one
    graphs.clear()
    del graph
    gc.collect()
    assert native.packed_bytes() == before


def test_a_weight_that_is_computed_or_given_is_not_packed():
    x, weight = torch.randn(1, 3, 9, 9), nn.Parameter(torch.randn(4, 3, 3, 3))
    plain = weight.detach().clone()
    for function in (lambda: F.conv2d(x, weight * 2), lambda: F.conv2d(x, plain)):
        graph, out = captured(function)
        assert CONVOLUTION not in operators(graph)
        agrees(graph, out, function, x)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: nn.Conv2d(4, 6, 3, padding="same", dilation=2), (4, 10, 9)),  # no batch
        (lambda: nn.Conv1d(4, 6, 3, stride=2), (4, 10)),
        (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), (2, 4, 10, 9)),
        (lambda: nn.Conv2d(8, 8, 3, groups=8, padding=1), (2, 8, 10, 9)),
        (lambda: nn.ConvTranspose2d(4, 6, 3), (2, 4, 5, 5)),
        (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
        (lambda: nn.Conv2d(4, 6, 3), (0, 4, 5, 5)),
    ],
)
def test_other_forms(make, size):
    torch.manual_seed(0)
    net, x = nn.Sequential(make(), nn.ReLU()), torch.randn(size)
    graph, out = captured(lambda: net(x))
    agrees(graph, out, lambda: net(x), x)


def test_channels_last_goes_through():
    net = nn.Sequential(block(nn.ReLU(), padding=1), block(nn.ReLU6(), inputs=8, outputs=20))
    net = net.to(memory_format=torch.channels_last).eval()
    x = torch.randn(2, 3, 12, 12).to(memory_format=torch.channels_last)
    graph, out = captured(lambda: net(x))
    assert operators(graph) == [CONVOLUTION] * 2
    assert out.is_contiguous(memory_format=torch.channels_last)
    agrees(graph, out, lambda: net(x), x)


def test_a_training_step_trains():
    """Backward reads what the forward pass made: no fusion may take it away."""
    net, twin = block(nn.ReLU(), padding=1), block(nn.ReLU(), padding=1)
    x = torch.randn(2, 3, 8, 8)
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        p.grad, q.grad = torch.zeros_like(p), torch.zeros_like(q)
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        for p in net.parameters():
            p.grad.zero_()
        net(x).square().sum().backward()
    x.normal_()
    graph.replay()
    twin(x).square().sum().backward()
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)


NAMES = {"nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.batch_norm", "native_batch_norm"}
ENTRIES = [op for op in opinfo.entries(torch.float32) if op.name in NAMES]


@pytest.mark.parametrize("op", ENTRIES, ids=lambda op: op.formatted_name)
def test_opinfo_in_fast_numerics(op):
    """Equal to eager, with weights that may be packed."""
    for x, args, kwargs in opinfo.samples(op, torch.float32, 0):
        weights = [t for t in args[:1] if isinstance(t, torch.Tensor)]

        def function(x=x, args=args, kwargs=kwargs):
            return opinfo.tensors(op(x, *args, **kwargs))

        graph = ost.accelerator.Graph(numerics="fast")
        graph._treat_as_weights(weights)
        before = [t.clone() for t in opinfo.tensors((x, args, kwargs))]
        with torch.no_grad(), graph:
            out = function()
        graph.replay()
        for tensor, value in zip(opinfo.tensors((x, args, kwargs)), before, strict=True):
            tensor.copy_(value)  # the statistics of a training batch norm
        with torch.no_grad():
            want = function()
        torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-5)
