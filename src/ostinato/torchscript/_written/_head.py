"""What stands around the classes and functions of a written module: docstring, imports, empty lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from .._program import Program
from ._helpers import Library

# Functions of a written module that have no counterpart among the operators.
OWN = {
    "_member": '''\
def _member(value, name):
    """An attribute that the class of ``value`` declares; others of this name are not meant."""
    if name not in getattr(type(value), "_members", ()):
        raise AttributeError(f"{type(value).__name__} declares no attribute {name!r}")
    return getattr(value, name)''',
    "_set_member": '''\
def _set_member(value, name, new):
    """Sets an attribute that the class of ``value`` declares."""
    if name not in getattr(type(value), "_members", ()):
        raise AttributeError(f"{type(value).__name__} declares no attribute {name!r}")
    setattr(value, name, new)''',
    "_restored": '''\
def _restored(cls, **attributes):
    """An object with these attributes, without a call of its ``__init__``."""
    made = cls.__new__(cls)
    vars(made).update(attributes)
    return made''',
    "_as_list": '''\
def _as_list(made):
    """Several tensors as a list, one as it is."""
    return list(made) if isinstance(made, tuple) else made''',
}


def head(program: Program, library: Library, needed: Collection[str], pieces: list[str]) -> str:
    """The docstring and the imports of a module that consists of ``pieces``."""
    name = re.sub(r"[^\w.-]", "_", program.archive.root)
    lines = [
        f'"""{name}, written from a TorchScript archive (format {program.version}).',
        "",
        "Needs torch alone: `load(path)` gives the model with the tensors of a safetensors file.",
        '"""',
        "",
    ]
    if library.text():  # its annotations are not evaluated
        lines += ["from __future__ import annotations", ""]
    plain = {line for line in library.imports if line.startswith("import ")} - {"import torch"}
    if any(map(_mentions("json"), pieces)):
        plain.add("import json")
    plain.update(f"import {name}" for name in ("math", "enum") if name in needed)
    kinds = {declared.kind for declared in program.classes.values()}
    plain.update({"import enum"} if "enum" in kinds else ())
    plain.update({"import collections"} if "namedtuple" in kinds else ())
    from_ = [line for line in library.imports if line.startswith("from ") and "torch" not in line]
    lines += [*sorted(plain), *sorted(from_)]
    if plain or from_:
        lines.append("")
    if any(map(_mentions("torch"), pieces)):
        lines.append("import torch")
    if "F" in needed:
        lines.append("import torch.nn.functional as F")
    tensor = ["Tensor"] if "from torch import Tensor" in library.imports else []
    lines.append(f"from torch import {', '.join([*tensor, 'nn'])}")
    return "\n".join(lines)


def joined(pieces: list[str]) -> str:
    """Two empty lines around functions and classes, none between short definitions."""
    text = pieces[0]
    large = False
    for at, piece in enumerate(pieces[1:]):
        starts = next((line for line in piece.split("\n") if not line.startswith("#")), "")
        is_large = starts.startswith(("def ", "class "))
        gap = 2 if large or is_large else (0 if at else 1)
        text += "\n" * (gap + 1) + piece
        large = is_large
    return text + "\n"


def _mentions(module: str) -> Callable[[str], bool]:
    """Tells of a text whether its code, less docstrings, uses a module."""
    pattern = re.compile(rf"\b{module}\.")

    def mentions(piece: str) -> bool:
        lines = (line for line in piece.split("\n") if not line.lstrip().startswith('"""'))
        return any(map(pattern.search, lines))

    return mentions
