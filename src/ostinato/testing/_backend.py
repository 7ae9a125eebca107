"""The device under test, and how its results are compared with eager's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from ..accelerator import Graph
from ..accelerator._registry import implementation

Program = Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Backend:
    """One device in one kind of numerics."""

    device: torch.device
    numerics: str

    # ---- tensors --------------------------------------------------------------
    def tensor(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        return torch.tensor(data, dtype=dtype).to(self.device)

    def arange(self, count: int) -> torch.Tensor:
        return torch.arange(float(count)).to(self.device)

    def full(self, shape: int | tuple[int, ...], value: float) -> torch.Tensor:
        return torch.full(shape if isinstance(shape, tuple) else (shape,), value).to(self.device)

    def normal(self, *shape: int, seed: int = 0) -> torch.Tensor:
        """The same numbers on every device."""
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(self.device)

    def module(self, *layers: torch.nn.Module) -> torch.nn.Module:
        """These layers with the same weights on every device."""
        made = torch.nn.Sequential(*layers)
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
        return made.to(self.device)

    # ---- graphs ---------------------------------------------------------------
    def supports(self, capability: str) -> bool:
        return capability in implementation(self.device.type).supports

    def graph(self, **options: Any) -> Graph:
        return Graph(**{"device": self.device, "numerics": self.numerics, **options})

    def capture(self, program: Program, **options: Any) -> tuple[Graph, Any]:
        """A graph of ``program()``, and the tensors that its replays write."""
        graph = self.graph(**options)
        with graph:
            out = program()
        return graph, out

    # ---- comparing ------------------------------------------------------------
    def same(self, got: Any, want: Any) -> None:
        """Asserts that ``got`` is what eager gave: its bits, or in fast numerics its value."""
        for g, w in zip(_tensors(got), _tensors(want), strict=True):
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            g, w = g.detach().cpu(), w.detach().cpu()
            if self.numerics == "exact" or not w.is_floating_point():
                assert torch.equal(_bits(g), _bits(w)), f"{g} is not {w}"
            else:
                torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-5, equal_nan=True)

    def follows_eager(self, program: Program, inputs: Iterable[torch.Tensor] = ()) -> None:
        """Captures ``program``, feeds ``inputs`` anew for each replay, and compares with eager."""
        inputs = list(inputs)
        start = values(inputs)
        program()  # on many devices the first call sets up what a capture cannot
        _put(inputs, start)
        graph, out = self.capture(program)
        self.same(inputs, start)  # a capture changes nothing
        for seed in (1, 2):
            fed = [_fresh(x, seed + 10 * i) for i, x in enumerate(inputs)]
            _put(inputs, fed)
            graph.replay()
            got = values(out), values(inputs)
            _put(inputs, fed)
            want = program()
            self.same(got, (values(want), values(inputs)))

    def refuses(self, call: Callable[[], Any], kind: type[Exception], code: str) -> None:
        """Asserts that ``call`` raises this error of Ostinato's, with a way out."""
        with pytest.raises(kind) as caught:
            call()
        assert getattr(caught.value, "code", None) == "accelerator." + code
        assert getattr(caught.value, "hint", "")


def values(tree: Any) -> list[torch.Tensor]:
    """Copies of all tensors in ``tree``."""
    return [x.detach().clone() for x in _tensors(tree)]


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [x for x in pytree.tree_leaves(tree) if isinstance(x, torch.Tensor)]


def _bits(x: torch.Tensor) -> torch.Tensor:
    x = x.resolve_conj().resolve_neg().contiguous()
    x = torch.where(x.isnan(), torch.nan, x) if x.is_floating_point() else x  # a NaN equals a NaN
    return x.view(-1).view(torch.uint8)


def _fresh(x: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if x.is_floating_point():
        return torch.randn(x.shape, generator=generator).to(x.device, x.dtype)
    return torch.randint(0, 2, x.shape, generator=generator).to(x.device, x.dtype)


def _put(inputs: list[torch.Tensor], content: list[torch.Tensor]) -> None:
    with torch.no_grad():
        for x, value in zip(inputs, content, strict=True):
            x.copy_(value)
