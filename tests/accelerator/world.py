"""A training set-up of which a picture can be taken, to see what a capture changed."""

from __future__ import annotations

import torch

import ostinato as ost

from .support import assert_identical


class World:
    """A model, its optimizer, an input and a generator, warmed up; and a picture of all of them."""

    def __init__(self):
        torch.manual_seed(3)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Dropout(0.5), torch.nn.Linear(6, 2)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.x = torch.randn(5, 4)
        self.generator = torch.Generator().manual_seed(9)
        self.step()

    def step(self):
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model(self.x).square().sum()
        loss.backward()
        self.optimizer.step()
        self.x.add_(torch.randn(5, 4, generator=self.generator))
        return loss

    def tensors(self):
        state = [v for s in self.optimizer.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
        grads = [p.grad for p in self.model.parameters()]
        return [*self.model.parameters(), *self.model.buffers(), *state, *grads, self.x]

    def picture(self):
        held = self.tensors()
        return {
            "identity": [id(t) for t in held],
            "address": [t.data_ptr() for t in held],
            "version": [t._version for t in held],
            "content": [t.detach().clone() for t in held],
            "generator": self.generator.get_state(),
            "default generator": torch.get_rng_state(),
        }


def assert_as_before(world, before):
    now = world.picture()
    assert_identical(now.pop("content"), before.pop("content"))
    assert_identical(now, before)


def modes():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_cache_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch._C._len_torch_dispatch_stack(),
        torch._C._len_torch_function_stack(),
        ost.accelerator.is_capturing(),
    )
