"""Tensor subclasses in a capture: wrappers by their parts, named ones as they are, hidden ones refused."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ostinato.accelerator import CaptureError

from .support import assert_identical, capture, refuses


class Pair(torch.Tensor):
    """A wrapper of two tensors; ``tracked`` also says how to flatten it."""

    @staticmethod
    def __new__(cls, a, b):
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, device=a.device)

    def __init__(self, a, b):
        self.a, self.b = a, b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        part = lambda name: torch.utils._pytree.tree_map_only(cls, lambda p: getattr(p, name), args)  # noqa: E731
        return cls(func(*part("a"), **(kwargs or {})), func(*part("b"), **(kwargs or {})))


class Flat(Pair):
    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Flat(inner["a"], inner["b"])


@pytest.mark.parametrize("kind", [Pair, Flat])
def test_wrapper_subclass_is_captured_by_its_parts(kind):
    pair = kind(torch.randn(3), torch.randn(3))
    graph, out = capture(lambda: pair.sin().mul_(2) + 1)
    assert len(graph.nodes) == 6
    pair.a.normal_(), pair.b.normal_()
    graph.replay()
    assert type(out) is kind
    assert_identical([out.a, out.b], [pair.a.sin() * 2 + 1, pair.b.sin() * 2 + 1])


def test_named_subclass_is_an_ordinary_tensor():
    class Named(torch.Tensor):
        pass

    x = torch.randn(3).as_subclass(Named)
    graph, y = capture(lambda: x.sin() + 1)
    x.normal_()
    graph.replay()
    assert type(y) is Named
    assert_identical(y.as_subclass(torch.Tensor), (x.sin() + 1).as_subclass(torch.Tensor))


def test_a_subclass_that_computes_out_of_sight_is_refused():
    """torch.Tensor's own __torch_dispatch__ turns every mode off: nothing of it could be replayed."""

    class Hidden(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = torch.Tensor._make_subclass(Hidden, torch.ones(3))
    error = refuses(lambda: capture(lambda: x.sin()), CaptureError, "hidden")
    assert "Hidden" in error.message
    refuses(lambda: capture(lambda: x.add_(1)), CaptureError, "hidden")


def test_fake_tensors_are_refused():
    with FakeTensorMode():
        x = torch.ones(3)
        error = refuses(lambda: capture(lambda: x + 1), CaptureError, "no_storage")
    assert "FakeTensor" in error.message
