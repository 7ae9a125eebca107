"""``inspect``: what an archive holds, told without torch and without running any of it."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._archive import MAX_PICKLE, Archive
from ._archive_data import TENSORS, DeviceRef, EnumRef, Instance
from ._archive_lite import Lite
from ._code import Class, Code
from ._contents import contents
from ._names import unsupported

# What a tracer leaves in the debug files: file(line): function.
_TRACED = re.compile(rb"[\w/.\-]+\.py\(\d+\): \w+")
_LONGEST = 100


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of the archive: ``kind`` is "parameter", "buffer" or "attribute"."""

    kind: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class ArchiveInfo:
    """What `inspect` found.

    path: the file.
    format: the version of the archive's format.
    producer: what wrote it, as far as the layout of the file tells.
    archive: "scripted", "traced" or "lite" (for the mobile interpreter, with bytecode beside the code or
        instead of it).
    root: the full name of the model's class.
    methods: each method of the root with its signature, ``forward`` first.
    tensors: parameters, buffers and other tensors by full name, such as "encoder.0.weight".
    attributes: the root's other attributes, their values as text.
    operators: each operator that the code names and how often, the most frequent first.
    unsupported: those of them that `load` refuses, each with a hint.
    parameters: the number of elements in parameters.
    code_bytes: the size of the code.
    classes: the number of classes that the code defines.
    """

    path: str
    format: int
    producer: str
    archive: str
    root: str
    methods: dict[str, str]
    tensors: dict[str, TensorInfo]
    attributes: dict[str, str]
    operators: dict[str, int]
    unsupported: dict[str, str]
    parameters: int
    code_bytes: int
    classes: int

    def to_json(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, texts and numbers."""
        document = dataclasses.asdict(self)
        document["tensors"] = {name: str(tensor) for name, tensor in self.tensors.items()}
        return document


def inspect(path: str | os.PathLike[str]) -> ArchiveInfo:
    """What a TorchScript archive holds; torch is not imported, and nothing of the file is run.

    Raises ArchiveError where the file is damaged or is no TorchScript archive. An archive that uses what
    `load` does not support is told about all the same.
    """
    with Archive(path) as archive:
        held = contents(archive)
        data, code = held.data, held.code
        root = _class(code, data.cls)
        tensors = dict(_tensors(code, data, "", set()))
        operators = dict(sorted(code.operators().items(), key=lambda pair: (-pair[1], pair[0])))
        hints = {name: unsupported(name) for name in operators}
        return ArchiveInfo(
            path=archive.path,
            format=archive.version,
            producer=_producer(archive),
            archive=_kind(archive),
            root=data.cls,
            methods=_methods(root),
            tensors=tensors,
            attributes=_attributes(data, root),
            operators=operators,
            unsupported={name: hint for name, hint in hints.items() if hint is not None},
            parameters=sum(_count(t.shape) for t in tensors.values() if t.kind == "parameter"),
            code_bytes=sum(archive.entries[name].file_size for name in archive.code_files()),
            classes=len(code.classes()),
        )


def _class(code: Code | Lite, name: str) -> Class | None:
    found = code.find(name)
    return found if isinstance(found, Class) else None


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _producer(archive: Archive) -> str:
    # The format does not name its writer; the entries beside the code and data came with these versions.
    if ".data/serialization_id" in archive.entries:
        return "PyTorch 2.1 or later"
    if archive.version < 3:
        return "PyTorch 1.2 to 1.4"
    return "PyTorch 1.5 to 2.0"


def _kind(archive: Archive) -> str:
    if "bytecode.pkl" in archive.entries:
        return "lite"
    left = MAX_PICKLE
    for name, entry in archive.entries.items():
        if name.endswith(".debug_pkl") and entry.file_size <= left:
            left -= entry.file_size
            if _TRACED.search(archive.read(name, MAX_PICKLE)):
                return "traced"
    return "scripted"


def _methods(root: Class | None) -> dict[str, str]:
    if root is None:
        return {}
    names = sorted(root.methods, key=lambda name: name != "forward")
    return {name: signature_text(root.methods[name].node) for name in names}


def signature_text(node: ast.FunctionDef) -> str:
    """``(x: Tensor, n: int=1) -> Tensor`` of a method, less ``self``."""
    spec = node.args
    defaults: list[ast.expr | None] = [*[None] * (len(spec.args) - len(spec.defaults)), *spec.defaults]
    written = []
    for argument, default in list(zip(spec.args, defaults, strict=True))[1:]:
        kind = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
        written.append(argument.arg + kind + ("" if default is None else f"={ast.unparse(default)}"))
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"({', '.join(written)}){returns}"


def _tensors(
    code: Code | Lite, instance: Instance, prefix: str, seen: set[int]
) -> Iterator[tuple[str, TensorInfo]]:
    if id(instance) in seen:
        return
    seen.add(id(instance))
    declared = _class(code, instance.cls)
    if not isinstance(instance.state, dict):
        yield from _nested(code, [instance.state], prefix + "state", seen)
        return
    for name, value in instance.state.items():
        full = f"{prefix}{name}"
        if isinstance(value, TENSORS):
            kind = "attribute"
            if declared is not None and name in declared.parameters:
                kind = "parameter"
            elif declared is not None and name in declared.buffer_names():
                kind = "buffer"
            yield full, TensorInfo(kind, value.dtype, value.size)
        elif isinstance(value, Instance):
            yield from _tensors(code, value, full + ".", seen)
        elif isinstance(value, (list, tuple, dict)):
            yield from _nested(code, value, full, seen)


def _nested(code: Code | Lite, values: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, TensorInfo]]:
    """Objects inside containers; tensors there are mostly parameters again, so only those of tuples count."""
    if id(values) in seen:
        return
    seen.add(id(values))
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        full = f"{prefix}[{key}]"
        if isinstance(value, Instance):
            yield from _tensors(code, value, full + ".", seen)
        elif isinstance(value, TENSORS) and not isinstance(values, list):
            yield full, TensorInfo("attribute", value.dtype, value.size)
        elif isinstance(value, (list, tuple, dict)):
            yield from _nested(code, value, full, seen)


def _attributes(data: Instance, root: Class | None) -> dict[str, str]:
    state = data.state if isinstance(data.state, dict) else {}
    found = {
        str(name): _text(value)
        for name, value in state.items()
        if not isinstance(value, (*TENSORS, Instance)) and name != "_is_full_backward_hook"
    }
    if root is not None:
        found.update({name: _text(value) for name, value in root.constants.items()})
    return found


def _text(value: Any) -> str:
    written = ""
    for piece in _pieces(value):  # only as many as are shown: data may refer to itself times over
        written += piece
        if len(written) > _LONGEST:
            return written[: _LONGEST - 1] + "…"
    return written


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        yield "[" if isinstance(value, list) else "("
        for at, each in enumerate(value):
            yield ", " if at else ""
            yield from _pieces(each)
        yield "]" if isinstance(value, list) else ")"
    elif isinstance(value, dict):
        yield "{"
        for at, (key, each) in enumerate(value.items()):
            yield ", " if at else ""
            yield from _pieces(key)
            yield ": "
            yield from _pieces(each)
        yield "}"
    elif isinstance(value, TENSORS):
        yield str(TensorInfo("tensor", value.dtype, value.size))
    elif isinstance(value, Instance):
        yield value.cls
    elif isinstance(value, EnumRef):
        yield f"{value.cls}({value.value!r})"
    elif isinstance(value, DeviceRef):
        yield value.name
    else:
        yield repr(value)
