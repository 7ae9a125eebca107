"""What an archive holds, whichever way it is stored: code or bytecode, the objects, the constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._errors import fail
from ._archive import MAX_PICKLE, Archive
from ._archive_bytecode import Malformed, methods
from ._archive_data import EnumRef, Instance, Refused
from ._archive_lite import Lite
from ._archive_pickle import MAX_DEPTH, read_pickle
from ._code import Code
from ._names import PACKED, PACKED_PREFIX


@dataclass(frozen=True)
class Contents:
    """``instances`` are the objects in ``data`` but those of torch's own classes, outermost first.

    ``enumerations`` are those of the values in ``data``.
    """

    data: Instance
    instances: list[Instance]
    enumerations: list[str]
    code: Code | Lite


def contents(archive: Archive) -> Contents:
    """Reads everything but the storages; ArchiveError where it contradicts itself."""
    if not archive.code_files() and "bytecode.pkl" not in archive.entries:
        raise fail("torchscript.no_code", path=archive.path)
    data = read_data(archive, "data.pkl")
    if not isinstance(data, Instance):
        raise archive.damaged("its data is not a module")
    found, enumerations = objects(archive, data)
    instances = [each for each in found if not is_packed(each)]
    code = Code(archive) if archive.code_files() else _lite(archive, instances)
    return Contents(data, instances, enumerations, code)


def constants(archive: Archive, code: Code | Lite) -> tuple[list[Any], str]:
    """What the code refers to by number, and the folder with its tensors."""
    if isinstance(code, Lite):
        own = any(name.startswith("bytecode/") for name in archive.entries)
        return code.constants, "bytecode" if own else "constants"
    if "constants.pkl" not in archive.entries:
        return [], "constants"
    stored = read_data(archive, "constants.pkl")
    if not isinstance(stored, (tuple, list)):
        raise archive.damaged("its constants are not a list")
    return list(stored), "constants"


def _lite(archive: Archive, instances: list[Instance]) -> Lite:
    try:
        found = methods(read_data(archive, "bytecode.pkl"))
    except Malformed as error:
        raise archive.damaged(str(error)) from None
    return Lite(archive, found, instances)


def read_data(archive: Archive, entry: str) -> Any:
    """The inert data of one of the archive's pickles."""
    try:
        return read_pickle(archive.read(entry, MAX_PICKLE))
    except Refused as refusal:
        raise fail("torchscript.pickle", path=archive.path, entry=entry, what=refusal) from None


def objects(archive: Archive, root: Any) -> tuple[list[Instance], list[str]]:
    """Every object of the archive's data, each once, outermost first, and the enumerations of its values.

    Raises ArchiveError for cycles and for endless nesting.
    """
    enumerations: dict[str, None] = {}
    found: list[Instance] = []
    done: set[int] = set()
    open_: set[int] = set()

    def visit(value: Any, depth: int) -> None:
        if isinstance(value, EnumRef):
            enumerations[value.cls] = None
        if not isinstance(value, (Instance, list, tuple, dict)) or id(value) in done:
            return
        if depth > MAX_DEPTH or id(value) in open_:
            raise fail("torchscript.too_deep", path=archive.path, what="its data")
        open_.add(id(value))
        if isinstance(value, Instance):
            found.append(value)
            visit(value.state, depth + 1)
        else:
            for each in value.values() if isinstance(value, dict) else value:
                visit(each, depth + 1)
        open_.discard(id(value))
        done.add(id(value))

    visit(root, 0)
    return found, list(enumerations)


def is_packed(instance: Instance) -> bool:
    """Whether an object is of a class of torch's own, which holds packed parameters."""
    return instance.cls.removeprefix(PACKED_PREFIX) in PACKED
