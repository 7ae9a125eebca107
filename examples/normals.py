"""Surface normals of a point cloud: the eigenvector of the smallest eigenvalue, a million times 3x3."""

from __future__ import annotations

import math
import sys
import time

import torch

import ostinato as ost


def torus(points: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of a torus in rings, so that neighbours are known, and the true normals."""
    side = math.isqrt(points)
    angle = torch.arange(side) * (2 * math.pi / side)
    u, v = torch.meshgrid(angle, angle, indexing="ij")
    normal = torch.stack([u.cos() * v.cos(), u.sin() * v.cos(), v.sin()], -1)
    ring = torch.stack([u.cos(), u.sin(), torch.zeros_like(u)], -1)
    return 2 * ring + normal, normal


def covariances(cloud: torch.Tensor) -> torch.Tensor:
    """Of each point and its eight neighbours."""
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    around = torch.stack([cloud.roll(step, (0, 1)) for step in steps], -2)
    around = around - around.mean(-2, keepdim=True)
    return around.mT @ around


def main(points: int = 1_000_000) -> None:
    cloud, truth = torus(points)
    matrices = covariances(cloud).flatten(0, 1)
    for name, solve in (("torch", torch.linalg.eigh), ("ostinato", ost.linalg.eigh)):
        start = time.perf_counter()
        normals = solve(matrices).eigenvectors[..., 0]
        seconds = time.perf_counter() - start
        cosine = (normals * truth.flatten(0, 1)).sum(-1).abs().clamp(max=1)
        worst = math.degrees(math.acos(cosine.min().item()))
        print(f"{name:>9}: {len(normals)} normals in {seconds:6.3f} s, at most {worst:.2f} degrees off")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
