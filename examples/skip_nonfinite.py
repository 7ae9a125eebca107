"""A whole training step as one graph that leaves the update out where a gradient is not finite."""

from __future__ import annotations

import torch

import ostinato as ost

nn = torch.nn


class Step:
    """Forward, loss, backward, and the optimizer's step if all gradients are finite."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2, fused=True)
        self.x, self.y = torch.randn(64, 8), torch.randn(64, 1)
        self.skipped = torch.zeros((), dtype=torch.int64)
        self._run()  # gradients and the optimizer's state must be there before the capture
        self._graph = ost.accelerator.Graph()
        with self._graph:
            self.loss = self._run()

    def _run(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.mse_loss(self.model(self.x), self.y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._if(norm.isfinite(), self._update, self._skip)
        return loss

    def _if(self, finite: torch.Tensor, update: object, skip: object) -> None:
        if ost.accelerator.is_capturing():
            torch.cond(finite, update, skip, ())  # a node, decided at every replay
        else:
            (update if finite else skip)()  # type: ignore[operator]

    def _update(self) -> None:
        self.optimizer.step()

    def _skip(self) -> None:
        self.skipped.add_(1)

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.x.copy_(x)
        self.y.copy_(y)
        self._graph.replay()
        return self.loss


def main() -> None:
    torch.manual_seed(0)
    step = Step()
    for number in range(200):
        x = torch.randn(64, 8)
        if number % 50 == 25:
            x[0, 0] = float("inf")
        loss = step(x, x[:, :1].sin())
        if number % 50 in (0, 25, 49):
            print(f"step {number:3d}: loss {loss.item():.4f}, {step.skipped.item()} skipped")


if __name__ == "__main__":
    main()
