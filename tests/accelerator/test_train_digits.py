"""The example that trains on digits: eager and exact graphs agree bit for bit, on real data."""

from __future__ import annotations

import pathlib
import runpy

import torch

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "train_digits.py"


def test_three_epochs_are_the_same_numbers():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        results = runpy.run_path(str(EXAMPLE))["main"](epochs=3)
    finally:
        torch.set_num_threads(threads)
    eager, exact, fast = (results[kind]["losses"] for kind in ("eager", "exact", "fast"))
    assert exact == eager
    assert len(eager) == 69
    assert max(abs(a - b) for a, b in zip(fast, eager, strict=True)) < 1e-2
    assert all(result["accuracy"] > 0.9 for result in results.values())
