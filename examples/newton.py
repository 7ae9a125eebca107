"""Newton's iteration for cube roots, as one graph that stops by itself when all have converged."""

from __future__ import annotations

import torch

import ostinato as ost


def cube_root(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The roots of ``a``, and after how many rounds they were good enough."""

    def unfinished(rounds: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return ((x**3 - a).abs() > 1e-5 * a.abs()).any() & (rounds < 60)

    def improve(rounds: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return rounds + 1, (2 * x + a / x**2) / 3

    rounds, x = torch.while_loop(unfinished, improve, (torch.zeros((), dtype=torch.int64), a.clone()))
    return x, rounds


def main() -> None:
    a = torch.ones(1000)
    graph = ost.accelerator.Graph()
    with torch.no_grad(), graph:
        x, rounds = cube_root(a)
    for scale in (1.0, 10.0, 1e6):
        a.uniform_(0.5, 1.0).mul_(scale)
        graph.replay()
        error = (x.double() / a.double() ** (1 / 3) - 1).abs().max()
        print(f"numbers up to {scale:>9.0f}: {rounds.item():2d} rounds, relative error {error:.1e}")


if __name__ == "__main__":
    main()
