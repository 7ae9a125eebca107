"""What a whole training step may hold: replays beside eager steps, bit for bit on one thread."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from .control_flow import PYTHON
from .support import assert_identical, capture

pytestmark = pytest.mark.usefixtures("one_thread")

F = torch.nn.functional
INF = float("inf")


class World:
    """A network with its optimizer and a batch; ``step`` is given by a test."""

    def __init__(self, step, torch_like=torch):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(6, 9), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(9, 4)
        )
        self.parameters = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=torch.tensor(0.01), fused=True)
        self.x, self.target = torch.randn(8, 6), torch.randint(0, 4, (8,))
        self.extra: list[torch.Tensor] = []
        self.torch = PYTHON  # whose cond is an if
        self.run = lambda: step(self)
        torch.manual_seed(1)
        self.run()  # the warm-up
        self.torch = torch_like

    def loss(self, x=None, target=None):
        x, target = (self.x, self.target) if x is None else (x, target)
        return F.cross_entropy(self.model(x), target)

    def state(self):
        values = [v for s in self.optimizer.state.values() for v in s.values()]
        grads = [p.grad for p in self.parameters if p.grad is not None]
        return [t.detach() for t in (*self.parameters, *values, *grads, *self.extra)]


def follow(step, replays=25, feed=lambda world, number: None, between=lambda world, number: None):
    """Replays of ``step`` beside eager steps of an equal world."""
    replayed, eager = World(step), World(step, PYTHON)
    assert_identical(replayed.state(), eager.state())
    generator = torch.get_rng_state()
    graph, out = capture(replayed.run)
    assert torch.equal(generator, torch.get_rng_state())
    for number in range(replays):
        batch = torch.randn(8, 6, generator=torch.Generator().manual_seed(number))
        results = []
        for world, run in ((replayed, graph.replay), (eager, eager.run)):
            world.x.copy_(batch)
            feed(world, number)
            torch.manual_seed(number)
            results.append(run())
            results.append(torch.get_rng_state())
            between(world, number)
        assert_identical(out, results[2])
        assert torch.equal(results[1], results[3])
        assert_identical(replayed.state(), eager.state())
    return replayed, eager


# ---- zeroing, clipping, accumulating ------------------------------------------
CLIPS = {
    "norm": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1),
    "norm, one by one": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1, foreach=False),
    "largest": lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1, norm_type=INF),
    "value": lambda p: torch.nn.utils.clip_grad_value_(p, 0.01),
    "nothing": lambda p: None,
}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("none", [True, False])
def test_zeroing_and_clipping(clip, first, none):
    def step(world):
        if first:
            world.optimizer.zero_grad(set_to_none=none)
        loss = world.loss()
        loss.backward()
        norm = CLIPS[clip](world.parameters)
        world.optimizer.step()
        if not first:
            world.optimizer.zero_grad(set_to_none=none)
        return loss.detach(), norm

    follow(step, 10)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("none", [False, True])
def test_micro_batches_of_one_step(k, none):
    def step(world):
        world.optimizer.zero_grad(set_to_none=none)
        total = torch.zeros(())
        for x, target in zip(world.x.chunk(k), world.target.chunk(k), strict=True):
            loss = world.loss(x, target) / k
            loss.backward()
            total += loss.detach()
        world.optimizer.step()
        return total

    follow(step, 10)


@pytest.mark.parametrize("k", [2, 3])
def test_micro_batches_that_each_replay_takes_one_of(k):
    """The step itself is a condition: a counter in the graph says when."""

    def step(world):
        if not world.extra:
            world.extra.append(torch.tensor(k - 1))  # so that the warm-up takes its step
        (count,) = world.extra
        count.add_(1)
        loss = world.loss() / k
        loss.backward()

        def update():
            world.optimizer.step()
            world.optimizer.zero_grad(set_to_none=False)

        world.torch.cond(count % k == 0, update, lambda: None, ())
        return loss.detach()

    follow(step, 4 * k)


# ---- precision ----------------------------------------------------------------
def _bad(world, number):
    if number % 7 == 3:
        world.x[0, 0] = INF


def test_a_step_is_left_out_where_gradients_are_not_finite():
    def step(world):
        if not world.extra:
            world.extra += [torch.tensor(1024.0), torch.zeros((), dtype=torch.int64)]
        scale, good = world.extra
        world.optimizer.zero_grad(set_to_none=False)
        loss = world.loss()
        (loss * scale).backward()
        torch._foreach_mul_([p.grad for p in world.parameters], scale.reciprocal())
        norm = torch.nn.utils.clip_grad_norm_(world.parameters, 1.0)

        def take():
            world.optimizer.step()
            good.add_(1)
            with torch.no_grad():
                scale.copy_(torch.where(good % 5 == 0, scale * 2, scale))

        def leave():
            good.zero_()
            scale.mul_(0.5)

        world.torch.cond(norm.isfinite(), take, leave, ())
        return loss.detach(), norm

    world, _ = follow(step, 25, feed=_bad)
    assert all(p.isfinite().all() for p in world.parameters)
    assert world.extra[0] != 1024


def test_the_scaler_of_torch_with_a_fused_optimizer():
    def step(world):
        if not hasattr(world, "scaler"):
            world.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
        world.optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cpu", torch.bfloat16):
            loss = world.loss()
        world.scaler.scale(loss).backward()
        world.scaler.unscale_(world.optimizer)
        torch.nn.utils.clip_grad_norm_(world.parameters, 1.0)
        world.scaler.step(world.optimizer)
        world.scaler.update()
        world.extra = [world.scaler._scale, world.scaler._growth_tracker]
        return loss.detach()

    world, _ = follow(step, 25, feed=_bad)
    assert all(p.isfinite().all() for p in world.parameters)
    assert world.extra[0] != 1024


# ---- gradients of other kinds -------------------------------------------------
def test_a_penalty_on_the_gradient():
    def step(world):
        world.optimizer.zero_grad()
        loss = world.loss()
        gradients = torch.autograd.grad(loss, world.parameters, create_graph=True)
        penalty = sum(g.square().sum() for g in gradients)
        (loss + 0.1 * penalty).backward()
        world.optimizer.step()
        return loss.detach(), penalty.detach()

    follow(step)


def test_a_backward_with_create_graph_that_is_followed_by_another():
    def step(world):
        world.optimizer.zero_grad()
        world.loss().backward(create_graph=True)
        penalty = sum(p.grad.square().sum() for p in world.parameters)
        seconds = torch.autograd.grad(penalty, world.parameters)
        for p, second in zip(world.parameters, seconds, strict=True):
            p.grad = p.grad.detach() + 0.1 * second
        world.optimizer.step()
        return penalty.detach()

    with pytest.warns(UserWarning, match="create_graph=True"):
        follow(step, 5)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("preserve", [True, False])
def test_checkpointing_with_dropout(reentrant, preserve):
    def step(world):
        world.optimizer.zero_grad()
        x = world.x.clone().requires_grad_()
        y = checkpoint(world.model, x, use_reentrant=reentrant, preserve_rng_state=preserve)
        y = checkpoint(lambda t: F.dropout(t, 0.3), y, use_reentrant=reentrant, preserve_rng_state=preserve)
        loss = F.cross_entropy(y, world.target)
        loss.backward()
        world.optimizer.step()
        return loss.detach(), x.grad

    follow(step)


def test_checkpointing_gives_the_gradients_that_a_step_without_it_gives():
    """The recomputation of each replay draws the masks of the forward of the same replay."""

    def step(world, checkpointed):
        world.optimizer.zero_grad()
        y = checkpoint(world.model, world.x, use_reentrant=False) if checkpointed else world.model(world.x)
        F.cross_entropy(y, world.target).backward()

    worlds = [World(lambda w, flag=flag: step(w, flag)) for flag in (True, False)]
    graphs = [capture(w.run)[0] for w in worlds]
    for seed in range(10):
        for graph in graphs:
            torch.manual_seed(seed)
            graph.replay()
        assert_identical(*([p.grad for p in w.parameters] for w in worlds))


# ---- averages, and weights that are loaded ------------------------------------
def _average(world):
    with torch.no_grad():
        torch._foreach_lerp_(world.extra[: len(world.parameters)], world.parameters, 0.1)


def _decaying_average(world):
    """An average with the weight 1/n, the n in a tensor."""
    *averages, count = world.extra
    with torch.no_grad():
        count.add_(1)
        for kept, p in zip(averages, world.parameters, strict=True):
            kept.add_((p - kept) / count)


@pytest.mark.parametrize("average", [_average, _decaying_average])
def test_an_average_of_the_weights(average):
    def step(world):
        if not world.extra:
            world.extra = [p.detach().clone() for p in world.parameters] + [torch.ones(())]
        world.optimizer.zero_grad()
        loss = world.loss()
        loss.backward()
        world.optimizer.step()
        average(world)
        return loss.detach()

    follow(step)


def test_weights_are_loaded_between_replays():
    saved = {}

    def step(world):
        world.optimizer.zero_grad(set_to_none=False)
        loss = world.loss()
        loss.backward()
        world.optimizer.step()
        return loss.detach()

    def between(world, number):
        if number == 3:
            saved[id(world)] = copy.deepcopy(world.model.state_dict())
        if number in (6, 9):
            world.model.load_state_dict(saved[id(world)])

    follow(step, 12, between=between)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_graph_of_the_evaluation_sees_the_weights_that_a_graph_of_the_step_writes(numerics):
    def step(world):
        world.optimizer.zero_grad(set_to_none=False)
        world.loss().backward()
        world.optimizer.step()

    world = World(step)
    graph, _ = capture(world.run, numerics=numerics)
    world.model.eval()
    with torch.no_grad():
        evaluation, y = capture(lambda: world.model(world.x), numerics=numerics)
        for _ in range(3):
            graph.replay()
            evaluation.replay()
            torch.testing.assert_close(y, world.model(world.x), rtol=1e-4, atol=1e-5)
