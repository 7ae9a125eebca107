"""What users of torch reported about ``eigh``, built anew; each test names the issue of pytorch."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

from .zoo import check, check_values, random, with_spectrum


@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_rank_one_of_weights_of_all_sizes(n, dtype):
    """94772 (and 145801): no convergence for the outer product of a layer's weights with themselves."""
    sizes = torch.logspace(-8, 3, n, dtype=dtype)
    weights = torch.randn(n, dtype=dtype, generator=torch.Generator().manual_seed(4)) * sizes
    A = torch.outer(weights, weights)
    values, vectors = ost.linalg.eigh(A)
    check(A, values, vectors)
    torch.testing.assert_close(values[-1], weights.square().sum())


def test_many_hundreds_with_two_eigenvalues():
    """174674: hundreds of matrices q + q^H with q orthogonal."""
    generator = torch.Generator().manual_seed(2)
    q = torch.linalg.qr(torch.randn(24, 100, 100, generator=generator))[0]
    A = q + q.mH
    check(A, *ost.linalg.eigh(A))
    A = torch.stack([with_spectrum([-2.0] * 50 + [2.0] * 50, torch.float32)] * 4)
    check(A, *ost.linalg.eigh(A))


@pytest.mark.parametrize("n", [31, 32, 33, 34])
def test_nothing_changes_at_32(n):
    """175585: another solver took over above n = 32."""
    A = torch.stack([random(n, torch.float64, seed) for seed in range(128)])
    values, vectors = ost.linalg.eigh(A)
    check(A, values, vectors)
    torch.testing.assert_close(values, torch.linalg.eigvalsh(A))


@pytest.mark.parametrize("shape", [(512, 3, 3), (64, 2, 2), (128, 1, 1), (1, 3, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_batches_of_the_smallest(shape, dtype):
    """183806."""
    A = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    A = A + A.mT
    check(A, *ost.linalg.eigh(A))
    check_values(A, ost.linalg.eigvalsh(A))


def test_more_than_2894_rows():
    """83818: the size of LAPACK's workspace came back rounded from 2895 on."""
    values = ost.linalg.eigvalsh(torch.eye(2895))
    assert torch.equal(values, torch.ones(2895))


def test_hessians_under_vmap():
    """119522: a batch of several Hessians each."""

    def outputs(x):
        return torch.stack([(x**3).sum() + x.prod(), x.sin().sum() * x[0]])

    x = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    hessians = torch.vmap(torch.func.hessian(outputs))(x)
    values, vectors = torch.vmap(ost.linalg.eigh)(hessians)
    assert values.shape == (6, 2, 4)
    check(hessians, values, vectors)
    nested = torch.vmap(torch.vmap(ost.linalg.eigvalsh))(hessians)
    torch.testing.assert_close(nested, values)


def test_the_message_is_the_same_for_a_batch_and_for_one():
    """59779: a batch was told of a singular factor."""
    A = torch.full((3, 3), float("nan"))
    said = []
    for given in (A, A[None]):
        with pytest.raises(torch.linalg.LinAlgError) as caught:
            ost.linalg.eigh(given)
        said.append(str(caught.value).replace("A[0]", "A"))
    assert said[0] == said[1]
    assert "triangle" in said[0]


@pytest.mark.parametrize("n", [64, 192, 320])
@pytest.mark.parametrize("rank", [1, 7])
def test_preconditioners_of_low_rank(n, rank):
    """105359: a float32 sum of a few outer products of gradients, most eigenvalues zero but for rounding."""
    generator = torch.Generator().manual_seed(rank)
    gradients = torch.randn(n, rank, generator=generator) * torch.logspace(-6, 2, rank)
    A = gradients @ gradients.mT
    for given in (A, A.expand(24, n, n)):
        check(given, *ost.linalg.eigh(given))
        check_values(given, ost.linalg.eigvalsh(given))


@pytest.mark.parametrize("n", [3, 16, 33, 100])
def test_a_batch_and_a_loop(n):
    """138530: their last digits may differ, and no more than these."""
    A = torch.stack([random(n, torch.float32, seed) for seed in range(40)])
    one_by_one = torch.stack([ost.linalg.eigvalsh(a) for a in A])
    bound = 10 * n * torch.finfo(torch.float32).eps * torch.linalg.matrix_norm(A, 2)[:, None]
    assert ((ost.linalg.eigvalsh(A) - one_by_one).abs() <= bound).all()


@pytest.mark.parametrize("spectrum", [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
def test_gradients_of_equal_eigenvalues(spectrum):
    """47599, 76531, 23133: NaN where eigenvalues are equal. The log-determinant has the inverse for one."""
    A = (with_spectrum(spectrum, torch.float64) + torch.eye(3)).requires_grad_()
    ost.linalg.eigvalsh(A).log().sum().backward()
    torch.testing.assert_close(A.grad, torch.linalg.inv(A.detach()))
    B = A.detach().clone().requires_grad_()
    values, vectors = ost.linalg.eigh(B, gap_tolerance=1e-9)
    (vectors * values.clamp(max=0.5).unsqueeze(-2) @ vectors.mT).sum().backward()
    assert B.grad.isfinite().all()
    assert B.grad.abs().max() < 1e-12  # half the identity, whatever A: the clamp is flat there
