"""Steps with every optimizer of torch: a hundred replays are a hundred eager steps, or it is refused."""

from __future__ import annotations

import pytest
import torch

from ostinato.accelerator import CaptureError

from .support import assert_identical, capture, refuses

pytestmark = pytest.mark.usefixtures("one_thread")

F = torch.nn.functional
optim = torch.optim


class Trainer:
    """One of two equal networks, with an optimizer of its own."""

    def __init__(self, optimizer):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Tanh(), torch.nn.Linear(9, 4))
        self.x, self.target = torch.randn(8, 6), torch.randint(0, 4, (8,))
        self.optimizer = optimizer(list(self.model.parameters()))

    def backward(self):
        self.optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        return loss.detach()

    def step(self):
        loss = self.backward()
        self.optimizer.step()
        return loss

    def feed(self, number):
        self.x.copy_(torch.randn(8, 6, generator=torch.Generator().manual_seed(number)))

    def state(self):
        values = [v for s in self.optimizer.state.values() for v in s.values()]
        return [p.detach() for p in self.model.parameters()] + [
            v for v in values if isinstance(v, torch.Tensor)
        ]


def lr(value=0.01):
    return torch.tensor(value)


# name -> the optimizer, and whether its first step makes state.
TAKEN = {
    "SGD": (lambda p: optim.SGD(p, lr=0.05), False),
    "SGD, momentum": (lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1, foreach=False), True),
    "SGD, nesterov": (lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, foreach=True), True),
    "SGD, maximize": (lambda p: optim.SGD(p, lr=0.001, momentum=0.9, dampening=0.1, maximize=True), True),
    "SGD, fused": (lambda p: optim.SGD(p, lr=0.05, momentum=0.9, fused=True), True),
    "SGD, fused, lr": (lambda p: optim.SGD(p, lr=lr(), momentum=0.9, fused=True), True),
    "RMSprop": (lambda p: optim.RMSprop(p, lr=0.01, foreach=False), True),
    "RMSprop, centered": (lambda p: optim.RMSprop(p, centered=True, momentum=0.9, foreach=True), True),
    "Adadelta": (lambda p: optim.Adadelta(p, foreach=False), True),
    "Adadelta, foreach": (lambda p: optim.Adadelta(p, weight_decay=0.1, foreach=True), True),
    "Rprop": (lambda p: optim.Rprop(p, foreach=False), True),
    "Rprop, foreach": (lambda p: optim.Rprop(p, foreach=True), True),
    "Adam": (lambda p: optim.Adam(p, lr=0.01, fused=True), True),
    "Adam, amsgrad": (lambda p: optim.Adam(p, amsgrad=True, weight_decay=0.1, fused=True), True),
    "Adam, lr": (lambda p: optim.Adam(p, lr=lr(), fused=True), True),
    "AdamW": (lambda p: optim.AdamW(p, lr=0.01, fused=True), True),
    "AdamW, lr": (lambda p: optim.AdamW(p, lr=lr(), amsgrad=True, fused=True), True),
    "Adagrad": (lambda p: optim.Adagrad(p, lr=0.05, fused=True), False),
    "Adagrad, lr": (lambda p: optim.Adagrad(p, lr=lr(0.05), lr_decay=0.1, fused=True), False),
    "Muon": (lambda p: optim.Muon([q for q in p if q.ndim == 2], lr=0.01), True),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_hundred_replays_are_a_hundred_eager_steps(name):
    make, _ = TAKEN[name]
    replayed, eager = Trainer(make), Trainer(make)
    replayed.step(), eager.step()  # the warm-up
    before = [t.clone() for t in replayed.state()]
    graph, loss = capture(replayed.step)
    assert_identical(replayed.state(), before)
    for number in range(100):
        replayed.feed(number), eager.feed(number)
        graph.replay()
        assert_identical(loss, eager.step())
        assert_identical(replayed.state(), eager.state())
    assert not torch.equal(before[0], replayed.state()[0])


@pytest.mark.parametrize("name", [name for name, (_, makes_state) in TAKEN.items() if makes_state])
def test_a_first_step_that_makes_state_asks_for_a_warm_up(name):
    trainer = Trainer(TAKEN[name][0])
    trainer.backward()
    before = [t.clone() for t in trainer.state()]
    error = refuses(lambda: capture(trainer.step), CaptureError, "optimizer_state")
    assert error.message.startswith(f"{type(trainer.optimizer).__name__}.step() made its state inside")
    assert "warm-up step" in error.hint
    assert_identical(trainer.state(), before)
    trainer.step()
    capture(trainer.step)[0].replay()


