"""Random numbers: fresh at every replay, and those that eager would have drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from ._backend import Backend, values

F = torch.nn.functional
Draw = Callable[[Backend], torch.Tensor]

DRAWS: dict[str, Draw] = {
    "rand": lambda b: torch.rand(50, device=b.device),
    "randn": lambda b: torch.randn(50, device=b.device),
    "randint": lambda b: torch.randint(0, 1000, (50,), device=b.device),
    "rand_like": lambda b: torch.rand_like(b.full(50, 0.0)),
    "uniform_": lambda b: torch.empty(50, device=b.device).uniform_(2, 3),
    "normal_": lambda b: torch.empty(50, device=b.device).normal_(1, 2),
    "bernoulli_": lambda b: torch.empty(50, device=b.device).bernoulli_(0.5),
    "exponential_": lambda b: torch.empty(50, device=b.device).exponential_(),
    "random_": lambda b: torch.empty(50, device=b.device).random_(0, 100),
    "dropout": lambda b: F.dropout(torch.ones(60, device=b.device), 0.4),
    "dropout2d": lambda b: F.dropout2d(torch.ones(2, 20, 3, 3, device=b.device), 0.4),
}


@pytest.mark.parametrize("name", DRAWS)
def test_fresh_numbers_and_the_same_as_eager(backend: Backend, name: str) -> None:
    def draw() -> torch.Tensor:
        return DRAWS[name](backend)

    draw()
    graph, got = backend.capture(draw)
    torch.manual_seed(11)
    want = [draw() for _ in range(3)]
    torch.manual_seed(11)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(got.clone())
    backend.same(seen, want)
    assert not torch.equal(seen[0], seen[1])


def test_a_capture_draws_nothing(backend: Backend) -> None:
    torch.manual_seed(3)
    want = torch.randn(5, device=backend.device)
    torch.manual_seed(3)
    backend.capture(lambda: torch.randn(5, device=backend.device))
    backend.same(torch.randn(5, device=backend.device), want)


def test_a_failed_capture_draws_nothing(backend: Backend) -> None:
    torch.manual_seed(3)
    want = torch.randn(5, device=backend.device)
    torch.manual_seed(3)
    with pytest.raises(LookupError), backend.graph():
        torch.randn(5, device=backend.device)
        raise LookupError
    backend.same(torch.randn(5, device=backend.device), want)


def test_a_graph_without_random_operators_leaves_the_generator(backend: Backend) -> None:
    x = backend.arange(4)
    graph, _ = backend.capture(lambda: x.sin())
    torch.manual_seed(3)
    want = torch.randn(5, device=backend.device)
    torch.manual_seed(3)
    graph.replay()
    backend.same(torch.randn(5, device=backend.device), want)


def test_eager_draws_between_replays(backend: Backend) -> None:
    graph, got = backend.capture(lambda: torch.rand(3, device=backend.device))
    torch.manual_seed(5)
    want = [torch.rand(3, device=backend.device) for _ in range(4)]
    torch.manual_seed(5)
    seen = []
    for _ in range(2):
        graph.replay()
        seen += [got.clone(), torch.rand(3, device=backend.device)]
    backend.same(seen, want)


def test_two_graphs_draw_from_one_stream_of_numbers(backend: Backend) -> None:
    first, a = backend.capture(lambda: torch.rand(3, device=backend.device))
    second, b = backend.capture(lambda: torch.rand(3, device=backend.device))
    torch.manual_seed(5)
    want = [torch.rand(3, device=backend.device) for _ in range(3)]
    torch.manual_seed(5)
    seen = []
    for graph, out in ((first, a), (second, b), (first, a)):
        graph.replay()
        seen.append(out.clone())
    backend.same(seen, want)


def test_several_draws_in_one_graph(backend: Backend) -> None:
    def draw() -> list[torch.Tensor]:
        return [torch.rand(3, device=backend.device), torch.randn(4, device=backend.device) * 2]

    graph, got = backend.capture(draw)
    torch.manual_seed(9)
    want = [values(draw()) for _ in range(2)]
    torch.manual_seed(9)
    for expected in want:
        graph.replay()
        backend.same(got, expected)


def test_a_seed_before_a_replay_repeats_it(backend: Backend) -> None:
    graph, got = backend.capture(lambda: torch.rand(20, device=backend.device))
    seen = []
    for _ in range(2):
        torch.manual_seed(4)
        graph.replay()
        seen.append(got.clone())
    assert torch.equal(seen[0], seen[1])


def test_the_backward_pass_uses_the_mask_of_the_forward(backend: Backend) -> None:
    x = backend.full(200, 1.0).requires_grad_()

    def program() -> tuple[torch.Tensor, torch.Tensor]:
        y = F.dropout(x, 0.5)
        return y, torch.autograd.grad(y.sum(), x)[0]

    program()
    graph, (y, gradient) = backend.capture(program)
    masks = []
    for _ in range(2):
        graph.replay()
        assert torch.equal(y.detach(), gradient)
        masks.append(y.detach().clone())
    assert not torch.equal(masks[0], masks[1])
