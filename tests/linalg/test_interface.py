"""Arguments, shapes, errors, and the parts of torch that must see the function."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost
from ostinato._errors import UsageError

from .zoo import DTYPES, hermitian, random


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0), (1, 1), (2, 0, 4, 4), (2, 3, 2, 2), (5, 5)])
def test_shapes_dtypes_and_strides_are_those_of_torch(shape, dtype):
    A = torch.zeros(shape, dtype=dtype)
    ours, stock = ost.linalg.eigh(A), torch.linalg.eigh(A)
    assert type(ours) is type(stock)
    for mine, theirs in zip(ours, stock, strict=True):
        assert (mine.shape, mine.dtype, mine.stride()) == (theirs.shape, theirs.dtype, theirs.stride())
    values = ost.linalg.eigvalsh(A)
    assert (values.shape, values.dtype) == (ours.eigenvalues.shape, ours.eigenvalues.dtype)
    meta = ost.linalg.eigh(A.to("meta"))
    assert [(t.shape, t.dtype) for t in meta] == [(t.shape, t.dtype) for t in stock]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_low_precision_is_computed_in_float32(dtype):
    A = random(6, torch.float32).to(dtype)
    values, vectors = ost.linalg.eigh(A)
    stock = torch.linalg.eigh(A.float())
    assert values.dtype == vectors.dtype == dtype
    torch.testing.assert_close(values.float(), stock.eigenvalues, rtol=1e-2, atol=1e-2)
    assert torch.equal(ost.linalg.eigvalsh(A), values)
    assert ost.linalg.eigh_ex(A).eigenvalues.dtype == dtype


def test_a_part_of_the_spectrum():
    A = random(7, torch.float64)
    whole = ost.linalg.eigh(A)
    part = ost.linalg.eigh(A, subset_by_index=(2, 4))
    assert torch.equal(part.eigenvalues, whole.eigenvalues[2:5])
    assert torch.equal(part.eigenvectors, whole.eigenvectors[:, 2:5])
    assert torch.equal(ost.linalg.eigvalsh(A, subset_by_index=(6, 6)), ost.linalg.eigvalsh(A)[6:])
    for subset in ((-1, 2), (3, 7), (4, 2), (1,)):
        with pytest.raises(UsageError, match="subset_by_index"):
            ost.linalg.eigh(A, subset_by_index=subset)


def test_out():
    A = random(4, torch.float32)
    values, vectors = torch.empty(4), torch.empty(0)
    result = ost.linalg.eigh(A, out=(values, vectors))
    assert result.eigenvalues is values
    assert result.eigenvectors is vectors
    assert torch.equal(values, ost.linalg.eigh(A).eigenvalues)
    assert torch.equal(vectors, ost.linalg.eigh(A).eigenvectors)
    wide = torch.empty(4, dtype=torch.float64)
    assert ost.linalg.eigvalsh(A, out=wide) is wide
    assert torch.equal(wide.float(), ost.linalg.eigvalsh(A))
    with pytest.raises(UsageError, match=r"out= is torch\.int32"):
        ost.linalg.eigvalsh(A, out=torch.empty(4, dtype=torch.int32))
    with pytest.raises(UsageError, match="gradient"):
        ost.linalg.eigvalsh(A.requires_grad_(), out=torch.empty(4))


@pytest.mark.parametrize("function", [ost.linalg.eigh, ost.linalg.eigvalsh, ost.linalg.eigh_ex])
def test_what_is_refused(function):
    with pytest.raises(UsageError, match=r"shape \[3\]"):
        function(torch.ones(3))
    with pytest.raises(UsageError, match=r"shape \[2, 3\]"):
        function(torch.ones(2, 3))
    with pytest.raises(UsageError, match="dtype"):
        function(torch.ones(3, 3, dtype=torch.int64))
    with pytest.raises(UsageError, match="UPLO='lower'"):
        function(torch.eye(3), "lower")
    with pytest.raises(UsageError, match="gap_tolerance"):
        ost.linalg.eigh(torch.eye(3, requires_grad=True), gap_tolerance=-1.0)


def test_lazily_conjugated_matrices():
    A = random(5, torch.complex128)
    torch.testing.assert_close(ost.linalg.eigvalsh(A.conj()), ost.linalg.eigvalsh(A))
    values, vectors = ost.linalg.eigh(A.conj())
    torch.testing.assert_close(A.conj() @ vectors, vectors * values)


def test_export_and_compile_see_the_operator():
    class Model(torch.nn.Module):
        def forward(self, A):
            values, vectors = ost.linalg.eigh(A)
            return (vectors * values.clamp(min=0).unsqueeze(-2)) @ vectors.mH

    A = torch.stack([random(4, torch.float64, seed) for seed in range(3)])
    expected = Model()(A)
    program = torch.export.export(Model(), (A,))
    assert "torch.ops.ostinato.eigh.default" in program.graph_module.code
    torch.testing.assert_close(program.module()(A), expected)
    compiled = torch.compile(Model(), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(A), expected)


def test_compiled_gradients():
    def energy(A):
        return ost.linalg.eigh(A + A.mT).eigenvalues.square().sum()

    A = torch.randn(4, 4, dtype=torch.float64)
    eager, compiled = A.clone().requires_grad_(), A.clone().requires_grad_()
    energy(eager).backward()
    torch.compile(energy, backend="aot_eager", fullgraph=True)(compiled).backward()
    torch.testing.assert_close(compiled.grad, eager.grad)


def test_a_graph_replays_it():
    A = random(5, torch.float32).repeat(3, 1, 1)
    graph = ost.accelerator.Graph()
    with graph:
        values, vectors = ost.linalg.eigh(A)
    A.copy_(torch.stack([random(5, torch.float32, seed) for seed in range(3)]))
    graph.replay()
    assert torch.equal(values, ost.linalg.eigh(A).eigenvalues)
    assert torch.equal(vectors, ost.linalg.eigh(A).eigenvectors)


def test_install():
    stock = torch.linalg.eigh
    A = random(5, torch.float32).repeat(4, 1, 1)
    try:
        ost.install()
        assert torch.linalg.eigh is not stock
        assert torch.equal(torch.linalg.eigh(A, UPLO="U")[0], ost.linalg.eigh(A, "U")[0])
        assert torch.equal(torch.linalg.eigvalsh(A), ost.linalg.eigvalsh(A))
        assert torch.linalg.eigh(A.to("meta"))[0].shape == (4, 5)
        assert ost.linalg.eigh(random(140, torch.float32))[0].shape == (140,)  # LAPACK's, and no recursion
    finally:
        ost.uninstall()
    assert torch.linalg.eigh is stock


@pytest.mark.parametrize("name", ["linalg.eigh", "linalg.eigvalsh"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_torch_s_own_samples(name, dtype):
    from torch.testing._internal.common_methods_invocations import op_db

    (info,) = (op for op in op_db if op.name == name)
    ours = getattr(ost.linalg, name.removeprefix("linalg."))
    count = 0
    for sample in info.sample_inputs("cpu", dtype):
        mine = ours(sample.input, *sample.args, **sample.kwargs)
        theirs = info.op(sample.input, *sample.args, **sample.kwargs)
        if name == "linalg.eigh":
            vectors, H = mine.eigenvectors, hermitian(sample.input, sample.kwargs.get("UPLO", "L")).to(dtype)
            assert vectors.stride() == theirs.eigenvectors.stride()
            torch.testing.assert_close(
                H @ vectors, vectors * mine.eigenvalues.unsqueeze(-2), rtol=1e-4, atol=1e-4
            )
            mine, theirs = mine.eigenvalues, theirs.eigenvalues
        torch.testing.assert_close(mine, theirs)
        count += 1
    print(f"{name} {dtype}: {count} samples")
    assert count >= 4
