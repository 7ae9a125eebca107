"""The six concrete formats of the OCP Microscaling specification 1.0, and how their elements are stored."""

from __future__ import annotations

import dataclasses
import math

import torch


@dataclasses.dataclass(frozen=True, slots=True)
class MXFormat:
    """One format: what an element is, and how elements lie in ``MXTensor.qdata``.

    An element is a sign, ``exponent_bits`` and ``mantissa_bits``; without exponent bits
    it is an integer times ``2 ** -mantissa_bits`` in two's complement.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: float  # the largest finite value of an element
    storage: torch.dtype  # of qdata
    packed: tuple[int, int]  # so many elements in so many bytes

    @property
    def bits(self) -> int:
        """Of an element."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def integer(self) -> bool:
        """Whether elements are integers."""
        return self.exponent_bits == 0

    @property
    def largest_exponent(self) -> int:
        """Of the largest power of two that an element can be."""
        return math.frexp(self.largest)[1] - 1

    @property
    def largest_code(self) -> int:
        """The bits of ``largest``."""
        steps = int(self.largest * 2**self.mantissa_bits)
        if self.integer:
            return steps
        e = self.largest_exponent
        return ((e + self.bias - 1) << self.mantissa_bits) + (steps >> e)

    def row_sizes(self, columns: int, block_size: int) -> tuple[int, int]:
        """Of a row of so many numbers, its last block filled up: the bytes of its codes, and its scales."""
        blocks = -(-columns // block_size)
        elements, in_bytes = self.packed
        return blocks * block_size // elements * in_bytes, blocks

    def __repr__(self) -> str:
        return f"ostinato.mx.{self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return format_of, (self.name,)


mxfp4 = MXFormat("mxfp4", 2, 1, 1, 6.0, torch.float4_e2m1fn_x2, (2, 1))
mxfp6_e2m3 = MXFormat("mxfp6_e2m3", 2, 3, 1, 7.5, torch.uint8, (4, 3))
mxfp6_e3m2 = MXFormat("mxfp6_e3m2", 3, 2, 3, 28.0, torch.uint8, (4, 3))
mxfp8_e4m3 = MXFormat("mxfp8_e4m3", 4, 3, 7, 448.0, torch.float8_e4m3fn, (1, 1))
mxfp8_e5m2 = MXFormat("mxfp8_e5m2", 5, 2, 15, 57344.0, torch.float8_e5m2, (1, 1))
mxint8 = MXFormat("mxint8", 0, 6, 0, 127 / 64, torch.int8, (1, 1))

FORMATS = {f.name: f for f in (mxfp4, mxfp6_e2m3, mxfp6_e3m2, mxfp8_e4m3, mxfp8_e5m2, mxint8)}


def format_of(name: str) -> MXFormat:
    """The format of that name."""
    return FORMATS[name]


__all__ = ["FORMATS", "MXFormat", "format_of"]
