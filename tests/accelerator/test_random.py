"""Random numbers: fresh at every replay, the same as eager's from the same seed, under checkpointing too."""

from __future__ import annotations

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from .support import assert_identical, capture

F = torch.nn.functional

DRAWS = {
    "randn": lambda g: torch.randn(5, generator=g),
    "rand_double": lambda g: torch.rand(5, dtype=torch.float64, generator=g),
    "randint": lambda g: torch.randint(0, 1000, (5,), generator=g),
    "randperm": lambda g: torch.randperm(40, generator=g),
    "bernoulli_": lambda g: torch.empty(40).bernoulli_(0.5, generator=g),
    "bernoulli": lambda g: torch.full((40,), 0.3).bernoulli(generator=g),
    "uniform_": lambda g: torch.empty(5).uniform_(2, 3, generator=g),
    "normal_": lambda g: torch.empty(40).normal_(generator=g),  # 16 and more take another path in torch
    "normal": lambda g: torch.normal(torch.zeros(3), torch.ones(3), generator=g),
    "exponential_": lambda g: torch.empty(5).exponential_(generator=g),
    "log_normal_": lambda g: torch.empty(5).log_normal_(generator=g),
    "cauchy_": lambda g: torch.empty(5).cauchy_(generator=g),
    "geometric_": lambda g: torch.empty(5).geometric_(0.2, generator=g),
    "random_": lambda g: torch.empty(5, dtype=torch.int64).random_(generator=g),
    "multinomial": lambda g: torch.ones(20).multinomial(6, generator=g),
}
IMPLICIT = {
    "dropout": lambda _: F.dropout(torch.ones(60), 0.4),
    "dropout_": lambda _: F.dropout(torch.ones(60), 0.4, inplace=True),
    "alpha_dropout": lambda _: F.alpha_dropout(torch.ones(60), 0.4, training=True),
    "feature_dropout": lambda _: F.dropout2d(torch.ones(2, 20, 3, 3), 0.4),
    "rrelu": lambda _: F.rrelu(torch.linspace(-1, 1, 20), training=True),
    "rand_like": lambda _: torch.rand_like(torch.ones(5)),
    "gumbel_softmax": lambda _: F.gumbel_softmax(torch.zeros(3, 4)),
    "attention": lambda _: F.scaled_dot_product_attention(*[torch.ones(1, 1, 6, 4)] * 3, dropout_p=0.5),
}


CASES = [(name, False) for name in (*DRAWS, *IMPLICIT)] + [(name, True) for name in DRAWS]


@pytest.mark.parametrize(("name", "explicit"), CASES, ids=[f"{n}-generator" if e else n for n, e in CASES])
def test_fresh_numbers_and_the_same_as_eager(name, explicit):
    draw = {**DRAWS, **IMPLICIT}[name]
    generator = torch.Generator() if explicit else torch.default_generator
    given = generator if explicit else None
    generator.manual_seed(1)
    start = generator.get_state()
    graph, got = capture(lambda: draw(given))
    assert torch.equal(generator.get_state(), start)  # the capture drew nothing
    generator.manual_seed(11)
    want = [draw(given) for _ in range(3)]
    end = generator.get_state()
    generator.manual_seed(11)
    seen = []
    for _ in range(3):
        graph.replay()
        seen.append(got.clone())
    assert_identical(seen, want)
    assert torch.equal(generator.get_state(), end)
    assert not torch.equal(seen[0], seen[1])
    assert any(node.random for node in graph.nodes)


def test_eager_draws_between_replays_interleave():
    graph, got = capture(lambda: torch.randn(3))
    torch.manual_seed(5)
    want = [torch.randn(3) for _ in range(4)]
    torch.manual_seed(5)
    seen = []
    for _ in range(2):
        graph.replay()
        seen += [got.clone(), torch.randn(3)]
    assert_identical(seen, want)


