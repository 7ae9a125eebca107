"""How a program says in operators of torch alone what ``mx_dequantize`` does.

Elements and scales are looked up in tables of a few hundred numbers: few operators,
exact for every code and scale, and indifferent to flushed denormals in all but the
scale 2^-127. A table is a constant of the program, shared by all its weights.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch

from .._lowering import Call, Slot
from ._elements import decode
from ._formats import FORMATS, MXFormat
from ._scales import NAN

_aten = torch.ops.aten
CODES, SCALES = Slot("codes"), Slot("scales")
SCALE_TABLE = "mx_scale_values"
_SHIFTS = "mx_six_bit_shifts"


@dataclass(frozen=True)
class Decoding:
    """One use of ``mx_dequantize``. ``outer`` are the sizes before the last; one may be -1, which is any."""

    format: MXFormat
    block_size: int
    columns: int
    dtype: torch.dtype
    outer: tuple[int, ...]

    @property
    def pattern(self) -> Call:
        """The operators, of ``CODES``, ``SCALES`` and the tables."""
        blocks = -(-self.columns // self.block_size)
        wide = blocks * self.block_size
        scales = _looked_up(SCALE_TABLE, Call(_aten._to_copy.default, (SCALES,), {"dtype": torch.int32}))
        values = _looked_up(value_table(self.format), self._numbers())
        values = Call(_aten.view.default, (values, [*self.outer, blocks, self.block_size]))
        made = Call(_aten.mul.Tensor, (values, scales))
        made = Call(_aten.view.default, (made, [*self.outer, wide]))
        if wide != self.columns:
            made = Call(_aten.slice.Tensor, (made, len(self.outer), 0, self.columns))
            made = Call(_aten.clone.default, (made,), {"memory_format": torch.contiguous_format})
        if self.dtype is not torch.float32:
            made = Call(_aten._to_copy.default, (made,), {"dtype": self.dtype})
        return made

    def _numbers(self) -> Call:
        """Where in the table of values each element, or each byte of two, is."""
        if self.format.bits != 6:
            return Call(_aten._to_copy.default, (CODES,), {"dtype": torch.int32})
        # Four codes are three bytes, the lowest first: with a byte of zeros, a number of 32 bits.
        in_row, _ = self.format.row_sizes(self.columns, self.block_size)
        words = Call(_aten.view.default, (CODES, [*self.outer, in_row // 3, 3]))
        words = Call(_aten.constant_pad_nd.default, (words, [0, 1]))
        words = Call(_aten.view.dtype, (words, torch.int32))
        words = Call(_aten.bitwise_right_shift.Tensor, (words, Slot(_SHIFTS)))
        return Call(_aten.bitwise_and.Scalar, (words, 0x3F))


def _looked_up(table: str, numbers: Call) -> Call:
    return Call(_aten.embedding.default, (Slot(table), numbers))


def value_table(format: MXFormat) -> str:
    """The name of the table of a format's elements."""
    return f"{format.name}_values"


def tables(format: MXFormat) -> tuple[str, ...]:
    """The names of all tables that a format's pattern reads."""
    return (SCALE_TABLE, value_table(format), *((_SHIFTS,) if format.bits == 6 else ()))


@functools.cache
def table(name: str) -> torch.Tensor:
    """A table by its name: a row for every number that looks something up in it."""
    if name == SCALE_TABLE:
        bits = torch.arange(256, dtype=torch.int32) << 23
        bits[0] = 1 << 22  # 2^-127 is denormal
        bits[NAN] |= 1 << 22
        return bits.view(torch.float32).unsqueeze(-1)
    if name == _SHIFTS:
        return torch.arange(0, 24, 6, dtype=torch.int32)
    format = FORMATS[name.removesuffix("_values")]
    if format.bits == 4:
        codes = torch.arange(256)
        return decode(torch.stack((codes & 0xF, codes >> 4), -1).to(torch.uint8), format)
    return decode(torch.arange(64 if format.bits == 6 else 256).to(torch.uint8), format).unsqueeze(-1)


def named_like(value: Any) -> str | None:
    """The name of the table that holds just these numbers, bit for bit."""
    return next((name for name in _every_table() if _same(table(name), value)), None)


def _every_table() -> dict[str, None]:
    return dict.fromkeys(name for format in FORMATS.values() for name in tables(format))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype is not b.dtype or a.shape != b.shape or b.device.type != "cpu":
        return False
    return torch.equal(a.view(torch.int32), b.contiguous().view(torch.int32))


__all__ = ["CODES", "SCALES", "SCALE_TABLE", "Decoding", "named_like", "table", "tables", "value_table"]
