"""Networks: inference on new inputs, and whole training steps, bit for bit as eager on one thread."""

from __future__ import annotations

import copy

import pytest
import torch

from .networks import NETWORKS, made
from .support import assert_identical, capture

pytestmark = pytest.mark.usefixtures("one_thread")

F = torch.nn.functional


GRADS = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference_mode": torch.inference_mode}


# ---- inference ----------------------------------------------------------------
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mode", GRADS)
def test_inference_on_new_inputs_and_new_weights(name, mode):
    model, x, fresh = made(name)
    model.eval()
    with GRADS[mode]():
        graph, y = capture(lambda: model(x))
        for index in range(4):
            x.copy_(fresh())
            if index == 2:
                with torch.no_grad():
                    for p in model.parameters():
                        p.mul_(1.1)
            graph.replay()
            assert_identical(y, model(x))


def test_modules_take_the_path_that_they_take_in_eager():
    """A function mode turns the short path of a TransformerEncoderLayer off; ours must not, nor for long."""
    model, x, _ = made("transformer")
    asked = torch.overrides.has_torch_function
    with torch.no_grad():
        graph, _ = capture(lambda: model.eval()(x))
    assert [n.op for n in graph.nodes].count("aten._transformer_encoder_layer_fwd.default") == 2
    assert torch.overrides.has_torch_function is asked


@pytest.mark.parametrize("name", NETWORKS)
def test_forward_in_train_mode_draws_and_counts_like_eager(name):
    """Dropout draws fresh masks; running statistics and num_batches_tracked advance by one a replay."""
    model, x, fresh = made(name)
    twin = copy.deepcopy(model)
    buffers = [b.clone() for b in model.buffers()]
    with torch.no_grad():
        graph, y = capture(lambda: model(x))
        assert_identical(list(model.buffers()), buffers)
        for seed in range(4):
            x.copy_(fresh())
            torch.manual_seed(seed)
            graph.replay()
            torch.manual_seed(seed)
            assert_identical(y, twin(x))
            assert_identical(list(model.buffers()), list(twin.buffers()))
    if name == "convolutions":
        assert int(model.norm.num_batches_tracked) == 1 + 4


# ---- training -----------------------------------------------------------------
OPTIMIZERS = {
    "sgd": lambda ps: torch.optim.SGD(ps, lr=0.05),
    "momentum": lambda ps: torch.optim.SGD(ps, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "sgd fused": lambda ps: torch.optim.SGD(ps, lr=0.05, momentum=0.9, fused=True),
    "adam": lambda ps: torch.optim.Adam(ps, lr=0.01, fused=True),
    "adamw": lambda ps: torch.optim.AdamW(ps, lr=0.01, fused=True, amsgrad=True),
    "adagrad": lambda ps: torch.optim.Adagrad(ps, lr=0.01, fused=True),
}


class Trainer:
    """A network, its optimizer, a batch; ``step`` is what is captured, the same object eager runs."""

    def __init__(self, name, optimizer, set_to_none, clip):
        self.model, self.x, self.fresh = made(name)
        self.target = torch.zeros(self.x.shape[0], dtype=torch.int64)
        self.optimizer = OPTIMIZERS[optimizer](self.model.parameters())
        self.set_to_none, self.clip = set_to_none, clip
        torch.manual_seed(7)
        self.losses = [self.step().item()]  # the warm-up

    def step(self):
        self.optimizer.zero_grad(set_to_none=self.set_to_none)
        loss = F.cross_entropy(self.model(self.x), self.target)
        loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return loss

    def feed(self, index):
        with torch.no_grad():
            self.x.copy_(self.fresh())
            self.target.copy_((torch.arange(len(self.target)) + index) % 4)
        torch.manual_seed(100 + index)

    def state(self):
        parameters = list(self.model.parameters())
        optimizer = [v for p in parameters for v in self.optimizer.state[p].values() if v is not None]
        return [
            *(p.detach() for p in parameters),
            *self.model.buffers(),
            *optimizer,
            *(p.grad for p in parameters),
        ]


CASES = [
    *[("mlp", o, none) for o in OPTIMIZERS for none in (False, True)],
    *[(n, "momentum", True) for n in NETWORKS if n != "mlp"],
    *[(n, "adam", False) for n in NETWORKS if n != "mlp"],
]


@pytest.mark.parametrize(("name", "optimizer", "set_to_none"), CASES)
def test_twenty_replays_are_twenty_eager_steps(name, optimizer, set_to_none):
    replayed = Trainer(name, optimizer, set_to_none, clip=True)
    eager = Trainer(name, optimizer, set_to_none, clip=True)
    before = [t.clone() for t in replayed.state()]
    assert_identical(before, eager.state())
    graph, loss = capture(replayed.step)
    if not set_to_none:  # else .grad is the graph's own from now on
        assert_identical(replayed.state(), before)
    for index in range(20):
        replayed.feed(index)
        graph.replay()
        eager.feed(index)
        want = eager.step()
        assert_identical(loss.detach(), want.detach())
        assert_identical(replayed.state(), eager.state())
    assert not any(torch.equal(a, b) for a, b in zip(before[:2], replayed.state()[:2], strict=True))


def test_replays_and_eager_steps_can_take_turns():
    replayed, eager = (Trainer("convolutions", "momentum", False, clip=False) for _ in range(2))
    graph, _ = capture(replayed.step)
    for index in range(6):
        replayed.feed(index)
        graph.replay() if index % 2 else replayed.step()
        eager.feed(index)
        eager.step()
        assert_identical(replayed.state(), eager.state())


def test_accumulation_over_micro_batches():
    """Two graphs on one model: one accumulates, one steps."""
    replayed, eager = (Trainer("mlp", "adam", False, clip=False) for _ in range(2))

    def accumulate(trainer):
        F.cross_entropy(trainer.model(trainer.x), trainer.target).backward()

    def apply(trainer):
        trainer.optimizer.step()
        trainer.optimizer.zero_grad(set_to_none=False)

    first, _ = capture(lambda: accumulate(replayed))
    second, _ = capture(lambda: apply(replayed))
    for index in range(6):
        replayed.feed(index)
        first.replay()
        eager.feed(index)
        accumulate(eager)
        if index % 2:
            second.replay()
            apply(eager)
        assert_identical(replayed.state(), eager.state())


def test_learning_rate_in_a_tensor_follows_the_schedule():
    replayed, eager = (Trainer("mlp", "adam", False, clip=False) for _ in range(2))
    for trainer in (replayed, eager):
        trainer.optimizer.param_groups[0]["lr"] = torch.tensor(0.01)
    graph, _ = capture(replayed.step)
    for index in range(5):
        for trainer in (replayed, eager):
            trainer.optimizer.param_groups[0]["lr"].mul_(0.7)
        replayed.feed(index)
        graph.replay()
        eager.feed(index)
        eager.step()
        assert_identical(replayed.state(), eager.state())


def test_double_backward():
    x, w = torch.randn(4, 3), torch.nn.Parameter(torch.randn(3, 3))

    def penalty():
        loss = (x @ w).tanh().square().sum()
        (gradient,) = torch.autograd.grad(loss, w, create_graph=True)
        return torch.autograd.grad(gradient.square().sum() + loss, w)[0]

    graph, out = capture(penalty)
    for _ in range(3):
        x.normal_()
        graph.replay()
        assert_identical(out, penalty())