def test_two_generators_do_not_disturb_each_other():
    a, b = torch.Generator(), torch.Generator()
    draw = lambda: (torch.randn(3, generator=a), torch.randn(3, generator=b), torch.randn(3))  # noqa: E731
    graph, got = capture(draw)
    for seed in (1, 2):
        for generator in (a, b, torch.default_generator):
            generator.manual_seed(seed)
        want = [draw(), draw()]
        a.manual_seed(seed), b.manual_seed(seed), torch.manual_seed(seed)
        for expected in want:
            graph.replay()
            assert_identical(got, expected)


# ---- seeding inside -----------------------------------------------------------
def _seeded(state_before):
    torch.manual_seed(0)
    return torch.randn(3)


def _seeded_after_a_draw(state_before):
    first = torch.randn(3)
    torch.manual_seed(0)
    return first, torch.randn(3)


def _seeded_twice(state_before):
    torch.manual_seed(3)
    first = torch.rand(3)
    torch.manual_seed(3)
    return first, torch.rand(3), torch.rand(3)


def _state_from_before(state_before):
    first = torch.randn(3)
    torch.set_rng_state(state_before)
    return first, torch.randn(3)


def _state_from_inside(state_before):
    torch.randn(3)
    state = torch.get_rng_state()
    first = torch.randn(3)
    torch.set_rng_state(state)
    return first, torch.randn(3), torch.randn(3)


def _forked(state_before):
    first = torch.randn(3)
    with torch.random.fork_rng():
        torch.manual_seed(8)
        inner = torch.randn(3)
    with torch.random.fork_rng():
        other = torch.randn(3)
    return first, inner, other, torch.randn(3)


@pytest.mark.parametrize(
    "program",
    [_seeded, _seeded_after_a_draw, _seeded_twice, _state_from_before, _state_from_inside, _forked],
    ids=lambda f: f.__name__.strip("_"),
)
@pytest.mark.parametrize("seed", [0, 6])
def test_seeding_inside_the_capture(program, seed):
    """The capture may begin in the very state that the seed inside would set (seed 0)."""
    torch.manual_seed(seed)
    before = torch.get_rng_state()
    graph, got = capture(lambda: program(before))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(21)
    want = [(program(before), torch.get_rng_state()) for _ in range(3)]
    torch.manual_seed(21)
    for expected, state in want:
        graph.replay()
        assert_identical(got, expected)
        assert torch.equal(torch.get_rng_state(), state)


# ---- checkpointing ------------------------------------------------------------
class Checkpointed(torch.nn.Module):
    def __init__(self, reentrant, preserve):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.5), torch.nn.Tanh())
            for _ in range(3)
        )
        self.how = {"use_reentrant": reentrant, "preserve_rng_state": preserve}

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, **self.how)
            x = F.dropout(x, 0.2)
        return x


@pytest.mark.parametrize("reentrant", [False, True], ids=["saved hooks", "reentrant"])
@pytest.mark.parametrize("preserve", [True, False], ids=["preserve", "redraw"])
def test_checkpointed_gradients(reentrant, preserve):
    """The recomputation draws the masks of the forward again (or new ones): gradients bit for bit."""
    torch.manual_seed(0)
    model = Checkpointed(reentrant, preserve)
    x = torch.randn(4, 6, requires_grad=True)

    def step():
        model.zero_grad(set_to_none=False)
        x.grad.zero_()
        loss = model(x).square().sum()
        loss.backward()
        return loss

    x.grad = torch.zeros_like(x)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    graph, loss = capture(step)
    grads = [x.grad, *(p.grad for p in model.parameters())]
    torch.manual_seed(4)
    want = []
    for _ in range(4):
        result = step().detach()
        want.append(([result, *(g.clone() for g in grads)], torch.get_rng_state()))
    torch.manual_seed(4)
    for expected, state in want:
        graph.replay()
        assert_identical([loss.detach(), *grads], expected)
        assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(want[0][0][0], want[1][0][0])


def test_a_state_that_was_saved_before_the_capture_is_set_as_it_was():
    """Also the one in which the capture began: a replay starts anywhere."""
    state = torch.get_rng_state()

    def program():
        torch.set_rng_state(state)
        return torch.rand(3)

    graph, y = capture(program)
    want = program()
    for seed in (1, 2):
        torch.manual_seed(seed)
        graph.replay()
        assert torch.equal(y, want)
