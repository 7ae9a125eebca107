"""The code that a model reaches, translated: what ``load`` runs and ``source`` rewrites.  Needs no torch."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from .._errors import OstinatoError, fail
from ._archive import Archive
from ._archive_lite import Lite
from ._code import Class, Function
from ._contents import constants, contents, objects
from ._names import PACKED_PREFIX, RENAMED, unsupported
from ._translate import Translator

# What the globals of operators and constants begin with; no class or function of an archive may.
_PREFIXES = ("aten__", "prim__", "math__", "CONSTANTS__")
_CONSTANT = re.compile(r"c(0|[1-9][0-9]{0,6})", re.ASCII)


@dataclass
class Unit:
    """One translated function: the global it defines, and the method it is where it is one."""

    name: str
    written: Function
    owner: Class | None
    tree: ast.FunctionDef


class Program:
    """The translated code of an archive, from the classes of its data onwards.

    ``units`` are the functions in the order they were reached, ``classes`` the classes by full name,
    ``operators`` the globals that stand for operators, and their names: ``aten__relu`` → ``aten::relu``.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.version = archive.version
        held = contents(archive)
        self.code, self.data, self.instances = held.code, held.data, held.instances
        if isinstance(held.code, Lite):
            from ._bytecode import write_bodies  # asks torch for the operators' arguments

            write_bodies(held.code)
        self.constants, self.folder = constants(archive, held.code)
        self.units: list[Unit] = []
        self.classes: dict[str, Class] = {}
        self.operators: dict[str, str] = {}
        self.used_constants: dict[str, int] = {}
        self.references: dict[str, str] = {}
        self._sites: dict[str, tuple[str, int]] = {}
        self._taken: set[str] = {"math__inf", "math__nan"}
        self._queue: list[tuple[str, Function, Class | None]] = []
        for instance in self.instances:
            self.reference(instance.cls)
        for name in (*held.enumerations, *objects(archive, self.constants)[1]):
            self.reference(name)
        self._translate()

    def _translate(self) -> None:
        at = 0
        try:
            while at < len(self._queue):
                name, function, owner = self._queue[at]
                at += 1
                tree = Translator(self, function, owner).translate(name)
                self.units.append(Unit(name, function, owner, tree))
        except RecursionError:
            raise fail("torchscript.too_deep", path=self.archive.path, what="its code") from None

    def _allocate(self, wanted: str) -> str:
        if wanted.startswith(_PREFIXES):
            wanted = f"code__{wanted}"
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    # ---- what a translation asks for ----

    def error(self, file: str, line: int, what: str) -> OstinatoError:
        """The error for code that may not be run."""
        return self.code.error(file, line, what)

    def reference(self, name: str) -> str:
        """The global for a class or function of the archive; its code is translated too."""
        if name in self.references:
            return self.references[name]
        found = self.code.find(name)
        if found is None and name.startswith(PACKED_PREFIX):
            what = name.removeprefix("__torch__.")[:200]
            raise fail("torchscript.foreign_class", path=self.archive.path, what=what)
        if found is None:
            raise fail("torchscript.missing_code", path=self.archive.path, name=name[:200])
        parts = [part for part in name.split(".") if not part.startswith("___torch_mangle_")]
        if isinstance(found, Class):
            known = self._allocate(f"class__{parts[-1]}")
            self.classes[name] = found
            if found.kind != "interface":
                for method in found.methods.values():
                    short = method.node.name.strip("_") or "method"
                    self._queue.append((self._allocate(f"{parts[-1]}__{short}"), method, found))
        else:
            known = self._allocate(f"{parts[-2].strip('_') or 'code'}__{parts[-1]}")
            self._queue.append((known, found, None))
        self.references[name] = known
        return known

    def constant(self, name: str) -> str:
        """The global for a constant of the archive."""
        match = _CONSTANT.fullmatch(name)
        if match is None or int(match[1]) >= len(self.constants):
            raise fail("torchscript.missing_code", path=self.archive.path, name=f"CONSTANTS.{name[:80]}")
        known = f"CONSTANTS__{name}"
        self.used_constants[known] = int(match[1])
        return known

    def enumeration(self, name: str) -> frozenset[str]:
        """The members of the archive's enumeration of this full name; none where it is no enumeration."""
        found = self.code.find(name)
        if not isinstance(found, Class) or found.kind != "enum":
            return frozenset()
        return frozenset(found.constants)

    def helper(self, name: str) -> str:
        """The global for a primitive that translated code uses and archives do not name."""
        known = f"prim__{name}"
        self.operators[known] = f"prim::{name}"
        return known

    def operator(self, name: str, file: str, line: int) -> str:
        """The global for an operator; ArchiveError where none is known."""
        hint = unsupported(name)
        if hint is not None:
            raise self.no_operator(name, file, line, hint)
        name = RENAMED.get(name, name)
        space, _, short = name.partition("::")
        known = f"{space}__{short.lstrip('_') if short.startswith('__') else short}"
        self.operators[known] = name
        self._sites.setdefault(known, (file, line))
        return known

    def no_operator(self, name: str, file: str, line: int, hint: str) -> OstinatoError:
        """The error for an operator that cannot be run, with the place where the archive uses it."""
        values = {"path": self.archive.path, "file": file, "line": line, "operator": name[:120], "hint": hint}
        return fail("torchscript.operator", **values)

    def site(self, known: str) -> tuple[str, int]:
        """The file and line of the archive where an operator was first met."""
        return self._sites.get(known, ("", 0))
