"""Writes programs as a ``.pt2`` that stock ``torch.export.load`` opens, without a pickle in it.

The zip file is written here rather than by torch, so that a weight which
several programs share lies in the file once, and so that neither sample inputs
(a pickle) nor the paths of the machine that exported (stack traces) get in.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch._export.serde.serialize import serialize
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram

from .._errors import fail
from ._signature import dtype_name
from ._vet import DTYPES, METADATA, trim
from ._vet._archive import CONSTANTS, EXAMPLES, WEIGHTS
from ._vet._program import STRIDED

# The tensors are written below, from the program itself; torch 2.11 cannot be told to leave them out.
_WITHOUT_TENSORS: dict[str, Any] = {
    name: False
    for name in ("serialize_state_dict", "serialize_constants")
    if name in inspect.signature(serialize).parameters
}
_ALIGNMENT = 64
_PADDING = 0x4F53  # the id of the extra field that only fills
_CODES = {name: code for code, (name, _) in DTYPES.items()}


def write_archive(
    path: Path,
    programs: Mapping[str, ExportedProgram],
    metadata: dict[str, Any],
    examples: Mapping[str, bytes],
) -> None:
    """Write ``programs`` (name in the archive → program), metadata and tensors of examples to ``path``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, strict_timestamps=False) as file:
        writer = _Writer(file)
        for name, content in (
            ("archive_format", b"pt2"),
            ("archive_version", b"0"),
            ("byteorder", b"little"),
            (".data/version", b"6\n"),
        ):
            writer.entry(name, content)
        for name, program in programs.items():
            writer.program(name, program)
        writer.entry(f"extra/{METADATA}", _json(metadata))
        for name, content in examples.items():
            writer.entry(EXAMPLES + name, content)


class _Writer:
    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        # folder, bytes' digest, dtype, names that share them → name of the entry
        self._written: dict[tuple[str, bytes, torch.dtype, tuple[str, ...]], str] = {}

    def entry(self, name: str, content: Any) -> None:
        info = zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0))
        info.external_attr = 0o644 << 16
        assert self._file.fp is not None
        start = self._file.fp.tell() + 30 + len(info.filename) + 4
        padding = -start % _ALIGNMENT
        info.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
        self._file.writestr(info, content)

    def program(self, name: str, program: ExportedProgram) -> None:
        for each in (*program.state_dict.items(), *program.constants.items()):
            _check_plain(*each)
        document = trim(json.loads(_serialized(name, program)))
        self.entry(f"models/{name}.json", _json(document))
        self.entry(f"data/sample_inputs/{name}.pt", b"")
        weights = self._payloads(program.state_dict, WEIGHTS, "weight_")
        self.entry(f"{WEIGHTS}{name}_weights_config.json", _json(weights))
        constants = self._payloads(program.constants, CONSTANTS, "tensor_")
        self.entry(f"{CONSTANTS}{name}_constants_config.json", _json(constants))

    def _payloads(self, tensors: Mapping[str, Any], folder: str, prefix: str) -> dict[str, Any]:
        groups: dict[Any, list[str]] = {}
        for name, tensor in tensors.items():
            storage = tensor.untyped_storage().data_ptr() if tensor.device.type == "cpu" else 0
            groups.setdefault((storage or name, tensor.dtype), []).append(name)
        config: dict[str, Any] = {}
        for names in groups.values():
            group = {name: tensors[name].detach().cpu() for name in names}
            start, content = _span(list(group.values()))
            entry = self._store(folder, prefix, content, group)
            for name, tensor in group.items():
                config[name] = _payload(entry, tensors[name], tensor, start)
        return {"config": config}

    def _store(self, folder: str, prefix: str, content: Any, group: dict[str, torch.Tensor]) -> str:
        dtype = next(iter(group.values())).dtype
        key = (folder, hashlib.sha256(content).digest(), dtype, tuple(sorted(group)))
        if key not in self._written:
            name = f"{prefix}{len(self._written)}"
            self.entry(folder + name, content)
            self._written[key] = name
        return self._written[key]


def _serialized(name: str, program: ExportedProgram) -> bytes:
    bare = copy.copy(program)
    bare.example_inputs = None
    try:
        artifact = serialize(bare, **_WITHOUT_TENSORS)
    except Exception as error:
        last = [line for line in str(error).splitlines() if line.strip()][-1:]
        reason = f"{type(error).__name__}: {''.join(last).strip()}"
        raise fail("export.unserializable", model=name, reason=reason) from error
    content: bytes = artifact.exported_program
    return content


def _check_plain(name: str, tensor: Any) -> None:
    plain = (
        isinstance(tensor, torch.Tensor)
        and type(tensor.data) is torch.Tensor
        and not isinstance(tensor, FakeTensor)
        and tensor.layout == torch.strided
        and not tensor.is_quantized
        and dtype_name(tensor.dtype) in _CODES
    )
    if not plain:
        kind = type(tensor).__name__
        if isinstance(tensor, torch.Tensor):
            kind += f" of layout {tensor.layout} and dtype {dtype_name(tensor.dtype)}"
        raise fail("export.weight", name=name, kind=kind)


def _span(tensors: list[torch.Tensor]) -> tuple[int, Any]:
    """The part of their common storage that the tensors use: its first element, and its bytes."""
    itemsize = tensors[0].element_size()
    used = [each for each in tensors if each.numel()]
    if not used:
        return 0, b""
    start = min(int(each.storage_offset()) for each in used)
    end = max(
        int(each.storage_offset())
        + 1
        + sum((size - 1) * stride for size, stride in zip(each.shape, each.stride(), strict=True))
        for each in used
    )
    nbytes = (end - start) * itemsize
    raw = torch.empty(0, dtype=torch.uint8)
    raw.set_(used[0].untyped_storage(), start * itemsize, (nbytes,), (1,))
    content: Any = raw.numpy()
    return start, memoryview(content)


def _payload(entry: str, original: torch.Tensor, tensor: torch.Tensor, start: int) -> dict[str, Any]:
    offset = tensor.storage_offset() - start if tensor.numel() else 0
    return {
        "path_name": entry,
        "is_param": isinstance(original, torch.nn.Parameter),
        "use_pickle": False,
        "tensor_meta": {
            "dtype": _CODES[dtype_name(tensor.dtype)],
            "sizes": [{"as_int": size} for size in tensor.shape],
            "requires_grad": original.requires_grad,
            "device": {"type": original.device.type, "index": original.device.index},
            "strides": [{"as_int": stride} for stride in tensor.stride()],
            "storage_offset": {"as_int": offset},
            "layout": STRIDED,
        },
    }


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
