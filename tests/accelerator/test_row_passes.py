"""Which recorded operators become norms and softmaxes of fast numerics, and which must not."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

F = torch.nn.functional


def replayed(function, *fed):
    """Captures, gives every tensor of ``fed`` new numbers, replays like eager; the names of the nodes."""
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        out = function()
    for tensor in fed:
        tensor.normal_()
    before = [tensor.clone() for tensor in fed]
    graph.replay()
    got = [t.clone() for t in out] if isinstance(out, (tuple, list)) else [out.clone()]
    changed = [tensor.clone() for tensor in fed]
    for tensor, value in zip(fed, before, strict=True):
        tensor.copy_(value)
    want = function()
    torch.testing.assert_close(
        got, list(want) if isinstance(want, (tuple, list)) else [want], rtol=1e-4, atol=1e-5
    )
    torch.testing.assert_close(changed, list(fed), rtol=1e-4, atol=1e-5)
    return [node.op.removeprefix("ostinato::") for node in graph.nodes]


def rms(x, weight=None, epsilon=1e-5):
    scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon)
    return scaled if weight is None else weight * scaled


LAYOUTS = {
    "dense": lambda: torch.randn(3, 5, 24),
    "rows with gaps": lambda: torch.randn(3, 5, 40)[..., 8:32],
    "every other row": lambda: torch.randn(3, 10, 24)[:, ::2],
    "one row for all": lambda: torch.randn(24).expand(3, 5, 24),
    "rows that go backwards": lambda: torch.randn(5, 3, 24).transpose(0, 1),
    "columns first": lambda: torch.randn(3, 24, 5).transpose(1, 2),
    "nothing": lambda: torch.randn(3, 0, 24),
    "one row": lambda: torch.randn(1, 1, 24),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_any_layout(layout):
    x = LAYOUTS[layout]()
    fed = () if layout == "one row for all" else (x,)
    w, b = torch.randn(24), torch.randn(24)
    for function in (
        lambda: F.layer_norm(x, (24,), w, b),
        lambda: F.layer_norm(x, x.shape[1:]),
        lambda: F.rms_norm(x, (24,), w),
        lambda: rms(x, w),
        lambda: F.softmax(x, -1),
        lambda: F.log_softmax(x, 2),
    ):
        replayed(function, *fed)


def test_what_goes_to_the_kernels():
    x, w = torch.randn(4, 32), torch.randn(32)
    image = torch.randn(2, 32, 5, 5)
    assert replayed(lambda: F.layer_norm(x, (32,), w), x) == ["layer_norm"]
    assert replayed(lambda: F.rms_norm(x, (32,), w), x) == ["rms_norm"]
    assert replayed(lambda: F.rms_norm(image, (5, 5)), image) == ["rms_norm"]
    assert replayed(lambda: rms(x, w), x) == ["rms_norm"]
    assert replayed(lambda: rms(x), x) == ["rms_norm"]
    assert replayed(lambda: F.group_norm(image, 8, w, w), image) == ["group_norm"]
    assert replayed(lambda: torch.softmax(x, -1), x) == ["softmax"]


def test_what_does_not():
    wide, x = torch.randn(4, 32).double(), torch.randn(4, 32)
    assert "softmax" not in replayed(lambda: torch.softmax(x, 0), x)
    assert "softmax" not in replayed(lambda: torch.softmax(wide, -1), wide)
    assert "layer_norm" not in replayed(lambda: F.layer_norm(wide, (32,)), wide)
    assert "softmax" not in replayed(lambda: torch.softmax(torch.tensor(2.0), 0))
    columns = torch.randn(32, 4)
    assert "layer_norm" not in replayed(lambda: F.layer_norm(columns.t(), (32,)), columns)


@pytest.mark.parametrize("width", [3, 5, 16, 33, 100])
def test_rows_of_equal_numbers_have_no_spread(width):
    """A mean that is off by a rounding error would come out a thousand times larger."""
    x = (3 * torch.randn(200, 1)).expand(200, width).contiguous()
    with torch.no_grad():
        graph = ost.accelerator.Graph(numerics="fast")
        with graph:
            out = F.layer_norm(x, (width,))
    graph.replay()
    assert graph.stats()["steps"]["fused"] == 1
    assert not out.any()


def test_statistics_are_written_where_they_are_read():
    x = torch.randn(4, 32)
    image = torch.randn(2, 8, 5, 5)
    replayed(lambda: torch.ops.aten.native_layer_norm(x, (32,), None, None, 1e-5), x)
    replayed(lambda: torch.ops.aten.native_group_norm(image, None, None, 2, 8, 25, 4, 1e-5), image)
    replayed(lambda: torch.ops.aten.native_layer_norm(x, (32,), None, None, 1e-5)[1] + 1, x)


def test_training_through_norms():
    layer = torch.nn.LayerNorm(16)
    x, y = torch.randn(6, 16), torch.randn(6, 16)

    def step():
        loss = (F.softmax(layer(x), -1) * y).sum()
        return torch.autograd.grad(loss, [layer.weight, layer.bias])

    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = step()
    x.normal_()
    graph.replay()
    torch.testing.assert_close(list(out), list(step()), rtol=1e-4, atol=1e-5)


def test_a_sum_before_a_norm_is_part_of_it():
    x, y, w = torch.randn(4, 32), torch.randn(4, 32), torch.randn(32)

    def block():
        total = x + y
        return total, F.layer_norm(total, (32,), w)

    def twice():
        total = x + y
        return F.layer_norm(total, (32,)) * 2 + F.layer_norm(total, (32,), w) + total

    assert replayed(block, x, y) == ["layer_norm"]
    assert replayed(lambda: rms(x + y, w), x, y) == ["rms_norm"]
    assert replayed(twice, x, y).count("layer_norm") == 2


def test_a_sum_that_is_not_what_the_norm_reads_stays():
    x, y, w = torch.randn(4, 32), torch.randn(4, 32), torch.randn(32)

    def changed_between():
        total = x + y
        total.mul_(2)
        return F.layer_norm(total, (32,), w)

    def weight_changed_between():
        total = x + y
        w.mul_(0.5)
        return F.layer_norm(total, (32,), w)

    def part():
        return F.layer_norm((x + y)[:2], (32,), w)

    def broadcast():
        return F.layer_norm(x + y[:1], (32,), w)

    def scaled():
        return F.layer_norm(torch.add(x, y, alpha=2), (32,), w)

    for function in (changed_between, part, broadcast, scaled):
        assert len(replayed(function, x, y)) > 1
    replayed(weight_changed_between, x, y, w)


def test_parts_of_an_rms_norm_that_somebody_sees_are_kept():
    x, w = torch.randn(4, 32), torch.randn(32)

    def with_mean():
        mean = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(mean + 1e-5) * w, mean

    def of_another():
        return w * (x * torch.rsqrt((x * 2).pow(2).mean(-1, keepdim=True) + 1e-5))

    def over_rows():
        return x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + 1e-5)

    def changed_between():
        square = x.pow(2)
        x.add_(1)
        return x * torch.rsqrt(square.mean(-1, keepdim=True) + 1e-5)

    def cubed():
        return x * torch.rsqrt(x.pow(3).abs().mean(-1, keepdim=True) + 1e-5)

    for function in (with_mean, of_another, over_rows, changed_between, cubed):
        assert "rms_norm" not in replayed(function, x)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_on_several_threads(threads):
    before = torch.get_num_threads()
    x, w = torch.randn(700, 130), torch.randn(130)
    image = torch.randn(9, 12, 40, 40)
    try:
        torch.set_num_threads(threads)
        replayed(lambda: (F.layer_norm(x, (130,), w), F.softmax(x, -1), F.group_norm(image, 3)), x, image)
    finally:
        torch.set_num_threads(before)
