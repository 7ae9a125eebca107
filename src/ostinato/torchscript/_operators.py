"""From the names of operators to the Python callables that translated code calls.

To support one more operator, add its name to ``_names.py``; where torch's binding does not take the arguments
as TorchScript writes them, add a function under that name to one of the ``_operators_*`` files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from . import (
    _modules,
    _operators_data,
    _operators_letters,
    _operators_number,
    _operators_packed,
    _operators_prim,
    _operators_tensor,
)
from ._names import LIST_RESULTS, OTHERS, REDUCED
from ._program import Program

ATEN: dict[str, Callable[..., Any]] = {
    **_operators_data.FUNCTIONS,
    **_operators_letters.FUNCTIONS,
    **_operators_number.FUNCTIONS,
    **_operators_tensor.FUNCTIONS,
    **_operators_packed.FUNCTIONS,
}
PRIM: dict[str, Callable[..., Any]] = {
    **_operators_prim.FUNCTIONS,
    "member": _modules.member,
    "set_member": _modules.set_member,
    "new": _modules.new,
}
# Operators that have changed their meaning: the first format version with the present one, and the former.
FORMER: dict[str, tuple[int, Callable[..., Any]]] = {
    "div": (4, functools.partial(_operators_number.old_division, "div")),
    "div_": (4, functools.partial(_operators_number.old_division, "div_")),
    "full": (5, _operators_tensor.old_full),
}


def callable_of(name: str, version: int) -> Callable[..., Any]:
    """What an operator of the table (``aten::relu``) does in an archive of this format version."""
    space, _, short = name.partition("::")
    if space == "prim":
        return PRIM[short]
    if space in OTHERS:
        return _operators_packed.callable_of(space, short)
    if short in FORMER and version < FORMER[short][0]:
        return FORMER[short][1]
    return ATEN[short] if short in ATEN else _plain(short)


def bind(program: Program) -> dict[str, Callable[..., Any]]:
    """The globals of the operators that a program uses; ArchiveError for one that this torch lacks."""
    bound: dict[str, Callable[..., Any]] = {}
    for known, name in program.operators.items():
        try:
            bound[known] = callable_of(name, program.version)
        except AttributeError:
            hint = f"torch {torch.__version__} has no such operator; install a newer torch"
            raise program.no_operator(name, *program.site(known), hint) from None
    return bound


def _plain(name: str) -> Callable[..., Any]:
    """torch's own function for an operator that takes the arguments as TorchScript writes them."""
    found = _binding(name)
    if name not in LIST_RESULTS:
        return found

    @functools.wraps(found)
    def as_list(*args: Any, **kwargs: Any) -> Any:
        made = found(*args, **kwargs)
        return list(made) if isinstance(made, tuple) else made

    return as_list


def _binding(name: str) -> Callable[..., Any]:
    # torch's C bindings are several times faster than torch.ops, and call the same operator.
    bindings: Any = torch._C
    places = (
        bindings._VariableFunctions,
        torch.Tensor,
        bindings._nn,
        bindings._linalg,
        bindings._fft,
        bindings._special,
    )
    for place in places if name not in REDUCED else ():
        found: Callable[..., Any] | None = getattr(place, name, None)
        if found is not None:
            return found
    packet: Callable[..., Any] = getattr(torch.ops.aten, name)
    return packet
