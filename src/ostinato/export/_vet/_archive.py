"""The whole file: its layout, and everything in it that will be interpreted."""

from __future__ import annotations

import mmap
import os
import re
from dataclasses import dataclass
from typing import Any

from ..._errors import OstinatoError, fail
from ._names import MODEL_NAME
from ._payload import bound, payload_config
from ._program import program, trim
from ._types import MAX_DOCUMENT, Bad, parse_json
from ._zip import Zip

METADATA = "ostinato.json"
MAX_MODELS = 1000
WEIGHTS, CONSTANTS = "data/weights/", "data/constants/"
EXAMPLES = "data/example/"
_COMPILED = "data/aotinductor/"
_MODEL = re.compile(rf"models/({MODEL_NAME})\.json", re.ASCII)
# Sample inputs are pickles: they may lie in a file, and are never read.
_KNOWN = re.compile(
    r"models/[^/]+\.json|data/(weights|constants)/[^/]+|data/(sample_inputs/[^/]+\.pt|example/[^/]+/\d+)|extra/.+"
    r"|\.data/(version|serialization_id|alignment)|\.format_version|\.storage_alignment|version|byteorder"
    r"|archive_format|archive_version"
)
_TABLE = {WEIGHTS: "_weights_config.json", CONSTANTS: "_constants_config.json"}
_PREFIX = {WEIGHTS: "weight_", CONSTANTS: "tensor_"}


@dataclass(frozen=True)
class VettedModel:
    """One program of a file, all of it checked: torch's document and its two tables of tensors."""

    name: str
    document: dict[str, Any]
    weights: dict[str, Any]
    constants: dict[str, Any]


class VettedArchive:
    """A file whose container, programs and tables have been checked; nothing in it has been run.

    ``models`` maps a name to its `VettedModel`; ``metadata`` is the parsed
    ``extra/ostinato.json``, None where the file has none. Needs no torch.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self._zip = Zip(path)
        except Bad as bad:
            raise self._refusal(bad) from None
        except OSError as error:
            raise fail("export.unreadable", path=self.path, reason=error.strerror or error) from None
        try:
            self._vet_layout()
            self.metadata = (
                self._json(f"extra/{METADATA}") if f"extra/{METADATA}" in self._zip.sizes else None
            )
        except Bad as bad:
            self.close()
            raise self._refusal(bad) from None

    def vet_models(self) -> dict[str, VettedModel]:
        """Check every program of the file; raises ArchiveError at the first that is refused."""
        try:
            return {name: self._vet_model(name) for name in self._model_names()}
        except Bad as bad:
            raise self._refusal(bad) from None

    def read(self, name: str) -> bytearray | mmap.mmap:
        """The bytes of an entry that `vet_models` has found to be there, in memory of their own."""
        try:
            return self._zip.read(name)
        except Bad as bad:
            raise self._refusal(bad) from None

    @property
    def examples(self) -> set[str]:
        """The names of the tensors of examples, which `example` reads."""
        return {name[len(EXAMPLES) :] for name in self._zip.sizes if name.startswith(EXAMPLES)}

    def example(self, name: str) -> bytearray | mmap.mmap:
        """The bytes of one of ``examples``."""
        return self.read(EXAMPLES + name)

    def close(self) -> None:
        self._zip.__exit__(None, None, None)

    def __enter__(self) -> VettedArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refusal(self, bad: Bad) -> OstinatoError:
        hint = bad.hint or "get the file again from its source, or write it anew with ost.export.save"
        return fail("export.refused", path=self.path, what=str(bad), hint=hint)

    def _vet_layout(self) -> None:
        for name in self._zip.sizes:
            if name.startswith(_COMPILED):
                raise Bad(
                    f"the entry {name} is compiled by AOTInductor: loading it would run native code",
                    hint="use torch._inductor.aoti_load_package, if you trust whoever made the file",
                )
            if not _KNOWN.fullmatch(name):
                raise Bad(f"the entry {name} is of a kind that is not read")
        for name, expected in (
            ("archive_format", b"pt2"),
            ("archive_version", b"0"),
            ("byteorder", b"little"),
        ):
            found = self._small(name)
            if found != expected and not (found is None and name == "byteorder"):
                raise Bad(f"{name} is {found!r}, not {expected!r}")

    def _small(self, name: str) -> bytes | None:
        size = self._zip.sizes.get(name)
        if size is None or size > 100:
            return None
        return bytes(self._zip.read(name))

    def _model_names(self) -> list[str]:
        entries = [name for name in self._zip.sizes if name.startswith("models/")]
        if not 0 < len(entries) <= MAX_MODELS:
            raise Bad(f"{len(entries)} programs; from 1 to {MAX_MODELS} are read")
        names = []
        for entry in entries:
            match = _MODEL.fullmatch(entry)
            if match is None:
                raise Bad(f"the entry {entry} has a name that no program needs")
            names.append(match[1])
        return names

    def _json(self, name: str) -> Any:
        if name not in self._zip.sizes:
            raise Bad(f"the entry {name} is missing")
        if self._zip.sizes[name] > MAX_DOCUMENT:
            raise Bad(f"the entry {name} is larger than the {MAX_DOCUMENT} bytes that are read")
        try:
            return parse_json(bytes(self._zip.read(name)))
        except Bad as bad:
            raise bad.inside(name) from None

    def _vet_model(self, name: str) -> VettedModel:
        document = self._json(f"models/{name}.json")
        weights, constants = self._table(name, WEIGHTS), self._table(name, CONSTANTS)
        try:
            program(document)
            bound(document, weights, constants)
        except Bad as bad:
            raise bad.inside(f"models/{name}.json") from None
        except RecursionError:
            raise Bad("nested too deeply").inside(f"models/{name}.json") from None
        return VettedModel(name, trim(document), weights, constants)

    def _table(self, model: str, folder: str) -> dict[str, Any]:
        entry = f"{folder}{model}{_TABLE[folder]}"
        if f"{folder}{model}.pt" in self._zip.sizes:
            raise Bad(f"{folder}{model}.pt holds pickled tensors, which are not read")
        table = self._json(entry)
        try:
            payload_config(table, _PREFIX[folder], lambda name: self._zip.sizes.get(folder + name))
        except Bad as bad:
            raise bad.inside(entry) from None
        config: dict[str, Any] = table["config"]
        return config
