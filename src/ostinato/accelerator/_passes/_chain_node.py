"""Which recorded nodes a chain takes, and what each reads and writes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from .._forms import bind
from .._program import Node, Value
from ._access import Access, Ints, Loop, loop_over
from ._chain_code import Code, Op, Operand
from ._chain_entry import Arguments, Entry
from ._chain_table import ARITHMETIC, COMPARISONS, COPIES, LOGIC

_HALVES = {torch.bfloat16: Op.TO_BFLOAT16, torch.float16: Op.TO_HALF}
_FLOATS = {torch.float32, *_HALVES}
_READABLE = _FLOATS | {torch.bool, torch.int32, torch.int64, torch.uint8}
_WRITABLE = _FLOATS | {torch.bool}
_TRUTHS = {"condition", "mask"}  # arguments that are conditions


@dataclasses.dataclass(frozen=True, slots=True)
class Pointwise:
    """A node of which each element of the result depends on one element of each argument."""

    node: Node
    entry: Entry
    given: Arguments  # a tensor as the access to it
    out: Access
    sizes: Ints  # of the loop that all accesses are for
    copies: bool
    native: bool  # whether a step of its own is as fast as a chain of one

    @property
    def reads(self) -> list[Access]:
        return [argument for argument in self.given.values() if isinstance(argument, Access)]

    def over(self, sizes: Ints) -> Pointwise | None:
        """The same by a loop of other sizes in the same order; None where its strides allow none."""
        if sizes == self.sizes:
            return self
        if math.prod(sizes) != math.prod(self.sizes):
            return None
        out = self.out.over(self.sizes, sizes)
        given: Arguments = {}
        for name, argument in self.given.items():
            given[name] = argument.over(self.sizes, sizes) if isinstance(argument, Access) else argument
            if given[name] is None and argument is not None:
                return None
        return None if out is None else dataclasses.replace(self, given=given, out=out, sizes=sizes)

    def write(self, code: Code, operands: dict[Any, Operand]) -> Operand | None:
        """Its instructions; ``operands`` has what each place holds by now."""
        given = {k: operands[a.place] if isinstance(a, Access) else a for k, a in self.given.items()}
        result = self.entry(code, given)
        dtype = self.out.value.dtype
        if result is None or dtype not in _HALVES:
            return result
        return code(_HALVES[dtype], result)


def pointwise(node: Node) -> Pointwise | None:
    """``node`` as part of a chain; None where it is none for one."""
    name = node.op._schema.name.removeprefix("aten::")
    name = name.removesuffix("_") if not name.endswith("__") else name
    given = bind(node.op, node.args, node.kwargs) if name in _NAMES and not node.random else None
    out = _output(node, given) if given is not None else None
    if given is None or out is None or out.dtype not in _WRITABLE or 0 in out.sizes:
        return None
    arguments = {k: v for k, v in given.items() if k not in _unread(node, name)}
    if not _types_fit(name, arguments, out, functional=out.storage in node.fresh):
        return None
    loop = loop_over(out)
    accesses = _accesses(arguments, out, loop) if loop is not None else None
    if loop is None or accesses is None:
        return None
    target = loop.access(out, out.sizes)
    assert target is not None
    floats = all(v.dtype is torch.float32 for v in (*arguments.values(), out) if isinstance(v, Value))
    native = floats and name in _NATIVE and "Scalar" not in node.op._overloadname
    return Pointwise(node, _entry(name, out), accesses, target, loop.sizes, name in COPIES, native)


# What csrc/graph/pointwise_step.cpp does as fast, one by one.
_NATIVE = {"add", "sub", "mul", "div", "relu", "threshold", "threshold_backward", "leaky_relu", "hardtanh"}
_NAMES = frozenset({*ARITHMETIC, *COMPARISONS, *LOGIC, *COPIES})


def _entry(name: str, out: Value) -> Entry:
    if name in COPIES:
        source = COPIES[name]
        op = Op.TRUTH if out.dtype is torch.bool else Op.COPY
        return lambda code, given: code(op, given[source])
    table = LOGIC if name in LOGIC else COMPARISONS if name in COMPARISONS else ARITHMETIC
    return table[name]


def _output(node: Node, given: Arguments) -> Value | None:
    """What the node writes, if that is one plain tensor."""
    written = [
        given[a.name] for a in node.op._schema.arguments if a.alias_info is not None and a.alias_info.is_write
    ]
    out = written[0] if len(written) == 1 else node.outputs if not written else None
    if not isinstance(out, Value) or out.conj or out.neg:
        return None
    return out if out.storage in node.fresh or out.storage in node.written else None


def _unread(node: Node, name: str) -> set[str]:
    """Arguments that are written only, or that say nothing about the numbers."""
    unread = {a.name for a in node.op._schema.arguments if a.is_out}
    if name in COPIES:
        unread |= {a.name for a in node.op._schema.arguments if a.name != COPIES[name]}
    return unread


def _types_fit(name: str, arguments: Arguments, out: Value, *, functional: bool) -> bool:
    """Whether floats compute what torch computes in the common dtype."""
    read = {v.dtype for v in arguments.values() if isinstance(v, Value)}
    if any(isinstance(v, complex) for v in arguments.values()) or not read <= _READABLE:
        return False
    if any(isinstance(arguments.get(k), Value) and arguments[k].dtype is not torch.bool for k in _TRUTHS):
        return False
    if name in COPIES:
        return True
    if name in LOGIC:
        return read == {torch.bool} and out.dtype is torch.bool
    if name in COMPARISONS:
        common = read - {torch.bool}
        return out.dtype is torch.bool and (
            name.startswith("logical") or torch.float32 in read or _exact(arguments, common)
        )
    if out.dtype is torch.float32:
        return functional or torch.float32 in read
    return out.dtype in _HALVES and _exact(arguments, read - {torch.bool}) and out.dtype in read


def _exact(arguments: Arguments, dtypes: set[torch.dtype]) -> bool:
    """Whether no tensor and no number is rounded on its way to the one dtype of ``dtypes``, if it has any."""
    numbers = [v for v in arguments.values() if isinstance(v, (int, float))]
    if not dtypes:
        return not numbers
    (dtype,) = dtypes if len(dtypes) == 1 else (None,)
    if dtype not in _HALVES:
        return False
    return all(torch.tensor(n, dtype=dtype).item() == n for n in numbers)


def _accesses(arguments: Arguments, out: Value, loop: Loop) -> Arguments | None:
    """``arguments`` with an access for each tensor; None where one does not fit the loop."""
    made: Arguments = {}
    for name, argument in arguments.items():
        if not isinstance(argument, Value):
            made[name] = argument
            continue
        access = None if argument.conj or argument.neg else loop.access(argument, out.sizes)
        if access is None or not _walks_well(access, loop.sizes):
            return None
        made[name] = access
    return made


_SMALL = 1 << 14  # elements of a loop in which the caches make up for steps of any size


def _walks_well(access: Access, sizes: Ints) -> bool:
    """Whether to read it in the order of the loop is no slower than it must be."""
    return math.prod(sizes) <= _SMALL or access.strides[-1] in (0, 1)
