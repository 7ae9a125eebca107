"""Training with FSDP2 on CPUs: the same losses with any number of processes.

    torchrun --nproc-per-node 2 examples/distributed/fsdp2_train.py
    torchrun --nproc-per-node 1 examples/distributed/fsdp2_train.py

Each process keeps a part of every parameter and of its state. `ost.optim` updates the part
that lies in its memory with the kernels that update whole parameters; the norm for clipping
is that of all parts.
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import ostinato as ost

STEPS, BATCH = 20, 64


def network() -> torch.nn.Sequential:
    torch.manual_seed(0)  # the same everywhere
    return torch.nn.Sequential(
        torch.nn.Linear(16, 64),
        torch.nn.GELU(),
        torch.nn.Linear(64, 63),  # not a multiple of the processes
        torch.nn.GELU(),
        torch.nn.Linear(63, 4),
    )


def batches(rank: int, world: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """This process's share of each batch."""
    torch.manual_seed(1)
    teacher = torch.randn(16, 4)
    xs = torch.randn(STEPS, BATCH, 16)
    ys = (xs @ teacher).tanh()
    return [(x.chunk(world)[rank], y.chunk(world)[rank]) for x, y in zip(xs, ys, strict=True)]


def train(rank: int, world: int) -> list[tuple[float, float]]:
    """The loss and the norm of the gradients at every step."""
    model = network()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = ost.optim.AdamW(model.parameters(), lr=0.01)
    seen = []
    for x, y in batches(rank, world):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step(max_norm=0.5)
        optimizer.zero_grad()
        mean = loss.detach()
        dist.all_reduce(mean)
        seen.append((mean.item() / world, optimizer.grad_norm.item()))
    return seen


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    seen = train(rank, world)
    if rank == 0:
        for step, (loss, norm) in enumerate(seen):
            print(f"step {step:2d}  loss {loss:.6f}  norm of gradients {norm:.6f}")
    dist.destroy_process_group()
    # A thread of gloo's may still let go of the last reduced tensor; where Python is ending meanwhile,
    # torch 2.13 aborts (its thread is stopped by an exception inside of a destructor).
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