REFUSED = {
    "Adam": lambda p, **o: optim.Adam(p, **o),
    "AdamW": lambda p, **o: optim.AdamW(p, **o),
    "Adagrad": lambda p, **o: optim.Adagrad(p, **o),
    "NAdam": lambda p, **o: optim.NAdam(p, **o),
    "RAdam": lambda p, **o: optim.RAdam(p, **o),
    "Adamax": lambda p, **o: optim.Adamax(p, **o),
    "ASGD": lambda p, **o: optim.ASGD(p, **o),
    "Adafactor": lambda p, **o: optim.Adafactor(p, **o),
    "SGD": lambda p, **o: optim.SGD(p, lr=lr(), **o),
    "RMSprop": lambda p, **o: optim.RMSprop(p, lr=lr(), **o),
}


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("warm", [False, True])
def test_a_step_that_reads_a_tensor_back_is_refused_with_the_way_out(name, foreach, warm):
    """Its step count, with which it corrects its bias in numbers of Python; or an lr that is a tensor."""
    trainer = Trainer(lambda p: REFUSED[name](p, foreach=foreach))
    trainer.step() if warm else trainer.backward()
    before = [t.clone() for t in trainer.state()]
    error = refuses(lambda: capture(trainer.step), CaptureError, "optimizer_reads")
    assert error.message.startswith(f"{name}.step() at {__file__}:")
    assert "fused=True" in error.hint
    assert_identical(trainer.state(), before)


def test_a_step_with_a_closure_is_refused():
    trainer = Trainer(lambda p: optim.LBFGS(p, max_iter=2))
    trainer.backward()
    step = lambda: trainer.optimizer.step(trainer.backward)  # noqa: E731
    error = refuses(lambda: capture(step), CaptureError, "optimizer_reads")
    assert "LBFGS.step()" in error.message


class Decaying(optim.Optimizer):
    """Of somebody's own, with its step count in a number of Python."""

    def __init__(self, parameters, place):
        super().__init__(parameters, {"lr": 0.1, "k": 0})
        self.place = place

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                count = self.state[p] if self.place == "state" else group
                count["k"] = count.get("k", 0) + 1
                p.sub_(p.grad, alpha=group["lr"] / count["k"])


@pytest.mark.parametrize("place", ["state", "group"])
def test_a_step_that_counts_in_python_is_refused_and_counts_no_further(place):
    trainer = Trainer(lambda p: Decaying(p, place))
    trainer.step()
    error = refuses(lambda: capture(trainer.step), CaptureError, "optimizer_counts")
    assert "Decaying.step() changed a number of Python in its state (k)" in error.message
    of_parameters = [s["k"] for s in trainer.optimizer.state.values()]
    assert of_parameters == ([1] * 4 if place == "state" else [])
    assert trainer.optimizer.param_groups[0]["k"] == (0 if place == "state" else 4)


SCHEDULES = {
    "exponential": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.9),
    "cosine": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "one cycle": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=30, cycle_momentum=False),
    "plateau": lambda o: optim.lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=1, threshold=10.0),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("optimizer", [optim.AdamW, optim.SGD])
def test_a_schedule_that_writes_an_lr_in_a_tensor_is_followed(schedule, optimizer):
    trainers = [Trainer(lambda p: optimizer(p, lr=lr(), fused=True)) for _ in range(2)]
    schedules = [SCHEDULES[schedule](t.optimizer) for t in trainers]
    for trainer in trainers:
        trainer.step()
    graph, _ = capture(trainers[0].step)
    steps = graph.replay, trainers[1].step
    rates = set()
    for number in range(20):
        for trainer, step, each in zip(trainers, steps, schedules, strict=True):
            trainer.feed(number)
            step()
            each.step(*([1.0] if schedule == "plateau" else []))
        assert_identical(trainers[0].state(), trainers[1].state())
        rates.add(float(trainers[0].optimizer.param_groups[0]["lr"]))
    assert len(rates) > 5


def test_an_lr_that_is_a_number_is_part_of_the_recording():
    trainer, eager = (Trainer(lambda p: optim.SGD(p, lr=0.1)) for _ in range(2))
    trainer.step(), eager.step()
    graph, _ = capture(trainer.step)
    trainer.optimizer.param_groups[0]["lr"] = 100.0
    graph.replay()
    eager.step()
    assert_identical(trainer.state(), eager.state())
