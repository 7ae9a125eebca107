"""Parameters that are spread over processes: the example, with one process and with two."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from .support import CLASSES, give_gradients, ours, stock

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "distributed" / "fsdp2_train.py"
gloo = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="this torch has no gloo"
)


def _numbers(processes: int) -> list[float]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, f"--nproc-per-node={processes}", str(EXAMPLE)],
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [float(x) for x in re.findall(r"\d+\.\d+", done.stdout)]


@gloo
def test_losses_do_not_depend_on_the_processes() -> None:
    one, two = _numbers(1), _numbers(2)
    assert len(one) == 40
    assert one[-2] < 0.8 * one[0]
    torch.testing.assert_close(torch.tensor(two), torch.tensor(one), rtol=1e-4, atol=2e-6)


@gloo
@pytest.mark.parametrize("name", CLASSES)
def test_parts_are_updated_where_they_lie(name: str, tmp_path: pathlib.Path) -> None:
    """One process, which has all parts: the kernels' bits, without torch's own step."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    store = dist.FileStore(str(tmp_path / "store"), 1)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        placements = [Shard(0), Replicate()]
        plain = [torch.nn.Parameter(torch.randn(7, 5)) for _ in placements]
        reference = [torch.nn.Parameter(p.detach().double()) for p in plain]
        spread = [
            torch.nn.Parameter(distribute_tensor(p.detach().clone(), mesh, [placement]))
            for p, placement in zip(plain, placements, strict=True)
        ]
        mine, theirs, wide = ours(name, spread), ours(name, plain), stock(name, reference)
        for step in range(3):
            give_gradients(step, plain, reference)
            for p, q, placement in zip(spread, plain, placements, strict=True):
                assert q.grad is not None
                p.grad = distribute_tensor(q.grad.clone(), mesh, [placement])
            for optimizer in (mine, theirs):
                optimizer.step(max_norm=1.0)  # type: ignore[call-arg]
            torch.nn.utils.clip_grad_norm_(reference, 1.0)
            wide.step()
            for p, q, r in zip(spread, plain, reference, strict=True):
                assert isinstance(p, DTensor)
                torch.testing.assert_close(p.full_tensor(), q, rtol=1e-6, atol=1e-7)
                torch.testing.assert_close(p.full_tensor(), r, rtol=2e-6, atol=2e-6, check_dtype=False)
        for state in mine.state.values():
            assert all(isinstance(v, DTensor) for k, v in state.items() if k != "step" and v is not None)
        with torch.profiler.profile() as profile:
            mine.step()
        assert any(e.key.startswith("ostinato::") for e in profile.key_averages())
    finally:
        dist.destroy_process_group()
