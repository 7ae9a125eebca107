"""How names of an archive are written: with a dot, as a text, or otherwise.

An attribute is written with a dot only where no object of Python or torch has one of that name: what an
archive calls a module may turn out to be a tensor, and must not lead to its methods.
"""

from __future__ import annotations

import ast
import enum
import functools
import keyword
import types

import torch

from .._modules import NATIVE

# What a value may be that is no object of the archive's classes.
_FOREIGN = (
    torch.Tensor, torch.nn.Parameter, torch.nn.Module, torch.device, torch.dtype, torch.Size, torch.Generator,
    torch.layout, torch.memory_format, torch.SymInt, torch.SymFloat, torch.UntypedStorage, object, type, list,
    tuple, dict, str, bytes, int, float, complex, bool, range, slice, type(None), types.FunctionType,
    types.MethodType, types.BuiltinFunctionType, types.ModuleType, enum.Enum, enum.EnumMeta, BaseException,
)  # fmt: skip


class Global(ast.Name):
    """A name of the module, or of torch or Python: never one of the function's own."""


@functools.cache
def _foreign_names() -> frozenset[str]:
    return frozenset(name for each in _FOREIGN for name in dir(each))


def dotted(name: str) -> bool:
    """Whether an attribute of this name may be written with a dot, whatever object it is asked of."""
    return is_plain(name) and (name == "forward" or name not in _foreign_names())


def is_plain(name: str) -> bool:
    """Whether a name can stand after a dot, inside a class too."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def spelled(name: str) -> str:
    """An attribute's or method's name; two underscores in front would mean something to Python."""
    if not name.startswith("__") or name in NATIVE or name == "__init__":
        return name
    return f"special_{name.strip('_')}"
