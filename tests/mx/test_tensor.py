"""MXTensor as a tensor: what keeps it quantized, what dequantizes, what is refused; files and programs."""

from __future__ import annotations

import copy
import io
import pickle
import shutil
import warnings

import pytest
import torch

import ostinato as ost

from .model import FORMATS

F = torch.nn.functional
by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)


def made(format, *shape):
    return ost.mx.quantize(torch.randn(shape), format)


def same(a, b):
    assert isinstance(a, ost.mx.MXTensor)
    assert isinstance(b, ost.mx.MXTensor)
    assert (a.format, a.block_size, a.dtype, a.shape) == (b.format, b.block_size, b.dtype, b.shape)
    assert torch.equal(a.qdata.view(torch.uint8), b.qdata.view(torch.uint8))
    assert torch.equal(a.scale.view(torch.uint8), b.scale.view(torch.uint8))


def test_layouts():
    x = torch.tensor([0.5, 1.0, 1.5, 6.0] + [0.0] * 28)
    four = ost.mx.quantize(x, ost.mx.mxfp4)
    assert (four.qdata.dtype, four.scale.dtype) == (torch.float4_e2m1fn_x2, torch.float8_e8m0fnu)
    assert four.qdata.view(torch.uint8)[:2].tolist() == [0x21, 0x73]
    assert four.scale.view(torch.uint8).tolist() == [127]
    six = ost.mx.quantize(x, ost.mx.mxfp6_e2m3)  # 0.5: 4, 1: 8, 1.5: 12, 6: 28, six bits each from the lowest
    word = 4 | 8 << 6 | 12 << 12 | 28 << 18
    assert six.qdata[:3].tolist() == list(word.to_bytes(3, "little"))


