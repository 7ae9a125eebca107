"""Tensors: Device, dtype, layout and memory formats, their constructors, and a walk through operators."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ._case import case

X = torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
N = torch.tensor([[3, 1, 2], [0, 2, 2]])


@case("dtype", (X,))
def types(x: Tensor):
    d = x.dtype
    return (
        x.to(torch.float64), x.to(d), x.half(), x.double(), x.long(), x.type(torch.int32), d ==
        torch.float32,
    )  # fmt: skip


@case("dtype", (X, N))
def questions(x: Tensor, n: Tensor):
    return (
        x.is_floating_point(), n.is_floating_point(), x.is_complex(), n.dtype == torch.int64,
        x.element_size(), x.is_cuda,
    )  # fmt: skip


@case("dtype", (X, torch.float64), (X, None))
def as_an_argument(x: Tensor, d: torch.dtype | None):
    if d is None:
        d = torch.float16
    return x.to(d), torch.zeros([2], dtype=d), x.sum(dtype=torch.float64), x.softmax(0, dtype=torch.float64)


@case("dtype", (X, N))
def promoted(x: Tensor, n: Tensor):
    return (
        x + n, n * 2.5, n + True, x.double() + x, n.to(torch.uint8) + n.to(torch.int8), torch.result_type(n,
        1.5) == torch.float32,
    )  # fmt: skip


@case("Device", (X,))
def devices(x: Tensor):
    d = x.device
    e = torch.device("cpu")
    return (
        d == e, d.type, x.to(e), x.to(d, torch.float64), torch.ones(2, device=e), x.cpu(), torch.zeros([1],
        device="cpu"), d.index,
    )  # fmt: skip


@case("Device", (X, torch.device("cpu")))
def as_argument(x: Tensor, d: torch.device):
    return x.to(device=d), torch.arange(3, device=d), str(d), x.to(x)


@case("layout and memory format", (X[None, None],))
def formats(x: Tensor):
    y = x.contiguous(memory_format=torch.channels_last)
    z = x.to(memory_format=torch.channels_last)
    return (
        y.is_contiguous(), y.is_contiguous(memory_format=torch.channels_last), z.stride(), x.layout ==
        torch.strided, y.clone(memory_format=torch.preserve_format).stride(),
    )  # fmt: skip


@case("layout and memory format", (X,))
def layouts(x: Tensor):
    return (
        torch.zeros([2], layout=torch.strided), torch.empty_like(x,
        memory_format=torch.contiguous_format).shape, x.is_sparse, x.to_sparse().to_dense(),
    )  # fmt: skip


@case("constructors", (3,))
def made(n: int):
    return (
        torch.zeros(n, 2), torch.ones(2, n), torch.full((n,), 7), torch.full([2], 0.5), torch.eye(n),
        torch.arange(n), torch.arange(1, n, 0.5), torch.linspace(0, 1, n), torch.logspace(0, 1, 3),
        torch.arange(n, dtype=torch.float32), torch.tril_indices(3, 3), torch.hann_window(4), torch.empty(0),
        torch.zeros(()), torch.triu(torch.ones(n, n)),
    )  # fmt: skip


@case("constructors", (X,))
def like_another(x: Tensor):
    return (
        torch.zeros_like(x), torch.ones_like(x, dtype=torch.int64), torch.full_like(x, 3.0), x.new_zeros(2,
        2), x.new_ones([1]), x.new_full((2,), 4.0), x.new_empty(0), x.new_zeros([2], dtype=torch.int32),
    )  # fmt: skip


@case("reductions", (X,))
def reduced(x: Tensor):
    return (
        x.sum(), x.sum(0), x.mean(1, keepdim=True), x.max(), x.max(1), x.min(dim=0)[0], x.argmax(),
        x.argmin(1), x.prod(), x.std(), x.var(1, unbiased=False), x.norm(), x.norm(p=1, dim=1), x.any(),
        x.all(1), x.cumsum(0), x.logsumexp(1), x.median(), x.amax(1), x.sum([0, 1]), x.count_nonzero(),
        x.mode(1), torch.norm(x, 2, 1), x.nansum(), torch.aminmax(x), torch.std_mean(x),
    )  # fmt: skip


@case("shapes", (X,))
def shaped(x: Tensor):
    return (
        x.view(3, 2), x.view(-1), x.reshape([6]), x.t(), x.T, x.transpose(0, 1), x.permute(1, 0),
        x.unsqueeze(-1), x[None].squeeze(0), x.flatten(), x.expand(2, 2, 3), x.repeat(2, 1), x.flip(0),
        x.roll(1, 1), x.unfold(1, 2, 1), x.movedim(0, 1), x.narrow(1, 0, 2), x.unflatten(1, [3, 1]),
        x.tile([2]), x.diagonal(), x.ravel(), x.expand_as(x[None]), x.view_as(x), x.swapaxes(0, 1), x.mT,
    )  # fmt: skip


@case("joined and split", (X,))
def joined(x: Tensor):
    a, b = x.unbind(0)
    c, d = x.split([1, 2], dim=1)
    e, f = torch.chunk(x, 2)
    return (
        torch.cat([x, x], 1), torch.stack((a, b)), torch.hstack([a, b]), torch.vstack([a, b]), c, d, e, f,
        torch.split(x, 2, 1), x.tensor_split(2, 1), torch.meshgrid(a, b, indexing="ij"),
        torch.broadcast_tensors(a, x), torch.block_diag(a, b), torch.cat((c, d), dim=-1), torch.atleast_2d(a),
        torch.cartesian_prod(a, b),
    )  # fmt: skip


@case("selection", (X, N))
def selected(x: Tensor, n: Tensor):
    return (
        x.gather(1, n % 3), x.index_select(1, torch.tensor([2, 0])), x.masked_select(x > 0), x.take(n),
        torch.where(x > 0, x, -x), x.nonzero(), x.topk(2), x.sort(1), x.argsort(1, descending=True),
        torch.where(x > 0), x.masked_fill(x < 0, 0.0), torch.unique(n), x.kthvalue(1), n.bincount() if n.dim()
        == 1 else n, torch.searchsorted(torch.tensor([0.0, 1.0]), x), torch.isin(x, torch.tensor([1.0])),
        torch.where(x > 0, 1.0, 0.0), torch.unique(n, return_inverse=True, return_counts=True),
        torch.unique_consecutive(n.flatten()), x.take_along_dim(n % 2, 1),
    )  # fmt: skip


@case("linear algebra", (X,))
def products(x: Tensor):
    y = x.t()
    return (
        x @ y, torch.matmul(x, y), x.mm(y), torch.bmm(x[None], y[None]), x[0].dot(x[1]),
        torch.einsum("ij,kj->ik", x, x), torch.outer(x[0], x[1]), torch.addmm(torch.ones(2), x, y),
        x.mv(x[0]), F.linear(x, x), torch.det(x @ y), torch.linalg.norm(x), torch.inverse(x @ y),
        torch.cross(x, x.flip(0), dim=1), torch.baddbmm(torch.ones(1, 2, 2), x[None], y[None], beta=2,
        alpha=0.5), torch.tensordot(x, y, dims=1), torch.cdist(x, x), torch.trace(x @ y), torch.linalg.solve(x
        @ y, x), torch.linalg.svd(x)[1].abs(), torch.kron(x, x), torch.triu(x @ y, 1), torch.einsum("ij->j",
        [x]),
    )  # fmt: skip


@case("pointwise", (X,))
def pointwise(x: Tensor):
    return (
        x.exp(), x.abs().log(), x.sin(), x.tanh(), x.sigmoid(), x.relu(), x.clamp(-1, 1), x.clamp(min=0),
        x.round(), x.floor(), x.sign(), x.square(), x.pow(2), x.rsqrt(), x.erf(), torch.atan2(x, x),
        torch.lerp(x, x * 2, 0.5), torch.maximum(x, -x), x.fmod(2), x.remainder(2), x.trunc(), x.frac(),
        torch.addcmul(x, x, x, value=0.5), torch.logical_and(x > 0, x < 1), x.isnan(), x.reciprocal(),
        torch.hypot(x, x), x.expm1(), x.nan_to_num(), torch.div(x, 2, rounding_mode="floor"), torch.add(x, x,
        alpha=2), torch.sub(x, 1, alpha=3), torch.rsub(x, 2), torch.true_divide(x, 3), torch.floor_divide(x,
        2), torch.logaddexp(x, x), torch.clamp(x, x * 0, x * 0 + 1),
    )  # fmt: skip


@case("comparisons", (X, X.flip(0)))
def compared(x: Tensor, y: Tensor):
    return (
        x == y, x != y, x < y, x >= 0, x.eq(1), torch.equal(x, y), torch.allclose(x, x), x.ne(y),
        torch.isclose(x, y), x is y, x is not None,
    )  # fmt: skip


@case("autograd", (X,))
def of_gradients(x: Tensor):
    y = x.detach()
    return (
        y.requires_grad, x.data, y.is_leaf, x.detach().clone().requires_grad_().requires_grad, y.grad is
        None,
    )  # fmt: skip


@case("random", (X,))
def seeded(x: Tensor):
    torch.manual_seed(3)
    return (
        torch.rand(2), torch.randn_like(x), torch.randint(0, 5, (3,)), torch.randperm(4),
        torch.bernoulli(x.sigmoid()), x.clone().uniform_(), torch.normal(0.0, 1.0, [2]), F.dropout(x, 0.5),
    )  # fmt: skip


@case("spectral", (X,))
def spectral(x: Tensor):
    return (
        torch.fft.fft(x).real, torch.fft.rfft(x), torch.fft.irfft(torch.fft.rfft(x), n=3),
        torch.stft(x[0].repeat(4), 4, return_complex=True, window=torch.ones(4)), torch.fft.fftshift(x),
    )  # fmt: skip
