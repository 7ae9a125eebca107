"""The objects of a loaded module as the expressions that make them anew over the tensors of a file."""

from __future__ import annotations

import ast
import enum
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..._errors import fail
from .._code import Class
from .._modules import OWN, ScriptModule, ScriptObject
from ._spelling import Global, is_plain, spelled
from ._weights import NAMES

_DEEP = 6
_LOAD = ast.Load()


def parts(made: Any) -> dict[str, tuple[str, Any]]:
    """What an object holds: name → (kind, value); the kind says how its constructor keeps it."""
    if not isinstance(made, torch.nn.Module):
        return {name: ("value", value) for name, value in vars(made).items()}
    found: dict[str, tuple[str, Any]] = {}
    for kind in ("parameters", "buffers", "modules"):
        for name, value in vars(made)[f"_{kind}"].items():
            found[name] = (kind, value)
    found.update((name, ("value", value)) for name, value in vars(made).items() if name not in OWN)
    declared: Class = vars(type(made))["_ostinato_class"]
    order = [name for name in declared.attributes if name in found]
    order += [name for name in found if name not in order]
    return {name: found[name] for name in order if name not in ("training", "_is_full_backward_hook")}


def argument(name: str) -> str:
    """What a constructor calls an attribute."""
    if is_plain(name) and name != "self":
        return name
    return "layer_" + "".join(each if each.isalnum() and each.isascii() else "_" for each in name)


def call(function: str, arguments: list[ast.expr], keywords: dict[str, ast.expr] | None = None) -> ast.Call:
    """A call of something that is no variable."""
    named = [ast.keyword(arg=name, value=value) for name, value in (keywords or {}).items()]
    return ast.Call(func=Global(id=function), args=arguments, keywords=named)