@by_format
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (1,), (2, 3, 33)])
def test_shapes(format, shape):
    x = torch.randn(shape)
    q = ost.mx.quantize(x, format)
    assert q.shape == q.dequantize().shape == x.shape
    assert q.scale.shape == (*shape[:-1], -(-shape[-1] // 32))


@by_format
def test_any_strides(format):
    x = torch.randn(6, 40, 3)
    for view in (x.transpose(0, 1), x[:, ::2], x.permute(2, 0, 1), x[..., :1].expand(6, 40, 35)):
        same(ost.mx.quantize(view, format), ost.mx.quantize(view.contiguous(), format))


@by_format
def test_what_keeps_it_quantized(format):
    x = torch.randn(6, 4, 70)
    q = ost.mx.quantize(x, format)
    same(q[1:4], ost.mx.quantize(x[1:4], format))
    same(q[2], ost.mx.quantize(x[2], format))
    same(q.select(1, -1), ost.mx.quantize(x.select(1, -1), format))
    same(q.narrow(1, 1, 2), ost.mx.quantize(x.narrow(1, 1, 2), format))
    same(q.view(24, 70), ost.mx.quantize(x.view(24, 70), format))
    same(q.reshape(2, -1, 70), ost.mx.quantize(x.reshape(2, -1, 70), format))
    same(torch.cat([q[:2], q[2:]]), q)
    same(torch.cat([q, q], 1), ost.mx.quantize(torch.cat([x, x], 1), format))
    for other in (q.clone(), q.detach(), q.to("cpu", copy=True), copy.deepcopy(q)):
        same(other, q)
    assert q.to(torch.bfloat16).dtype is torch.bfloat16
    assert torch.equal(q.double().dequantize(), q.dequantize(torch.float64))


@by_format
def test_what_dequantizes(format):
    q = made(format, 8, 70)
    w, x, signal = q.dequantize(), torch.randn(3, 70), torch.randn(1, 7, 70)
    for function in (
        lambda w: w.t() + 1,
        lambda w: torch.addmm(torch.ones(3, 8), x, w.mT),
        lambda w: torch.addmm(torch.ones(8), x, w.mT, alpha=2),
        lambda w: x.double() @ w.double().t(),
        lambda w: torch.ones(2, 8) @ w,
        lambda w: F.embedding(torch.tensor([[1, 3], [7, 0]]), w),
        lambda w: w[:, 5:9] + 1,
        lambda w: w.view(4, 140),
        lambda w: torch.cat([w, w], 1),
        lambda w: F.conv1d(signal, w.view(8, 7, 10)),
        lambda w: w.sum(),
    ):
        got, want = function(q), function(w)
        assert type(got) is torch.Tensor
        assert torch.equal(got, want)


@by_format
@pytest.mark.parametrize("rows", [(1,), (), (2, 3), (0,), (300,)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_products(format, rows, dtype):
    weight, bias, x = torch.randn(8, 70).to(dtype), torch.randn(8).to(dtype), torch.randn(*rows, 70).to(dtype)
    q = ost.mx.quantize(weight, format)
    exact = q.dequantize(torch.float64)
    scale = 1e-6 if dtype is torch.float32 else torch.finfo(dtype).eps
    for function in (
        lambda w, b, x: F.linear(x, w, b),
        lambda w, b, x: F.linear(x, w),
        lambda w, b, x: x @ w.t(),
        lambda w, b, x: x @ w.mT + b,
    ):
        with torch.profiler.profile() as profile:
            got = function(q, bias, x)
        assert any(e.key == "ostinato::mx_linear" for e in profile.key_averages())
        want = function(exact, bias.double(), x.double())
        size = function(exact.abs(), bias.double().abs(), x.double().abs())
        assert (got.dtype, got.shape) == (dtype, want.shape)
        assert ((got - want).abs() <= 4 * scale * size).all()


@by_format
def test_a_turned_matrix_is_itself_when_turned_back(format):
    q = made(format, 8, 70)
    same(q.t().t(), q)
    same(q.mT.transpose(0, 1), q)
    assert q.t().shape == (70, 8)
    assert torch.equal(copy.deepcopy(q.t()) * 1, q.dequantize().t())


@by_format
def test_gradients_of_products(format):
    q, bias = made(format, 8, 70), torch.randn(8, dtype=torch.float64)
    numbers = q.dequantize(torch.float64)
    for function in (lambda x, w, b: F.linear(x, w, b), lambda x, w, b: x @ w.t() + b):
        x, b = torch.randn(2, 3, 70, requires_grad=True), bias.float().requires_grad_()
        function(x, q, b).square().sum().backward()
        wide, c = x.detach().double().requires_grad_(), bias.float().double().requires_grad_()
        function(wide, numbers, c).square().sum().backward()
        torch.testing.assert_close(x.grad, wide.grad, check_dtype=False, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(b.grad, c.grad, check_dtype=False, rtol=1e-4, atol=1e-4)


def test_changes_in_place_are_refused():
    q = made(ost.mx.mxfp4, 4, 32)
    for change in (
        lambda: q.add_(1),
        lambda: q.zero_(),
        lambda: q.copy_(torch.ones(4, 32)),
        lambda: torch._foreach_add_([q], 1),  # in a list
    ):
        with pytest.raises(ost.UsageError, match="in place"):
            change()
    with pytest.raises(ost.UsageError, match="in place"):
        torch.add(torch.ones(4, 32), 1, out=q)


def test_wrong_arguments():
    x = torch.randn(4, 32)
    with pytest.raises(ost.UsageError, match="no MX format"):
        ost.mx.quantize(x, "mxfp4")
    with pytest.raises(ost.UsageError, match="block_size=8"):
        ost.mx.quantize(x, ost.mx.mxfp4, block_size=8)
    with pytest.raises(ost.UsageError, match="scale_mode='up'"):
        ost.mx.quantize(x, ost.mx.mxfp4, scale_mode="up")
    with pytest.raises(ost.UsageError, match="int64"):
        ost.mx.quantize(x.long(), ost.mx.mxfp4)
    with pytest.raises(ost.UsageError, match="no dimension"):
        ost.mx.quantize(x[0, 0], ost.mx.mxfp4)


class Net(torch.nn.Module):
    def __init__(self, format):
        super().__init__()
        self.weight = torch.nn.Parameter(made(format, 8, 70), requires_grad=False)

    def forward(self, x):
        return F.linear(x, self.weight).relu()


@by_format
def test_files(format):
    net = Net(format)
    for data in (net.state_dict(), {"a": net.weight, "b": net.weight.detach()}):
        file = io.BytesIO()
        torch.save(data, file)
        file.seek(0)
        for name, loaded in torch.load(file, weights_only=True).items():
            same(loaded, data[name])
            assert isinstance(loaded, torch.nn.Parameter) == isinstance(data[name], torch.nn.Parameter)
    again = pickle.loads(pickle.dumps(net))
    assert list(dict(again.named_parameters())) == ["weight"]
    same(again.weight, net.weight)


@by_format
def test_modules(format):
    net, other, x = Net(format), Net(format), torch.randn(3, 70)
    want = net(x)
    assert torch.equal(copy.deepcopy(net)(x), want)
    assert list(dict(copy.deepcopy(net).named_parameters())) == ["weight"]
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(x), want)
    with pytest.raises(RuntimeError, match="in place"):
        Net(FORMATS[FORMATS.index(format) - 1]).load_state_dict(net.state_dict())


def test_memory_is_that_of_the_bytes():
    q = made(ost.mx.mxfp4, 64, 1024)
    assert q.qdata.untyped_storage().nbytes() + q.scale.untyped_storage().nbytes() == 64 * (512 + 32)


@by_format
def test_programs(format):
    net, x = Net(format), torch.randn(3, 70)
    want = net(x)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(net, backend="aot_eager", fullgraph=True)(x), want)
    graph = ost.accelerator.Graph()
    with torch.no_grad(), graph:
        out = net(x)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(out, net(x))


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(20, 64)
        self.conv = torch.nn.Conv1d(64, 32, 3, padding=1)
        self.head = torch.nn.Linear(32, 10)

    def forward(self, ids):
        return self.head(self.conv(self.table(ids).transpose(1, 2)).mean(-1))


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_the_compiler_of_torch_needs_no_short_dtype():
    model, ids = ost.mx.quantize_(Mixed(), ost.mx.mxfp4).eval(), torch.randint(20, (2, 7))
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*MXTensor")  # as where its programs cannot be kept
        torch.testing.assert_close(torch.compile(model, fullgraph=True)(ids), model(ids))


@by_format
def test_a_program_takes_any_batch(format):
    model, ids = ost.mx.quantize_(Mixed(), format).eval(), torch.randint(20, (3, 7))
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(model, (ids,), dynamic_shapes=({0: batch},))
    torch.testing.assert_close(program.module()(ids[:1]), model(ids[:1]))


def test_modules_move():
    model = Net(ost.mx.mxfp4)
    numbers = model.weight.dequantize()
    assert model.bfloat16().weight.dtype is torch.bfloat16
    same(model.float().weight, ost.mx.quantize(numbers, ost.mx.mxfp4))
    assert isinstance(model.to("meta").weight, ost.mx.MXTensor)
    assert model.to_empty(device="cpu").weight.shape == (8, 70)
