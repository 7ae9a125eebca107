"""What a loaded module tells about its methods and its numbers, for tools that make example inputs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .._errors import fail
from ._code import Class, literal

if TYPE_CHECKING:
    import torch


def signature(module: torch.nn.Module, method: str = "forward") -> list[tuple[str, str, Any]]:
    """The arguments of a method of a loaded module, less ``self``: (name, type, default) each.

    The type is the archive's text, such as "Tensor", "Optional[Tensor]" or "Tuple[Tensor, Tensor]". The
    default is the value, and Ellipsis (``...``) where there is none.

    Raises UsageError for a module that `load` did not make, or a method that it does not have.
    """
    declared = _declared(module)
    found = declared.methods.get(method)
    if found is None:
        known = ", ".join(declared.methods) or "none"
        raise fail("torchscript.no_method", kind=type(module).__name__, method=method, known=known)
    spec = found.node.args
    values = (getattr(module, method).__defaults__ or ()) if hasattr(module, method) else ()
    required = len(spec.args) - len(spec.defaults)
    rows: list[tuple[str, str, Any]] = []
    for at, argument in enumerate(spec.args[1:], start=1):
        kind = "Tensor" if argument.annotation is None else ast.unparse(argument.annotation)
        default = ... if at < required else _default(spec.defaults[at - required], values, at - required)
        rows.append((argument.arg, kind, default))
    return rows


def _default(node: ast.expr, values: tuple[Any, ...], at: int) -> Any:
    try:
        return literal(node)
    except ValueError:  # a constant of the archive, which the function holds
        return values[at] if at < len(values) else ...


def constants(module: torch.nn.Module) -> list[int]:
    """The whole numbers in the code and the attributes of a loaded module and all its submodules, ascending.

    They hold what the code compares sizes with: sampling rates, lengths of frames, numbers of channels.

    Raises UsageError for a module that `load` did not make.
    """
    _declared(module)
    found: set[int] = set()
    for each in module.modules():
        found |= getattr(type(each), "_ostinato_literals", frozenset())
        for value in vars(each).values():
            if type(value) is int:
                found.add(value)
            elif type(value) in (list, tuple):
                found.update(item for item in value if type(item) is int)
    return sorted(found)


def _declared(module: torch.nn.Module) -> Class:
    declared = getattr(type(module), "_ostinato_class", None)
    if not isinstance(declared, Class):
        raise fail("torchscript.not_loaded", kind=type(module).__name__)
    return declared
