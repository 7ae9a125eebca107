"""DTensors of MX tensors whose rows are spread over one process, and over two."""

from __future__ import annotations

import os

import pytest
import torch

import ostinato as ost

from .model import FORMATS
from .test_tensor import same

distributed = pytest.importorskip("torch.distributed")
parallel = pytest.importorskip("torch.distributed.tensor")
if not distributed.is_gloo_available():
    pytest.skip("this torch has no gloo", allow_module_level=True)
DTensor, Replicate, Shard = parallel.DTensor, parallel.Replicate, parallel.Shard
F = torch.nn.functional


def _matrix(seed=0):
    return torch.randn(9, 3, 70, generator=torch.Generator().manual_seed(seed))


def _distributed(mesh):
    """What the first process has arrives as bytes; others have something else."""
    for format in FORMATS:
        mine, first = (ost.mx.quantize(_matrix(seed), format) for seed in (mesh.get_rank(), 0))
        for placement in (Shard(0), Shard(1), Replicate()):  # unevenly: 5 and 4 of 9, 2 and 1 of 3
            spread = parallel.distribute_tensor(mine, mesh, [placement])
            assert isinstance(spread.to_local(), ost.mx.MXTensor)
            same(spread.full_tensor(), first)
        strided = parallel.distribute_tensor(mine.select(1, 2), mesh, [Replicate()])
        same(strided.to_local(), first.select(1, 2))
        row = parallel.distribute_tensor(mine, mesh, [Shard(0)]).redistribute(mesh, [Shard(1)])
        same(row.full_tensor(), first)


def _quantized(mesh):
    x = _matrix()
    for format in FORMATS:
        whole = ost.mx.quantize(x, format, scale_mode="rceil", block_size=64)
        for given, kept in (
            (Shard(0), Shard(0)),
            (Shard(1), Shard(1)),
            (Shard(2), Replicate()),
            (Replicate(), Replicate()),
        ):
            spread = parallel.distribute_tensor(x, mesh, [given])
            made = ost.mx.quantize(spread, format, scale_mode="rceil", block_size=64)
            assert made.placements == (kept,)
            assert made.shape == x.shape
            same(made.full_tensor(), whole)
    summed = DTensor.from_local(x / mesh.size(), mesh, [parallel.Partial()])
    same(ost.mx.quantize(summed, ost.mx.mxfp4).full_tensor(), ost.mx.quantize(x, ost.mx.mxfp4))


def _computed(mesh):
    weight, x = ost.mx.quantize(_matrix()[:, 0], ost.mx.mxfp4), torch.randn(4, 70)
    distributed.broadcast(x, 0)
    spread = parallel.distribute_tensor(weight, mesh, [Shard(0)])
    here = parallel.distribute_tensor(x, mesh, [Replicate()])
    out = F.linear(here, spread)
    assert out.placements == (Shard(1),)
    torch.testing.assert_close(out.full_tensor(), F.linear(x, weight))
    torch.testing.assert_close((here @ spread.t()).full_tensor(), F.linear(x, weight))
    ids = torch.tensor([[1, 8], [0, 5]])
    rows = F.embedding(parallel.distribute_tensor(ids, mesh, [Replicate()]), spread)
    torch.testing.assert_close(rows.full_tensor(), F.embedding(ids, weight))
    layer = torch.nn.Linear(70, 9)
    layer.weight = torch.nn.Parameter(spread, requires_grad=False)
    layer.bias = torch.nn.Parameter(parallel.distribute_tensor(torch.ones(9), mesh, [Shard(0)]))
    torch.testing.assert_close(layer(here).full_tensor(), F.linear(x, weight, torch.ones(9)))
    layer(here).sum().backward()
    assert layer.bias.grad.full_tensor().tolist() == [4.0] * 9


def _left(mesh):
    layer, report = torch.nn.Linear(70, 9), ost.mx.Report()
    layer.weight = torch.nn.Parameter(parallel.distribute_tensor(layer.weight.detach(), mesh, [Shard(0)]))
    ost.mx.quantize_(layer, ost.mx.mxfp4, report=report)
    assert not report.quantized
    assert "then spread it" in report.left[0].reason


def _run(rank, world, path):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=world)
    try:
        mesh = parallel.init_device_mesh("cpu", (world,))
        for case in (_distributed, _quantized, _computed, _left):
            case(mesh)
    finally:
        distributed.destroy_process_group()
    # A thread of gloo's may still let go of a tensor: where Python is ending meanwhile, torch 2.13 aborts.
    os._exit(0)


@pytest.mark.parametrize("world", [1, 2])
def test_rows_over_processes(world, tmp_path):
    torch.multiprocessing.spawn(_run, (world, tmp_path / "store"), nprocs=world)
