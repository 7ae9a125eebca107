"""Run as a script: makes the calls of a file with torch.jit, and writes what they return to another.

It has a process of its own because importing and running TorchScript changes
torch's state, and because a later torch may not have it at all.
"""

from __future__ import annotations

import sys

import torch
from torch.utils import _pytree as pytree


def main(archive: str, calls: str, answers: str, threads: str) -> None:
    torch.set_num_threads(int(threads))
    rows = []
    for plan in torch.load(calls, weights_only=True):
        model = torch.jit.load(archive, map_location="cpu").eval()
        row = []
        for i, (method, args, kwargs) in enumerate(plan):
            torch.manual_seed(i)
            with torch.no_grad():
                answer = getattr(model, method)(*args, **kwargs)
            # A copy: what a call returns may be state that the next one writes.
            row.append(pytree.tree_map_only(torch.Tensor, torch.clone, answer))
        rows.append(row)
    torch.save(rows, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
