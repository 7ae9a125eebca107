"""What a capture refuses, each naming the operator, the user's own line and a way out."""

from __future__ import annotations

import contextlib

import pytest
import torch

from ostinato.accelerator import CaptureError, Graph

from .support import capture, refuses

F = torch.nn.functional
x = torch.arange(4.0)
mask = x > 1
counts = torch.tensor([1, 2, 3, 0])
dense = torch.eye(3)


def _print(tensor):
    print(tensor)


def _branch(tensor):
    if tensor.sum() > 0:
        return tensor + 1
    return tensor


def _data(tensor):
    tensor.data = torch.zeros(4)


def _iterate(tensor):
    return [float(t) for t in tensor]


# name -> (code, what the message names, the call)
REFUSED = {
    "item": ("synchronises", "aten._local_scalar_dense", lambda: x.sum().item()),
    "float": ("synchronises", "aten._local_scalar_dense", lambda: float(x[0])),
    "int": ("synchronises", "aten._local_scalar_dense", lambda: int(x[0])),
    "index": ("synchronises", "aten._local_scalar_dense", lambda: [1, 2, 3][counts[0]]),
    "bool": ("synchronises", "aten.", lambda: bool(x[0])),
    "if": ("synchronises", "aten.", lambda: _branch(x)),
    "floats": ("synchronises", "aten._local_scalar_dense", lambda: _iterate(x)),
    "equal": ("synchronises", "aten.equal", lambda: torch.equal(x, x)),
    "allclose": ("synchronises", "aten.", lambda: torch.allclose(x, x)),
    "nonzero": ("data_dependent_shape", "aten.nonzero", lambda: x.nonzero()),
    "where": ("data_dependent_shape", "aten.nonzero", lambda: torch.where(mask)),
    "mask": ("data_dependent_shape", "aten.index", lambda: x[mask]),
    "masked_select": ("data_dependent_shape", "aten.masked_select", lambda: x.masked_select(mask)),
    "unique": ("data_dependent_shape", "aten._unique2", lambda: x.unique()),
    "consecutive": ("data_dependent_shape", "aten.unique_consecutive", lambda: x.unique_consecutive()),
    "bincount": ("data_dependent_shape", "aten.bincount", lambda: counts.bincount()),
    "slice": ("synchronises", "aten._local_scalar_dense", lambda: x[: counts[0]]),
    "narrow": ("synchronises", "aten._local_scalar_dense", lambda: x.narrow(0, 0, counts[0])),
    "size": ("synchronises", "aten._local_scalar_dense", lambda: torch.zeros(counts[1])),
    "range": ("synchronises", "aten._local_scalar_dense", lambda: list(range(counts[1]))),
    "repeat": ("data_dependent_shape", "aten.repeat_interleave", lambda: x.repeat_interleave(counts)),
    "one_hot": ("synchronises", "aten._local_scalar_dense", lambda: F.one_hot(counts)),
    "tolist": ("reads_memory", "tolist()", lambda: x.tolist()),
    "numpy": ("reads_memory", "numpy()", lambda: x.numpy()),
    "print": ("reads_memory", "Tensor.", lambda: _print(x)),
    "format": ("reads_memory", "Tensor.", lambda: f"{x}"),
    "dlpack": ("reads_memory", "__dlpack__()", lambda: torch.utils.dlpack.from_dlpack(x)),
    "sparse": ("layout", "aten.", lambda: dense.to_sparse()),
    "csr": ("layout", "aten.", lambda: dense.to_sparse_csr()),
    "meta": ("device", "aten.", lambda: META + 1),
    "to meta": ("device", "aten.copy_", lambda: x.copy_(META)),
    "resize_": ("resizes", "aten.resize_", lambda: torch.ones(2).add_(SMALL.resize_(50).sum())),
    "resize_as_": ("resizes", "aten.resize_as_", lambda: SMALL.resize_as_(x)),
    "data": ("data_setter", "Tensor.data", lambda: _data(x)),
    "set_": ("rebinds", "aten.set_", lambda: x.set_(torch.zeros(4))),
    "set_ from storage": ("rebinds", "aten.set_", lambda: x.set_(torch.zeros(4).untyped_storage())),
}
META = torch.zeros(4, device="meta")
SMALL = torch.zeros(2)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("mode", ["grad", "no_grad", "inference_mode"])
def test_refusal(name, mode, capsys):
    """The line that the message names is that of the call in this file, in every grad mode."""
    code, named, call = REFUSED[name]
    around = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}[
        mode
    ]
    content = x.clone()
    with around():
        error = refuses(lambda: capture(call), CaptureError, code)
    assert named in error.message
    file, _, line = error.message.partition(" at ")[2].partition(" ")[0].rpartition(":")
    assert file == __file__
    helper = [c for c in (_print, _branch, _data, _iterate) if c.__name__ in call.__code__.co_names]
    assert int(line) in {n for _, _, n in (helper[0] if helper else call).__code__.co_lines()}
    assert torch.equal(x, content)
    assert (SMALL.shape, SMALL.untyped_storage().nbytes()) == ((2,), 8)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:.*quantize")