class Builder:
    """Makes the expressions; ``statements`` come before them, ``tensors`` go into the file."""

    def __init__(
        self,
        path: str,
        class_name: Callable[[type], str],
        arguments: Callable[[type], set[str] | None],
        needs: Callable[[str], str],
        taken: set[str],
    ) -> None:
        self._path, self._taken = path, taken
        self._class_name, self._arguments, self._needs = class_name, arguments, needs
        self._uses: Counter[int] = Counter()
        self._made: dict[int, str] = {}
        self._keys: dict[int, str] = {}
        self._alive: list[Any] = []
        self.statements: list[ast.stmt] = []
        self.tensors: dict[str, torch.Tensor] = {}

    def count(self, value: Any) -> None:
        """Notes what is held by several objects, and is to be one again."""
        self._uses[id(value)] += 1
        self._alive.append(value)
        if self._uses[id(value)] == 1:
            for _, each in _held(value):
                if not isinstance(each, (bool, int, float, complex, str, type(None))):
                    self.count(each)

    def expression(self, value: Any, name: str, depth: int = 0) -> ast.expr:
        """The expression for a value whose full name in the model is ``name``."""
        if isinstance(value, float) and not abs(value) < float("inf"):
            number: ast.expr = Global(id=self._needs("math.nan" if value != value else "math.inf"))
            return ast.UnaryOp(op=ast.USub(), operand=number) if value < 0 else number
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return ast.Constant(value=value)
        if id(value) in self._made:
            return Global(id=self._made[id(value)])
        made = self._fresh(value, name, depth)
        shared = self._uses[id(value)] > 1 and not isinstance(value, (torch.device, enum.Enum))
        if not shared and not (depth > _DEEP and isinstance(value, torch.nn.Module)):
            return made
        known = self._variable(name)
        self._made[id(value)] = known
        self.statements.append(ast.Assign(targets=[Global(id=known)], value=made))
        return Global(id=known)

    def _variable(self, name: str) -> str:
        wanted = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "part"
        known, count = wanted, 1
        while known in self._taken or not is_plain(known):
            count += 1
            known = f"{wanted}_{count}" if wanted.isidentifier() else f"part_{wanted}_{count}"
        self._taken.add(known)
        return known

    def _fresh(self, value: Any, name: str, depth: int) -> ast.expr:
        if isinstance(value, torch.Tensor):
            return self._tensor(value, name)
        if isinstance(value, (ScriptModule, ScriptObject)):
            return self._object(value, name, depth)
        if isinstance(value, torch.device):
            return call("torch.device", [ast.Constant(value="cpu")])
        if isinstance(value, enum.Enum):
            cls = Global(id=self._class_name(type(value)))
            return ast.Attribute(value=cls, attr=value.name, ctx=_LOAD)
        held = [(str(key), each) for key, each in _held(value)]
        inner = [self.expression(each, f"{name}.{key}", depth + 1) for key, each in held]
        if isinstance(value, list):
            return ast.List(elts=inner, ctx=_LOAD)
        if type(value) is tuple:
            return ast.Tuple(elts=inner, ctx=_LOAD)
        if isinstance(value, tuple):
            return call(self._class_name(type(value)), inner)
        if isinstance(value, dict):
            keys: list[ast.expr | None] = [self.expression(key, name, depth) for key in value]
            return ast.Dict(keys=keys, values=inner)
        raise fail("torchscript.unwritten", path=self._path, name=name, kind=type(value).__name__)

    def _object(self, value: Any, name: str, depth: int) -> ast.expr:
        cls = self._class_name(type(value))
        wanted = self._arguments(type(value))
        given: dict[str, ast.expr] = {}
        prefix = f"{name}." if name else ""
        for attribute, (_, each) in parts(value).items():
            made = self.expression(each, prefix + attribute, depth + 1)
            given[argument(attribute) if wanted is not None else spelled(attribute)] = made
        if wanted is None:
            return call(self._needs("_restored"), [Global(id=cls)], given)
        for constant, each in type(value)._ostinato_class.constants.items():
            if constant in wanted:
                given[argument(constant)] = self.expression(each, prefix + constant, depth + 1)
        return call(cls, [], given)

    # ---- tensors ----

    def _tensor(self, value: torch.Tensor, name: str) -> ast.expr:
        made = self._stored(value.detach(), name)
        if isinstance(value, torch.nn.Parameter):
            frozen = {} if value.requires_grad else {"requires_grad": ast.Constant(value=False)}
            return call(self._needs("nn.Parameter"), [made], dict(frozen))
        if value.requires_grad:
            method = ast.Attribute(value=made, attr="requires_grad_", ctx=_LOAD)
            return ast.Call(func=method, args=[], keywords=[])
        return made

    def _stored(self, value: torch.Tensor, name: str) -> ast.expr:
        """The expression for a tensor of which the parts are in the file."""
        if value.is_quantized and value.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            numbers = [ast.Constant(value=value.q_scale()), ast.Constant(value=value.q_zero_point())]
            whole = self._key(value.int_repr(), name)
            return call("torch._make_per_tensor_quantized_tensor", [whole, *numbers])
        if value.is_quantized and value.qscheme() == torch.per_channel_affine:
            scales = self._key(value.q_per_channel_scales(), f"{name}.scales")
            zeros = self._key(value.q_per_channel_zero_points(), f"{name}.zero_points")
            axis = ast.Constant(value=value.q_per_channel_axis())
            whole = self._key(value.int_repr(), name)
            return call("torch._make_per_channel_quantized_tensor", [whole, scales, zeros, axis])
        if value.layout == torch.sparse_coo:
            value = value.coalesce()
            indices, values = (
                self._key(value.indices(), f"{name}.indices"),
                self._stored(value.values(), name),
            )
            size = ast.Tuple(elts=[ast.Constant(value=each) for each in value.shape], ctx=_LOAD)
            return call("torch.sparse_coo_tensor", [indices, values, size])
        if value.is_complex():
            return call("torch.view_as_complex", [self._key(torch.view_as_real(value), name)])
        if value.layout != torch.strided or value.dtype not in NAMES:
            raise fail("torchscript.unwritten", path=self._path, name=name, kind=f"{value.dtype} tensor")
        return self._key(value, name)

    def _key(self, value: torch.Tensor, name: str) -> ast.expr:
        key, count = name, 1
        while key in self.tensors:
            count += 1
            key = f"{name}.{count}"
        self.tensors[key] = value
        return ast.Subscript(value=Global(id="weights"), slice=ast.Constant(value=key), ctx=_LOAD)


def _held(value: Any) -> Iterator[tuple[Any, Any]]:
    """The values inside of a value, by name."""
    if isinstance(value, (ScriptModule, ScriptObject)):
        yield from ((name, each) for name, (_, each) in parts(value).items())
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)
