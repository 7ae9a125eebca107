"""Derivatives of every order and kind, and those at equal eigenvalues."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import ostinato as ost
from ostinato.linalg import _ops

from .zoo import random, with_spectrum

DOUBLES = (torch.float64, torch.complex128)


def phase_free(A):
    """What does not depend on the phases of the vectors."""
    values, vectors = ost.linalg.eigh(A + A.mH)
    return values, vectors.abs()


@pytest.mark.parametrize("dtype", DOUBLES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4)])
def test_gradcheck(shape, dtype):
    A = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(3)).requires_grad_()
    assert gradcheck(phase_free, (A,), check_forward_ad=True, check_batched_grad=True)
    assert gradcheck(lambda A: ost.linalg.eigvalsh(A + A.mH), (A,), check_forward_ad=True)
    assert gradgradcheck(phase_free, (A,))


@pytest.mark.parametrize("dtype", DOUBLES, ids=str)
def test_it_is_torch_s_gradient(dtype):
    A = random(5, dtype)
    grads = []
    for function in (ost.linalg.eigh, torch.linalg.eigh):
        leaf = A.clone().requires_grad_()
        values, vectors = function(leaf)
        (values.sin().sum() + (vectors.abs() ** 3).sum()).backward()
        grads.append(leaf.grad)
    torch.testing.assert_close(*grads)


def test_transforms():
    A = torch.stack([random(3, torch.float64, seed) for seed in range(4)])
    values = torch.vmap(lambda a: ost.linalg.eigh(a)[0])(A)
    assert torch.equal(values, ost.linalg.eigh(A)[0])
    assert torch.equal(torch.vmap(ost.linalg.eigvalsh, in_dims=2)(A.movedim(0, 2)), values)
    largest = torch.vmap(torch.func.grad(lambda a: ost.linalg.eigh(a)[0][-1]))(A)
    top = ost.linalg.eigh(A)[1][..., -1:]
    torch.testing.assert_close(largest, top @ top.mT)
    forward = torch.func.jacfwd(lambda a: ost.linalg.eigh(a)[0])(A[0])
    torch.testing.assert_close(forward, torch.func.jacrev(lambda a: ost.linalg.eigh(a)[0])(A[0]))
    _, tangent = torch.func.jvp(ost.linalg.eigvalsh, (A[0],), (torch.eye(3, dtype=torch.float64),))
    torch.testing.assert_close(tangent, torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize("dtype", DOUBLES, ids=str)
def test_eigenvalues_have_a_gradient_at_equal_ones(dtype):
    A = with_spectrum([2.0, 2.0, 2.0, 5.0], dtype).requires_grad_()
    ost.linalg.eigh(A).eigenvalues.square().sum().backward()
    torch.testing.assert_close(A.grad, 2 * A.detach())  # the trace of A^2


@pytest.mark.parametrize("dtype", DOUBLES, ids=str)
def test_a_subspace_has_a_gradient_at_equal_eigenvalues(dtype):
    """The projector on the threefold space is smooth there, and perturbation theory knows its derivative."""
    A = torch.diag(torch.tensor([2.0, 2.0, 2.0, 5.0])).to(dtype)
    probe = random(4, dtype, seed=5)

    def reading(A, **options):
        vectors = ost.linalg.eigh(A, **options).eigenvectors[..., :3]
        return torch.real((vectors @ vectors.mH * probe.conj()).sum())

    leaf = A.clone().requires_grad_()
    reading(leaf).backward()
    assert not leaf.grad.isfinite().all()  # torch's rule: what gap_tolerance is there for
    leaf = A.clone().requires_grad_()
    reading(leaf, gap_tolerance=1e-8).backward()
    expected = torch.zeros(4, 4, dtype=dtype)
    expected[3, :3], expected[:3, 3] = probe[3, :3] / -3, probe[:3, 3] / -3
    torch.testing.assert_close(leaf.grad, expected)
    step = random(4, dtype, seed=6) * 1e-6
    slope = (reading(A + step, gap_tolerance=0.0) - reading(A - step, gap_tolerance=0.0)) / 2
    torch.testing.assert_close(torch.real((leaf.grad.conj() * step).sum()), slope, rtol=1e-4, atol=1e-12)


def test_tolerance_changes_nothing_where_eigenvalues_lie_apart():
    A = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)

    def function(A):
        return ost.linalg.eigh(A + A.mT, gap_tolerance=1e-9).eigenvectors.abs()

    assert gradcheck(function, (A,), check_forward_ad=True)
    assert gradgradcheck(function, (A,))


def test_second_derivatives_stay_finite_at_equal_eigenvalues():
    A = torch.eye(3, dtype=torch.float64, requires_grad=True)
    values = ost.linalg.eigh(A, gap_tolerance=1e-6).eigenvalues
    (first,) = torch.autograd.grad(values.pow(3).sum(), A, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), A)
    assert second.isfinite().all()


@pytest.mark.parametrize("kernel", [True, False])
def test_tolerance_with_and_without_a_kernel(kernel, monkeypatch):
    """On a device that has no kernel, torch's own solver stands under the same gradients."""
    monkeypatch.setattr(_ops, "has_kernel", lambda A: kernel)
    A = with_spectrum([1.0, 1.0, 4.0], torch.float64)
    projected = A.clone().requires_grad_()
    vectors = ost.linalg.eigh(projected, gap_tolerance=1e-8).eigenvectors[:, :2]
    (vectors @ vectors.mT * torch.arange(3.0)).sum().backward()
    assert projected.grad.isfinite().all()
    step = random(3, torch.float64, seed=9) * 1e-6
    slope = [torch.linalg.eigh(A + sign * step)[1][:, :2] for sign in (1, -1)]
    moved = [(v @ v.mT * torch.arange(3.0)).sum() for v in slope]
    torch.testing.assert_close(
        (projected.grad * step).sum(), (moved[0] - moved[1]) / 2, rtol=1e-4, atol=1e-12
    )
    batch = torch.stack([random(3, torch.float64, seed) for seed in range(3)])
    mapped = torch.vmap(torch.func.grad(lambda a: ost.linalg.eigh(a, gap_tolerance=1e-8)[0][-1]))(batch)
    top = ost.linalg.eigh(batch).eigenvectors[..., -1:]
    torch.testing.assert_close(mapped, top @ top.mT)


def test_tolerance_compiles_and_exports():
    class Projector(torch.nn.Module):
        def forward(self, A):
            vectors = ost.linalg.eigh(A, gap_tolerance=1e-8).eigenvectors[:, :2]
            return vectors @ vectors.mT

    model, A = Projector(), with_spectrum([1.0, 1.0, 4.0], torch.float64)
    expected = model(A)
    torch.testing.assert_close(torch.export.export(model, (A,)).module()(A), expected)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    eager, leaf = A.clone().requires_grad_(), A.clone().requires_grad_()
    (model(eager) * torch.arange(3.0)).sum().backward()
    (compiled(leaf) * torch.arange(3.0)).sum().backward()
    torch.testing.assert_close(leaf.grad, eager.grad)
    assert leaf.grad.isfinite().all()
    assert model(A.to("meta")).shape == (3, 3)
