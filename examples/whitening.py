"""Whitening in groups of channels: the inverse square roots of many covariance matrices, with gradients."""

from __future__ import annotations

import sys
import time

import torch

import ostinato as ost


def inverse_root(covariance: torch.Tensor, eigh=ost.linalg.eigh, **options: float) -> torch.Tensor:
    values, vectors = eigh(covariance, **options)
    return (vectors * values.clamp(min=1e-5).rsqrt().unsqueeze(-2)) @ vectors.mT


class Whitening(torch.nn.Module):
    """Decorrelates channels within groups.

    Channels that depend on others make many eigenvalues of 0. The clamp is flat there, so the function
    sees their space as a whole, and ``gap_tolerance`` gives its gradient where torch gives NaN or noise.
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [batch, channels]
        grouped = x.unflatten(1, (self.groups, -1)).movedim(1, 0)
        grouped = grouped - grouped.mean(1, keepdim=True)
        covariance = grouped.mT @ grouped / x.shape[0]
        return (grouped @ inverse_root(covariance, gap_tolerance=1e-4)).movedim(0, 1).flatten(1)


def main(groups: int = 256, width: int = 32) -> None:
    x = torch.randn(4096, groups * width)
    x[:, 1::2] = x[:, 0::2]  # every channel twice
    x.requires_grad_()
    white = Whitening(groups)(x)
    white.square().sum().backward()
    assert x.grad is not None
    print("gradient with every channel twice is finite:", bool(x.grad.isfinite().all()))

    factors = torch.randn(groups, 2 * width, width)
    covariance = factors.mT @ factors
    for name, eigh in (("torch", torch.linalg.eigh), ("ostinato", ost.linalg.eigh)):
        start = time.perf_counter()
        root = inverse_root(covariance, eigh)
        seconds = time.perf_counter() - start
        off = (root @ covariance @ root - torch.eye(width)).abs().max()
        print(
            f"{name:>9}: {groups} inverse roots of {width}x{width} in {seconds * 1e3:.2f} ms, error {off:.0e}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
