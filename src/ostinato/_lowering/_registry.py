"""The list of features with kernels for programs, and what is done with it."""

from __future__ import annotations

import contextvars
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch._ops import OpOverload
from torch.export import ExportedProgram

from ._program import copied, placeholder_of


@dataclass(frozen=True)
class _Lowering:
    """``module`` has ``expand(program)`` and ``restore(program)``.

    It is imported for a program that holds one of ``operators``, or a constant called
    ``mark``, which each of its patterns reads. The name is only a hint to look closer:
    ``restore`` trusts nothing in a program but what it has compared.
    """

    module: str
    operators: frozenset[str]
    mark: str

    def load(self) -> Any:
        return importlib.import_module(self.module)

    def expands(self, program: ExportedProgram) -> bool:
        return any(_name(node) in self.operators for node in program.graph.nodes)

    def restores(self, program: ExportedProgram) -> bool:
        return placeholder_of(program, self.mark) is not None or self.expands(program)


_LOWERINGS = (
    _Lowering(
        "ostinato.mx._lowering",
        frozenset(("ostinato::mx_dequantize", "ostinato::mx_linear")),
        "mx_scale_values",
    ),
)
_keeping: contextvars.ContextVar[bool] = contextvars.ContextVar("_keeping", default=False)


@contextmanager
def keeping_operators() -> Iterator[None]:
    """What is traced inside keeps the operators above, which tracing otherwise sees through."""
    token = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(token)


def keeps_operators() -> bool:
    """Whether `keeping_operators` is in force."""
    return _keeping.get()


def expanded(program: ExportedProgram) -> ExportedProgram:
    """The program in operators of torch alone, as far as the list goes; itself where it is so already."""
    found = [each for each in _LOWERINGS if each.expands(program)]
    if found:
        program = copied(program)
        for each in found:
            each.load().expand(program)
    return program


def restore(program: ExportedProgram) -> None:
    """Put kernels in the place of their patterns; changes the program."""
    for each in _LOWERINGS:
        if each.restores(program):
            each.load().restore(program)


def _name(node: Any) -> str:
    return node.target.name() if isinstance(node.target, OpOverload) else ""


__all__ = ["expanded", "keeping_operators", "keeps_operators", "restore"]
