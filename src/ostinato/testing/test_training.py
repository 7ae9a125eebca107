"""Whole training steps, gradients, and the callables that capture themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from ..accelerator import graphed, make_graphed_callables
from ._backend import Backend, values

F = torch.nn.functional
nn = torch.nn


def _mlp(backend: Backend) -> nn.Module:
    return backend.module(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


class Trainer:
    """A network with an optimizer; eager and graph each run one of two equal ones."""

    def __init__(
        self, backend: Backend, model: nn.Module, optimizer: Callable[[Any], torch.optim.Optimizer]
    ) -> None:
        self.model = model
        self.x = backend.normal(5, 8)
        self.target = backend.tensor([0, 1, 2, 3, 0])
        self.optimizer = optimizer(self.model.parameters())
        self.clip = False
        torch.manual_seed(7)
        self.step()  # the warm-up

    def step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.optimizer.step()
        return loss.detach()

    def state(self) -> list[torch.Tensor | None]:
        return [*self.model.parameters(), *self.model.buffers(), *(p.grad for p in self.model.parameters())]


def _pair(
    backend: Backend,
    optimizer: Callable[[Any], torch.optim.Optimizer] = lambda ps: torch.optim.SGD(ps, lr=0.1),
    make: Callable[[Backend], nn.Module] = _mlp,
) -> tuple[Trainer, Trainer]:
    return Trainer(backend, make(backend), optimizer), Trainer(backend, make(backend), optimizer)


def _train(backend: Backend, replayed: Trainer, eager: Trainer, steps: int = 5) -> None:
    """Replays beside eager steps on new batches, comparing losses, parameters and gradients."""
    before = values(replayed.state())
    graph, loss = backend.capture(replayed.step)
    backend.same(replayed.state(), before)
    for seed in range(steps):
        for trainer in (replayed, eager):
            trainer.x.copy_(backend.normal(5, 8, seed=seed + 1))
        torch.manual_seed(seed)
        graph.replay()
        torch.manual_seed(seed)
        want = eager.step()
        backend.same([loss, *replayed.state()], [want, *eager.state()])


def _adam(backend: Backend, kind: type[torch.optim.Adam]) -> Callable[[Any], torch.optim.Optimizer]:
    capturable = backend.device.type in ("cuda", "xpu")  # there torch asks for it
    return lambda ps: kind(ps, lr=0.01, fused=True, capturable=capturable)


OPTIMIZERS: dict[str, Callable[[Backend], Callable[[Any], torch.optim.Optimizer]]] = {
    "sgd": lambda b: lambda ps: torch.optim.SGD(ps, lr=0.1),
    "momentum": lambda b: lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda b: lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda b: _adam(b, torch.optim.Adam),
    "adamw": lambda b: _adam(b, torch.optim.AdamW),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_an_optimizer(backend: Backend, name: str) -> None:
    _train(backend, *_pair(backend, OPTIMIZERS[name](backend)))


def test_clipped_gradients(backend: Backend) -> None:
    replayed, eager = _pair(backend)
    replayed.clip = eager.clip = True
    _train(backend, replayed, eager)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "batch norm": lambda: nn.BatchNorm1d(8),
    "layer norm": lambda: nn.LayerNorm(8),
    "dropout": lambda: nn.Dropout(0.4),
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "softmax": lambda: nn.Softmax(-1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(backend: Backend, name: str) -> None:
    def make(b: Backend) -> nn.Module:
        return b.module(nn.Linear(8, 8), LAYERS[name](), nn.Linear(8, 4))

    _train(backend, *_pair(backend, make=make), steps=3)


def test_a_convolution(backend: Backend) -> None:
    def make(b: Backend) -> nn.Module:
        convolution = nn.Conv2d(2, 3, 2, padding=1)
        return b.module(nn.Unflatten(1, (2, 2, 2)), convolution, nn.ReLU(), nn.Flatten(), nn.Linear(27, 4))

    _train(backend, *_pair(backend, make=make), steps=3)


def test_replays_and_eager_steps_take_turns(backend: Backend) -> None:
    replayed, eager = _pair(backend, OPTIMIZERS["momentum"](backend))
    graph, _ = backend.capture(replayed.step)
    for index in range(4):
        graph.replay() if index % 2 else replayed.step()
        eager.step()
        backend.same(replayed.state(), eager.state())


def test_gradients_accumulate_over_replays(backend: Backend) -> None:
    weight = nn.Parameter(backend.full(3, 1.0))
    weight.grad = backend.full(3, 0.0)
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: (weight * x).sum().backward())
    for _ in range(3):
        graph.replay()
    assert weight.grad.tolist() == [0, 3, 6]


def test_micro_batches_in_two_graphs(backend: Backend) -> None:
    replayed, eager = _pair(backend, OPTIMIZERS["momentum"](backend))

    def accumulate(trainer: Trainer) -> None:
        F.cross_entropy(trainer.model(trainer.x), trainer.target).backward()

    def apply(trainer: Trainer) -> None:
        trainer.optimizer.step()
        trainer.optimizer.zero_grad(set_to_none=False)

    first, _ = backend.capture(lambda: accumulate(replayed))
    second, _ = backend.capture(lambda: apply(replayed))
    for index in range(4):
        first.replay()
        accumulate(eager)
        if index % 2:
            second.replay()
            apply(eager)
        backend.same(replayed.state(), eager.state())


def test_the_gradient_of_a_gradient(backend: Backend) -> None:
    x, w = backend.normal(4, 3), backend.normal(3, 3, seed=1).requires_grad_()

    def penalty() -> torch.Tensor:
        loss = (x @ w).tanh().square().sum()
        (gradient,) = torch.autograd.grad(loss, w, create_graph=True)
        return torch.autograd.grad(gradient.square().sum() + loss, w)[0]

    backend.follows_eager(penalty, [x])


def test_checkpointing(backend: Backend) -> None:
    x, w = backend.normal(4, 3), backend.normal(3, 3, seed=1).requires_grad_()

    def program() -> torch.Tensor:
        y = checkpoint(lambda t: (t @ w).tanh(), x, use_reentrant=False, preserve_rng_state=False)
        return torch.autograd.grad(y.square().sum(), w)[0]

    backend.follows_eager(program, [x])


def test_an_average_of_the_weights(backend: Backend) -> None:
    replayed, eager = _pair(backend)
    averages = [[p.detach().clone() for p in t.model.parameters()] for t in (replayed, eager)]

    def step(trainer: Trainer, average: list[torch.Tensor]) -> None:
        trainer.step()
        with torch.no_grad():
            for kept, parameter in zip(average, trainer.model.parameters(), strict=True):
                kept.lerp_(parameter, 0.1)

    graph, _ = backend.capture(lambda: step(replayed, averages[0]))
    for _ in range(3):
        graph.replay()
        step(eager, averages[1])
    backend.same(averages[0], averages[1])


def test_weights_loaded_between_replays(backend: Backend) -> None:
    replayed, eager = _pair(backend)
    saved = {name: value.clone() for name, value in replayed.model.state_dict().items()}
    graph, _ = backend.capture(replayed.step)
    for trainer, step in ((replayed, graph.replay), (eager, eager.step)):
        step()
        trainer.model.load_state_dict(saved)
        step()
    backend.same(replayed.state(), eager.state())


# ---- callables that capture themselves ----------------------------------------
def test_graphed_infers(backend: Backend) -> None:
    model = _mlp(backend)
    fast = graphed(model, numerics=backend.numerics)
    with torch.no_grad():
        for seed in range(3):
            x = backend.normal(5, 8, seed=seed)
            backend.same(fast(x), model(x))
    assert fast.graphs == 1


def test_graphed_makes_a_graph_a_signature(backend: Backend) -> None:
    fast = graphed(lambda x: (x * 2).sum(-1), numerics=backend.numerics)
    for shape in ((3,), (4,), (3, 2), (3,)):
        x = backend.normal(*shape)
        backend.same(fast(x), (x * 2).sum(-1))
    assert fast.graphs == 3


def test_graphed_trains(backend: Backend) -> None:
    model, twin = _mlp(backend), _mlp(backend)
    fast = graphed(model, numerics=backend.numerics)
    for seed in range(2):
        x = backend.normal(5, 8, seed=seed)
        fast(x).square().mean().backward()
        twin(x).square().mean().backward()
    backend.same([p.grad for p in model.parameters()], [p.grad for p in twin.parameters()])


def test_make_graphed_callables(backend: Backend) -> None:
    model, twin = _mlp(backend), _mlp(backend)
    model = make_graphed_callables(model, (backend.normal(5, 8),))
    for seed in range(2):
        x = backend.normal(5, 8, seed=seed)
        y, want = model(x), twin(x)
        backend.same(y, want)
        y.square().mean().backward()
        want.square().mean().backward()
    backend.same([p.grad for p in model.parameters()], [p.grad for p in twin.parameters()])
