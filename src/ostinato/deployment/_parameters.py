"""The parameters of a method, from a Python signature or from that of an archive."""

from __future__ import annotations

import inspect
import re
import typing
from dataclasses import dataclass
from typing import Any

import torch

_TUPLE = re.compile(r"(?:Tuple|tuple)\[(?P<items>.*)\]")
_LIST = re.compile(r"(?:List|list)\[(?P<item>.*)\]")


@dataclass(frozen=True)
class Parameter:
    """One argument: ``kind`` is tensor, tensors, int, bool, float, str or other.

    ``nesting`` is how the tensors of a tuple or list lie in it: ``"t"`` for a
    tensor, a tuple or list of such.
    """

    name: str
    kind: str
    nesting: Any = "t"
    required: bool = True
    text: str = "Tensor"


def of_archive(signature: list[tuple[str, str, Any]]) -> list[Parameter]:
    """From ``torchscript.signature``, which gives Ellipsis for an argument without a default."""
    return [_parameter(name, kind, default is ...) for name, kind, default in signature]


def of_function(function: Any) -> list[Parameter]:
    """From the annotations of a Python function; what has none takes a tensor."""
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.KEYWORD_ONLY):
            continue
        found.append(_parameter(each.name, _text(each.annotation), each.default is each.empty))
    return found


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty or annotation is torch.Tensor:
        return "Tensor"
    if isinstance(annotation, str):
        return annotation.replace("torch.", "").replace("typing.", "")
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return annotation.__name__
    return str(annotation).replace("torch.", "").replace("typing.", "")


def _parameter(name: str, kind: str, required: bool) -> Parameter:
    kind = kind.strip()
    if kind in ("int", "bool", "float", "str"):
        return Parameter(name, kind, required=required, text=kind)
    nesting = _nesting(kind)
    if nesting is None:
        return Parameter(name, "other", required=required, text=kind)
    return Parameter(name, "tensor" if nesting == "t" else "tensors", nesting, required, kind)


def _nesting(kind: str) -> Any:
    """``"t"``, a tuple or list of it, or None for what holds anything but tensors."""
    kind = kind.strip()
    if kind == "Tensor":
        return "t"
    if match := _TUPLE.fullmatch(kind):
        items = [_nesting(each) for each in _split(match["items"])]
        return None if None in items else tuple(items)
    if match := _LIST.fullmatch(kind):
        item = _nesting(match["item"])
        return None if item is None else [item]
    return None


def _split(text: str) -> list[str]:
    """The parts between the commas that lie in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
