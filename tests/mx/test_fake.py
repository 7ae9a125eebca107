"""fake_quantize: the numbers of the float64 model, the gradient of the identity; training with it."""

from __future__ import annotations

import copy
import importlib.util
import pathlib

import numpy as np
import pytest
import torch

import ostinato as ost

from .model import FORMATS, MODES, rounded

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "train_digits.py"
by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)


def bits(x):
    return x.contiguous().view(torch.uint8)


@by_format
@pytest.mark.parametrize("mode", MODES)
def test_numbers(format, mode):
    x = torch.randn(5, 7, 70) * torch.logspace(-30, 30, 35).view(5, 7, 1)
    x[0, 0], x[1, 1, 3] = 0.0, -0.0
    got = ost.mx.fake_quantize(x, format, block_size=16, scale_mode=mode)
    want, _ = rounded(x.double().numpy(), format.name, 16, mode)
    assert np.array_equal(got.numpy(), want.astype(np.float32))
    assert torch.equal(
        bits(got), bits(ost.mx.quantize(x, format, block_size=16, scale_mode=mode).dequantize())
    )


@by_format
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_dtypes_strides_and_what_is_not_finite(format, dtype):
    x = (torch.randn(40, 6) * 100).to(dtype).t()
    x[1, 3], x[4, 35] = torch.nan, -torch.inf
    got = ost.mx.fake_quantize(x, format)
    assert got.dtype is dtype
    assert torch.equal(bits(got), bits(ost.mx.quantize(x, format).dequantize()))
    assert got.isnan().nonzero()[:, 0].unique().tolist() == [1, 4]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (1,)])
def test_shapes(shape):
    assert ost.mx.fake_quantize(torch.ones(shape), ost.mx.mxfp4).shape == shape


@by_format
def test_the_gradient_is_that_of_the_identity(format):
    x = (torch.randn(4, 70, dtype=torch.float64) * 9).requires_grad_()
    y = ost.mx.fake_quantize(x, format)
    (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(first, 3 * y**2)  # saturated numbers too
    assert torch.equal(second, 6 * y)


@by_format
def test_compiled(format):
    def f(x):
        return ost.mx.fake_quantize(x.sin(), format).sum(-1)

    x = torch.randn(4, 70, requires_grad=True)
    torch._dynamo.reset()
    got = torch.compile(f, backend="aot_eager", fullgraph=True)(x)
    assert torch.equal(got, f(x))
    got.sum().backward()
    torch.testing.assert_close(x.grad, x.cos())


def test_wrong_arguments():
    x = torch.randn(4, 32)
    with pytest.raises(ost.UsageError, match="no MX format"):
        ost.mx.fake_quantize(x, "mxfp4")
    with pytest.raises(ost.UsageError, match="int64"):
        ost.mx.fake_quantize(x.long(), ost.mx.mxfp4)


def test_the_digits_train_in_mxfp4():
    spec = importlib.util.spec_from_file_location("train_digits", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    torch.manual_seed(0)
    images, labels, test_images, test_labels = example.digits()
    full = example.net()
    short = ost.mx.quantize_(copy.deepcopy(full), ost.mx.mxfp4, fake=True)
    accuracy = []
    for model in (full, short):
        training = example.Training(model)
        torch.manual_seed(2)
        example.train(training, training.step, example.batches(images, labels, 20))
        accuracy.append(example.accuracy(model, test_images, test_labels))
    assert accuracy[0] > 0.95
    assert accuracy[1] >= accuracy[0] - 0.01
    # Quantized at last, it computes what it was trained to compute.
    short.eval()
    trained = short(test_images).detach()
    made = ost.mx.quantize_(short, ost.mx.mxfp4)(test_images)
    torch.testing.assert_close(made, trained, rtol=1e-5, atol=1e-5)
    assert all(isinstance(short[i].weight, ost.mx.MXTensor) for i in (0, 3, 6, 9))
