"""What a layout is: how MX tensors are spread over the tensors of a safetensors file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .._formats import MXFormat
from .._tensor import MXTensor

SCALES = ("F8_E8M0", "U8")  # the names that a byte of e8m0 goes by
ELEMENTS = {"F8_E4M3": "mxfp8_e4m3", "F8_E5M2": "mxfp8_e5m2"}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A tensor as the head of a file describes it; the last size of one of four bits counts bytes."""

    dtype: str
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Header:
    """What is known of a checkpoint before a number is read."""

    entries: dict[str, Entry]
    metadata: dict[str, str]
    config: dict[str, Any]  # of the model: config.json beside the file

    @property
    def quantization(self) -> dict[str, Any]:
        """What the model's configuration says of it."""
        found = self.config.get("quantization_config")
        return found if isinstance(found, dict) else {}

    def pairs(self, first: str, second: str) -> Iterator[tuple[str, str, str]]:
        """``(stem, stem + first, stem + second)`` of the tensors of which both are there."""
        for name in self.entries:
            stem = name.removesuffix(first)
            if stem != name and stem + second in self.entries:
                yield stem, name, stem + second


@dataclasses.dataclass(frozen=True)
class Stored:
    """Where an MX tensor lies and what it is; nothing here has been checked."""

    name: str
    elements: str
    scales: str
    format: MXFormat
    shape: tuple[int, ...]
    block_size: int = 32
    dtype: torch.dtype | None = None  # None: as the caller says
    rows: int = 1  # that share a row of scales

    @property
    def row(self) -> int:
        """Bytes of the elements of a row."""
        numbers, size = self.format.packed
        return -(-self.shape[-1] // numbers) * size

    @property
    def row_of_blocks(self) -> int:
        """The same when its last block is full, as an ``MXTensor`` keeps it."""
        return self.format.row_sizes(self.shape[-1], self.block_size)[0]


@dataclasses.dataclass(frozen=True)
class Layout:
    """One layout: reading is ``suits`` and ``find``, writing is ``split`` and ``describe``."""

    name: str
    suits: Callable[[Header], bool]
    find: Callable[[Header], Iterator[Stored]]
    split: Callable[[str, MXTensor], dict[str, torch.Tensor] | None]  # None: it has no form for it
    describe: Callable[[dict[str, Any]], dict[str, str]] = lambda state: {}  # metadata, of a whole state dict


def data(tensor: MXTensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Elements and scales as bytes."""
    return tensor.qdata.view(torch.uint8), tensor.scale.view(torch.uint8)


def whole(tensor: MXTensor, block_size: int = 32) -> bool:
    """Whether its blocks are of that size and full, which most layouts suppose."""
    return tensor.block_size == block_size and tensor.shape[-1] % block_size == 0


__all__ = ["ELEMENTS", "SCALES", "Entry", "Header", "Layout", "Stored", "data", "whole"]
