"""The Python classes of an archive's classes, and the access to their objects that translated code has."""

from __future__ import annotations

import enum
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import torch

from .._errors import fail
from ._code import Class, is_special
from ._names import PACKED_METHODS

# What torch.nn.Module keeps its own state in; an archive whose class declares one of these is refused.
OWN = frozenset(vars(torch.nn.Module())) - {"training", "_is_full_backward_hook"}
_PRIVATE = frozenset(
    name for name in dir(torch.nn.Module) if name.startswith("_") and not name.endswith("__")
)
# Special methods that Python itself looks up on the class; others are reached by name only.
NATIVE = frozenset({"__len__", "__contains__", "__getitem__", "__enter__", "__exit__"})


class ScriptModule(torch.nn.Module):
    """Base of the modules that an archive's classes become: an ordinary ``torch.nn.Module``.

    Parameters, buffers and submodules are registered under the names of the archive; other attributes
    are plain attributes.  ``forward`` and every other method of the archive are methods.
    """

    _ostinato_class: Class
    _ostinato_literals: frozenset[int]
    _ostinato_members: frozenset[str]
    _ostinato_special: dict[str, Callable[..., Any]]

    def extra_repr(self) -> str:
        """The constants that the class declares, such as the number of channels."""
        return ", ".join(f"{name}={value!r}" for name, value in self._ostinato_class.constants.items())

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Any:
        # Tensors in plain attributes move with the model; parameters among them have moved in place.
        super()._apply(fn, recurse)
        moved: dict[int, Any] = {}
        for name, value in list(vars(self).items()):
            if name not in OWN:
                vars(self)[name] = _moved(value, fn, moved)
        return self


def _moved(value: Any, fn: Callable[[torch.Tensor], torch.Tensor], moved: dict[int, Any]) -> Any:
    """The value with its tensors moved, containers in place; ``moved`` has what was met before."""
    if id(value) in moved:
        return moved[id(value)]
    made = value
    if isinstance(value, torch.Tensor):
        made = value if isinstance(value, torch.nn.Parameter) else fn(value)
    elif isinstance(value, list):
        value[:] = [_moved(each, fn, moved) for each in value]
    elif isinstance(value, dict):
        value.update({key: _moved(each, fn, moved) for key, each in value.items()})
    elif type(value) is tuple:
        made = tuple(_moved(each, fn, moved) for each in value)
    moved[id(value)] = made
    return made


class ScriptObject:
    """Base of the objects of archive classes that are no modules."""

    _ostinato_class: Class
    _ostinato_members: frozenset[str]
    _ostinato_special: dict[str, Callable[..., Any]]


def make_class(
    declared: Class, methods: dict[str, Callable[..., Any]], path: str, literals: frozenset[int]
) -> type:
    """The Python class of an archive's class; ``methods`` are its translated functions by name."""
    name = declared.name.rpartition(".")[2]
    for member in declared.members:
        if member in OWN or (member in _PRIVATE and member in methods) or member.startswith("_ostinato"):
            raise fail(
                "torchscript.data", path=path, name=f"{declared.name}.{member}", what="has a reserved name"
            )
    if declared.kind == "namedtuple":
        try:
            base: Any = namedtuple(name, list(declared.attributes))  # type: ignore[misc]
        except ValueError:
            raise fail("torchscript.data", path=path, name=declared.name, what="has a bad field") from None
        return type(name, (base,), {"__slots__": (), "_ostinato_members": declared.members})
    if declared.kind == "enum":
        made: Any = enum.EnumMeta.__call__(enum.Enum, name, declared.constants)
        made._ostinato_members = declared.members
        return made  # type: ignore[no-any-return]
    special = {key: value for key, value in methods.items() if key.startswith("__") and key not in NATIVE}
    body: dict[str, Any] = {key: value for key, value in methods.items() if key not in special}
    if declared.kind == "module":
        body.update({key: value for key, value in declared.constants.items() if not is_special(key)})
    body.update(
        __module__=f"ostinato.{declared.name.strip('_')}",
        __qualname__=name,
        _ostinato_class=declared,
        _ostinato_literals=literals,
        _ostinato_members=declared.members,
        _ostinato_special=special,
    )
    return type(name, (ScriptModule if declared.kind == "module" else ScriptObject,), body)


def member(value: Any, name: str) -> Any:
    """An attribute or method that the class of ``value`` declares; AttributeError for any other."""
    cls = type(value)
    if isinstance(value, torch.ScriptObject) and name in PACKED_METHODS:
        return getattr(value, name)
    if name not in getattr(cls, "_ostinato_members", ()):
        raise AttributeError(f"{cls.__name__} declares no attribute {name!r}")
    if name.startswith("__") and name in cls._ostinato_special:
        return cls._ostinato_special[name].__get__(value)
    return getattr(value, name)


def set_member(value: Any, name: str, new: Any) -> None:
    """Sets an attribute that the class of ``value`` declares."""
    cls = type(value)
    declared: Class | None = getattr(cls, "_ostinato_class", None)
    if declared is None or name not in declared.attributes or is_special(name):
        raise AttributeError(f"{cls.__name__} declares no attribute {name!r}")
    setattr(value, name, new)


def new(cls: Any) -> Any:
    """An object of an archive class, before its ``__init__``."""
    made = cls.__new__(cls)
    if isinstance(made, torch.nn.Module):
        torch.nn.Module.__init__(made)
    return made
