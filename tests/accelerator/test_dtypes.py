"""Layouts and dtypes of inputs: strided in every way, floats, integers, bool, complex; the default dtype."""

from __future__ import annotations

import pytest
import torch

from .support import assert_identical, assert_replays_like_eager, capture

F = torch.nn.functional


@pytest.mark.parametrize("layout", ["transposed", "stepped", "offset", "channels_last"])
def test_layouts_of_inputs(layout):
    base = torch.randn(4, 6, 5, 8)
    x = {
        "transposed": base.transpose(1, 3),
        "stepped": base[::2, :, 1::2, ::3],
        "offset": base[1:, 2:, 3:, 5:],
        "channels_last": base.to(memory_format=torch.channels_last),
    }[layout]

    def program():
        pooled = F.avg_pool2d(x, 2, stride=1)
        return x + 1, x.sum(1), x.softmax(-1), x @ x.transpose(-1, -2), pooled, x.flatten(1), x.mul_(0.5)

    assert_replays_like_eager(program, [x], torch.Tensor.normal_)


# ---- dtypes -------------------------------------------------------------------
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats(dtype):
    x = torch.randn(6, 6, dtype=dtype)

    def program():
        y = x * 2 + 0.3 - x / 3
        y.addcmul_(x, x, value=0.1)
        return (
            y,
            x @ x,
            x.sum(),
            x.mean(0),
            x.softmax(1),
            F.layer_norm(x, (6,)),
            (x > 0).to(dtype),
            x.to(torch.float32) + 1,
            F.gelu(x),
            x**2,
            x.std(0),
            x.lerp(y, 0.3),
        )

    assert_replays_like_eager(program, [x], torch.Tensor.normal_)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype):
    x = torch.randint(0, 2, (4, 5), dtype=dtype)

    def program():
        outputs = [
            x.sum(),
            x.float() / 3,
            x & x.flip(0),
            x | True,
            x != 1,
            ~x if dtype is not torch.uint8 else x,
        ]
        outputs += [
            x.any(1),
            x.to(torch.int64).cumsum(0),
            x.masked_fill(x == 1, 0),
            x / 2,
            x.t().contiguous(),
        ]
        if dtype is not torch.bool:
            outputs += [x * 3 + 1, x // 2, x % 2, x << 1, x.max(1), -x.to(torch.int32)]
        return outputs

    assert_replays_like_eager(program, [x], lambda t: t.random_(0, 2))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_complex_and_lazy_conjugates(dtype):
    x = torch.randn(3, 3, dtype=dtype)

    def program():
        lazy = x.conj()
        y = lazy @ x
        y.imag.mul_(2)
        z = x.clone()
        z.conj().add_(1j)
        outputs = lazy, lazy * 2, x.mH @ x, lazy.imag, lazy.imag + 1, x.abs(), x.angle(), y, z
        return *outputs, torch.view_as_real(x), lazy.clone(), lazy.imag.neg(), x.sum().conj()

    _, out = assert_replays_like_eager(program, [x], torch.Tensor.normal_)
    assert out[0].is_conj()
    assert out[3].is_neg()


@pytest.mark.parametrize("inside", [torch.float64, torch.float32], ids=str)
def test_the_default_dtype_of_the_capture_holds_at_replay(inside):
    before = torch.get_default_dtype()
    i = torch.arange(5)
    program = lambda: (torch.linspace(0, 1, 7), i / 3, torch.full((2,), 0.1), torch.rand(300_000) * 0)  # noqa: E731
    other = {torch.float32: torch.float64, torch.float64: torch.float32}[inside]
    try:
        torch.set_default_dtype(inside)
        want = program()
        graph, got = capture(program, keep_graph=True)
        torch.set_default_dtype(other)
        graph.replay()
        assert torch.get_default_dtype() is other
    finally:
        torch.set_default_dtype(before)
    assert_identical(got, want)
