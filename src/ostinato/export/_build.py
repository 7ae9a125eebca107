"""From vetted documents to programs, without a pickle anywhere."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass
from torch.export import ExportedProgram

from .. import _lowering
from .._errors import OstinatoError, fail
from ._stand_ins import restore, true_view
from ._vet import DTYPES, VettedArchive, VettedModel, extent, feature_of, schema_name
from ._vet._archive import CONSTANTS, WEIGHTS
from ._vet._program import arguments, every_node, weight_dtypes


class Builder:
    """Builds the programs of one archive; tensors of one name and the same bytes become one tensor."""

    def __init__(self, archive: VettedArchive) -> None:
        self._archive = archive
        self._storages: dict[tuple[str, tuple[str, ...]], torch.Tensor] = {}
        self._tensors: dict[tuple[str, str, tuple[str, ...], str, str | None], torch.Tensor] = {}

    def build(self, model: VettedModel, dtypes: Mapping[str, str] | None = None) -> ExportedProgram:
        """The program; ArchiveError where torch does not accept it or lacks one of its operators.

        ``dtypes`` are the values that have another dtype than the document says.
        """
        self._check_registered(model)
        dtypes = dtypes or {}
        own = weight_dtypes(model.document, dtypes)
        try:
            program = ExportedProgramDeserializer().deserialize(
                _dict_to_dataclass(schema.ExportedProgram, model.document),
                self._tensors_of(model.weights, WEIGHTS, own),
                self._tensors_of(model.constants, CONSTANTS, own),
                None,
            )
            restore(program, dtypes)
            _lowering.restore(program)
            return program
        except OstinatoError:
            raise
        except Exception as error:  # a document of the right form may still make no sense
            last = [line.strip() for line in str(error).splitlines() if line.strip()][-1:]
            reason = f"{type(error).__name__}: {''.join(last)}"[:300]
            raise fail("export.senseless", path=self._archive.path, model=model.name, reason=reason) from None

    def _check_registered(self, model: VettedModel) -> None:
        for target in _operators(model.document):
            name = schema_name(target)
            if name is None:
                continue
            feature = feature_of(target)
            if feature is not None:  # whose operators exist once it is imported
                importlib.import_module(f"ostinato.{feature}")
            try:
                torch._C._dispatch_find_schema_or_throw(*name)
            except RuntimeError:
                raise fail(
                    "export.unregistered", path=self._archive.path, model=model.name, operator=target
                ) from None

    def _tensors_of(
        self, config: dict[str, Any], folder: str, dtypes: Mapping[str, str]
    ) -> dict[str, torch.Tensor]:
        sharers: dict[str, list[str]] = {}
        for name, payload in config.items():
            sharers.setdefault(payload["path_name"], []).append(name)
        return {
            name: self._tensor(
                name, payload, folder, tuple(sorted(sharers[payload["path_name"]])), dtypes.get(name)
            )
            for name, payload in config.items()
        }

    def _tensor(
        self, name: str, payload: dict[str, Any], folder: str, sharers: tuple[str, ...], dtype: str | None
    ) -> torch.Tensor:
        entry = folder + payload["path_name"]
        key = (name, entry, sharers, repr(payload), dtype)
        if key not in self._tensors:
            storage = self._storage(entry, payload["tensor_meta"], sharers)
            tensor = _view(storage, payload)
            self._tensors[key] = tensor if dtype is None else true_view(tensor, dtype)
        return self._tensors[key]

    def _storage(self, entry: str, meta: dict[str, Any], sharers: tuple[str, ...]) -> torch.Tensor:
        # Names that share bytes in one program alias each other. Two programs share the bytes of an entry
        # only where they bind the same names to it: equal bytes alone (two states of zeros) are no alias.
        if (entry, sharers) not in self._storages:
            dtype = getattr(torch, DTYPES[meta["dtype"]][0])
            content = self._archive.read(entry)
            flat = torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)
            device = meta["device"]
            if device["type"] != "cpu":
                flat = self._move(flat, device)
            self._storages[entry, sharers] = flat
        return self._storages[entry, sharers]

    def _move(self, flat: torch.Tensor, device: dict[str, Any]) -> torch.Tensor:
        index = device.get("index")
        name = device["type"] if index is None else f"{device['type']}:{index}"
        try:
            return flat.to(name)
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise fail("export.device", path=self._archive.path, device=name, reason=reason) from None


def _view(storage: torch.Tensor, payload: dict[str, Any]) -> torch.Tensor:
    meta = payload["tensor_meta"]
    sizes, strides, offset, _ = extent(meta)
    tensor = torch.as_strided(storage, sizes, strides, offset)
    if payload["is_param"]:
        return torch.nn.Parameter(tensor, requires_grad=meta["requires_grad"])
    return tensor.requires_grad_(meta["requires_grad"])


def _operators(document: dict[str, Any]) -> set[str]:
    """Every operator that a vetted program names, as a target or as an argument."""
    found = set()
    for node in every_node(document):
        found.add(node["target"])
        found.update(each["as_operator"] for each in arguments(node) if "as_operator" in each)
    return found