def test_quantized():
    q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
    error = refuses(lambda: capture(lambda: q.dequantize()), CaptureError, "quantized")
    assert "qint8" in error.message
    refuses(
        lambda: capture(lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)), CaptureError, "quantized"
    )


def test_forms_with_a_fixed_shape_are_taken():
    """The neighbours of what is refused, which the hints recommend."""
    y = torch.arange(4.0)

    def program():
        y[mask] = 7  # writes under a mask have the shape of the mask
        return (
            torch.nonzero_static(y, size=4),
            y.repeat_interleave(counts, output_size=6),
            y.where(mask, 0.0),
            y.masked_fill(mask, 1.0),
            y[counts],
        )

    graph, out = capture(program)
    graph.replay()
    assert y.tolist() == [0, 1, 7, 7]
    assert out[1].tolist() == [0, 1, 1, 7, 7, 7]


# ---- gradients and optimizers -------------------------------------------------
def parameter(grad):
    p = torch.nn.Parameter(torch.ones(3))
    p.grad = torch.ones(3) if grad else None
    return p


def test_a_first_gradient_is_refused_and_unbound():
    p, q = parameter(False), parameter(True)
    error = refuses(lambda: capture(lambda: (p * q).sum().backward()), CaptureError, "grad_bound")
    assert "1 parameter(s)" in error.message
    assert "(3,)" in error.message
    assert "warm-up" in error.hint
    assert p.grad is None
    assert q.grad.tolist() == [1, 1, 1]


def test_gradients_that_the_code_binds_itself_are_taken():
    """`set_to_none=True` inside, an assignment, a leaf made inside, autograd.grad: all repeat as in eager."""
    p, a, b = parameter(True), parameter(False), torch.full((3,), 2.0)
    seen = []

    def program():
        p.grad = None
        (p * b).sum().backward()
        a.grad = b * 3
        (a * b).sum().backward()  # accumulates into what was assigned
        leaf = torch.zeros(3, requires_grad=True)
        (leaf * b).sum().backward()
        (own,) = torch.autograd.grad((p * b).square().sum(), [p])
        seen[:] = [p.grad, a.grad, leaf.grad, own]
        return own

    graph, _ = capture(program)
    for factor in (5.0, 6.0):
        b.fill_(factor)
        graph.replay()
        assert [t[0].item() for t in seen] == [factor, 4 * factor, factor, 2 * factor**2]
    assert p.grad is seen[0]


OPTIMIZERS = {
    "momentum": lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam([p], fused=True),
    "adamw": lambda p: torch.optim.AdamW([p], fused=True, amsgrad=True),
    "rmsprop": lambda p: torch.optim.RMSprop([p]),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer_state_made_inside_is_refused(name):
    p = parameter(True)
    optimizer = OPTIMIZERS[name](p)
    error = refuses(lambda: capture(optimizer.step), CaptureError, "optimizer_state")
    assert type(optimizer).__name__ in error.message
    assert "warm-up" in error.hint
    assert not optimizer.state
    assert p.tolist() == [1, 1, 1]
    optimizer.step()  # the warm-up that the hint asks for
    if name != "rmsprop":
        capture(optimizer.step)[0].replay()


def test_optimizer_without_state_needs_no_warm_up():
    p = parameter(True)
    graph, _ = capture(torch.optim.SGD([p], lr=0.5).step)
    for _ in range(2):
        graph.replay()
    assert p.tolist() == [0, 0, 0]


def test_a_step_that_reads_its_count_back_is_refused_with_its_line():
    """Adam without `fused` reads its step to Python; the refusal comes after the warm-up too."""
    p = parameter(True)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    error = refuses(lambda: capture(optimizer.step), CaptureError, "optimizer_reads")
    assert error.message.startswith("Adam.step() at ")
    assert "fused=True" in error.hint


def test_error_can_be_caught_inside_and_the_capture_goes_on():
    """A refused operator has done nothing: what follows is recorded as if it had not been called."""
    graph = Graph()
    with graph:
        y = x * 2
        with pytest.raises(CaptureError):
            y.sum().item()
        z = y + 1
    graph.replay()
    assert torch.equal(z, x * 2 + 1)


def test_a_read_after_an_optimizer_failed_is_not_blamed_on_it():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    optimizer = torch.optim.Adam([parameter])
    optimizer.step()
    graph = Graph()
    graph.capture_begin()
    try:
        with contextlib.suppress(CaptureError):
            optimizer.step()
        total = parameter.sum()
        with pytest.raises(CaptureError) as caught:
            total.item()
    finally:
        graph.reset()
    assert caught.value.code == "accelerator.synchronises"
