"""Shapes that a model may take, the likeliest first, read off its weights and its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from ._parameters import Parameter

_IMAGES = (224, 32, 28, 64, 96, 128, 256, 299, 384)
_LENGTHS = (16, 64, 256, 1024)
_MOST = 1 << 20  # elements of a tensor that is tried
_MOST_SHAPES = 400


class Shapes:
    """The candidates for the tensors of one module."""

    def __init__(self, module: torch.nn.Module, constants: list[int]) -> None:
        self._weights: list[torch.Tensor] = [each for each in module.parameters() if each.dim() >= 2]
        if not self._weights:
            self._weights = [each for each in module.buffers() if each.dim() >= 2]
        self._indices = isinstance(_first_with_weight(module), torch.nn.Embedding)
        self._numbers = sorted({each for each in constants if 0 < each <= _MOST}, reverse=True)

    def combinations(
        self, parameters: list[Parameter], generator: torch.Generator
    ) -> Iterator[tuple[Any, ...]]:
        """One value for each parameter, lazily; for a nested one all tensors have one shape."""
        recurrent = any(each.kind == "tensors" for each in parameters)
        dtypes = (torch.int64, torch.float32) if self._indices else (torch.float32, torch.int64, torch.uint8)
        for dtype in dtypes:
            lists = [
                self._single(recurrent) if each.kind == "tensor" else self._states() for each in parameters
            ]
            for shapes in _by_rank_sum(lists):
                yield tuple(
                    _filled(each.nesting, shape, dtype if each.kind == "tensor" else torch.float32, generator)
                    for each, shape in zip(parameters, shapes, strict=True)
                )

    def _single(self, recurrent: bool) -> list[tuple[int, ...]]:
        """For a tensor of its own: most often it meets one of the first weights."""
        found: list[tuple[int, ...]] = []
        for weight in self._weights[:4]:
            shapes = self._for_weight(tuple(weight.shape))
            found += sorted(shapes, key=lambda shape: len(shape) != 3) if recurrent else shapes
        for n in self._numbers:
            found.append((1, n))
        for n in self._numbers:
            found += [(1, 1, n), (n,), (n, 3)]
        found += [(16, 3), (1,), (1, 1), ()]
        return _possible(found)

    def _for_weight(self, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        channels = shape[1]
        if len(shape) == 2:
            if self._indices:
                return [(1, 16), (16,), (1, 16, 1)]
            return [(1, channels), (1, 1, channels), (channels,), (1, 16, channels)]
        if len(shape) == 3:
            lengths = [n for n in self._numbers if n >= shape[2]] + list(_LENGTHS)
            return [(1, channels, n) for n in lengths]
        sides = [*_IMAGES, *(n for n in self._numbers if 8 <= n <= 512)]
        spatial = len(shape) - 2
        return [(1, channels, *([n] * spatial)) for n in sides]

    def _states(self) -> list[tuple[int, ...]]:
        """For tensors in a tuple or list: most often the state of a recurrent layer."""
        sizes = [tuple(each.shape)[1] for each in self._weights] + self._numbers
        found: list[tuple[int, ...]] = []
        for n in dict.fromkeys(sizes):
            found += [(layers, 1, n) for layers in (1, 2, 3, 4)]
        for n in dict.fromkeys(sizes):
            found += [(1, n), (n,)]
        return _possible(found)


def _first_with_weight(module: torch.nn.Module) -> torch.nn.Module | None:
    for each in module.modules():
        if next(each.parameters(recurse=False), None) is not None:
            return each
    return None


def _possible(shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [each for each in dict.fromkeys(shapes) if torch.Size(each).numel() <= _MOST][:_MOST_SHAPES]


def _by_rank_sum(lists: list[list[tuple[int, ...]]]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All combinations, those first whose places in the lists add up to the least."""
    if len(lists) == 1:
        yield from ((each,) for each in lists[0])
        return
    most = sum(len(each) - 1 for each in lists)
    for total in range(most + 1):
        yield from _with_sum(lists, total)


def _with_sum(lists: list[list[Any]], total: int) -> Iterator[tuple[Any, ...]]:
    if not lists:
        if total == 0:
            yield ()
        return
    for i, each in enumerate(itertools.islice(lists[0], total + 1)):
        for rest in _with_sum(lists[1:], total - i):
            yield (each, *rest)


def _filled(nesting: Any, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> Any:
    if isinstance(nesting, (tuple, list)):
        items = [_filled(each, shape, dtype, generator) for each in nesting]
        return tuple(items) if isinstance(nesting, tuple) else items
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=dtype, generator=generator) * 0.1
    return torch.randint(0, 2, shape, dtype=dtype, generator=generator)
