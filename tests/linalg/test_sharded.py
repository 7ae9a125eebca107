"""DTensors: one process, and two that hold a part of the batch each."""

from __future__ import annotations

import os

import pytest
import torch

import ostinato as ost

from .zoo import random

distributed = pytest.importorskip("torch.distributed")
parallel = pytest.importorskip("torch.distributed.tensor")
if not distributed.is_gloo_available():
    pytest.skip("this torch has no gloo", allow_module_level=True)
Replicate, Shard, distribute_tensor = parallel.Replicate, parallel.Shard, parallel.distribute_tensor


def _batch():
    return torch.stack([random(4, torch.float64, seed) for seed in range(10)]).view(5, 2, 4, 4)


def _readings(A):
    """Numbers that depend on values and vectors, without the vectors' signs."""
    values, vectors = ost.linalg.eigh(A)
    return (values.sin() + (vectors.abs() ** 3).sum(-2)).sum()


def _placements(mesh):
    A, expected = _batch(), ost.linalg.eigh(_batch())
    for given, kept in (
        (Shard(0), Shard(0)),  # unevenly: 3 and 2 of 5
        (Shard(1), Shard(1)),
        (Shard(2), Replicate()),
        (Shard(3), Replicate()),
        (Replicate(), Replicate()),
    ):
        sharded = distribute_tensor(A, mesh, [given])
        values, vectors = ost.linalg.eigh(sharded)
        assert values.placements == vectors.placements == (kept,)
        assert vectors.stride() == expected.eigenvectors.stride()
        torch.testing.assert_close(values.full_tensor(), expected.eigenvalues)
        V = vectors.full_tensor()
        torch.testing.assert_close(V * expected.eigenvalues.unsqueeze(-2) @ V.mT, A)
        torch.testing.assert_close(ost.linalg.eigvalsh(sharded).full_tensor(), expected.eigenvalues)
        assert ost.linalg.eigh(sharded, subset_by_index=(1, 2)).eigenvalues.shape == (5, 2, 2)
    summed = parallel.DTensor.from_local(A / mesh.size(), mesh, [parallel.Partial()])
    torch.testing.assert_close(ost.linalg.eigvalsh(summed).full_tensor(), expected.eigenvalues)


def _gradients(mesh):
    plain = _batch().requires_grad_()
    _readings(plain).backward()
    for given in (Shard(0), Shard(2), Replicate()):
        sharded = distribute_tensor(_batch(), mesh, [given]).requires_grad_()
        _readings(sharded).full_tensor().backward()
        torch.testing.assert_close(sharded.grad.full_tensor(), plain.grad)


def _bad_matrices(mesh):
    A = _batch()
    A[4, 1, 2, 0] = float("nan")
    values, vectors, info = ost.linalg.eigh_ex(distribute_tensor(A, mesh, [Shard(0)]))
    assert info.placements == (Shard(0),)
    assert info.full_tensor().nonzero().tolist() == [[4, 1]]
    assert values.full_tensor()[:4].isfinite().all()
    assert vectors.full_tensor()[4, 1].isnan().all()


def _run(rank, world, path):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=world)
    try:
        mesh = parallel.init_device_mesh("cpu", (world,))
        for case in (_placements, _gradients, _bad_matrices):
            case(mesh)
    finally:
        distributed.destroy_process_group()
    # A thread of gloo's may still let go of a tensor: where Python is ending meanwhile, torch 2.13 aborts.
    os._exit(0)


@pytest.mark.parametrize("world", [1, 2])
def test_a_batch_over_processes(world, tmp_path):
    torch.multiprocessing.spawn(_run, (world, tmp_path / "store"), nprocs=world)
