"""The archive's code as declarations: classes with attributes and methods, and free functions.

Nothing is run: the text is parsed, and only the statements that TorchScript writes are taken.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .._errors import OstinatoError, fail
from ._archive import Archive

# A statement that strings together more operations than this is not parsed: the parser of some Python
# versions recurses once an operation without a limit of its own.
_MAX_CHAIN = 4000
_TEXTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*')
_SHAPE = re.compile(
    r"(?P<open>[\[({])|(?P<close>[\])}])|(?P<line>\n)|(?P<chain>\.(?=[A-Za-z_])|[-+*/%&|^~@<>=]|\bnot\b|\blambda\b)"
)
_BASES = {
    "Module": "module",
    "NamedTuple": "namedtuple",
    "Interface": "interface",
    "ModuleInterface": "interface",
    "Enum": "enum",
}
# Lists of names in a class, and the fields that keep them.
_LISTS = {
    "__parameters__": "parameters",
    "__buffers__": "buffers",
    "__forward_pre_hooks__": "pre_hooks",
    "__forward_hooks__": "hooks",
}


@dataclass
class Function:
    """A function or method: where it stands and what was written."""

    name: str
    file: str
    node: ast.FunctionDef


@dataclass
class Class:
    """A class: ``attributes`` maps names to types, ``constants`` the final ones to their values.

    ``pre_hooks`` and ``hooks`` are methods that a call runs before and after ``forward``.
    """

    name: str
    file: str
    kind: str
    line: int
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] | None = None
    pre_hooks: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    methods: dict[str, Function] = field(default_factory=dict)

    @property
    def members(self) -> frozenset[str]:
        """Every name that may follow a dot on an object of this class."""
        if self.kind == "enum":
            return frozenset(("name", "value"))
        return frozenset(self.attributes) | frozenset(self.methods)

    def buffer_names(self) -> tuple[str, ...]:
        """The names of buffers; archives of 2019 do not list them, so there every other tensor is one."""
        if self.buffers is not None:
            return self.buffers
        tensors = (n for n, t in self.attributes.items() if isinstance(t, ast.Name) and t.id == "Tensor")
        return tuple(name for name in tensors if name not in self.parameters)


class Code:
    """All code of an archive, parsed a file at a time when something in it is asked for."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self._files: dict[str, dict[str, Class | Function]] = {}

    def find(self, name: str) -> Class | Function | None:
        """The class or function with this full name, ``__torch__.package.module.Name``."""
        prefix = name.rpartition(".")[0]
        file = "code/" + prefix.replace(".", "/") + ".py"
        if file not in self.archive.entries:
            return None
        return self.definitions(file).get(name)

    def definitions(self, file: str) -> dict[str, Class | Function]:
        """Everything that one file defines, by full name."""
        if file not in self._files:
            self._files[file] = self._parse(file)
        return self._files[file]

    def classes(self) -> list[Class]:
        """Every class of the archive."""
        found = (each for file in self.archive.code_files() for each in self.definitions(file).values())
        return [each for each in found if isinstance(each, Class)]

    def operators(self) -> Counter[str]:
        """The operators that the code names, and how often."""
        found: Counter[str] = Counter()
        for file in self.archive.code_files():
            for function in self._functions(file):
                for node in ast.walk(function):
                    chain = chain_of(node.func) if isinstance(node, ast.Call) else []
                    if chain[:1] == ["torch"] and len(chain) == 2:
                        found[f"aten::{chain[1]}"] += 1
                    elif chain[:1] == ["ops"] and len(chain) == 3:
                        found[f"{chain[1]}::{chain[2]}"] += 1
        return found

    def _functions(self, file: str) -> list[ast.FunctionDef]:
        """Every function and method that one file defines."""
        found = []
        for each in self.definitions(file).values():
            methods = each.methods.values() if isinstance(each, Class) else (each,)
            found += [method.node for method in methods]
        return found

    def error(self, file: str, line: int, what: str) -> OstinatoError:
        """The error for code that may not be run."""
        return fail("torchscript.syntax", path=self.archive.path, file=file, line=line, what=what)

    def _parse(self, file: str) -> dict[str, Class | Function]:
        text = self.archive.text(file)
        self._vet_shape(file, text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except SyntaxError as error:
            raise self.error(file, error.lineno or 0, f"it cannot be parsed ({error.msg})") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise self.error(file, 0, f"it cannot be parsed ({type(error).__name__})") from None
        prefix = file[len("code/") : -len(".py")].replace("/", ".")
        found: dict[str, Class | Function] = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                name = f"{prefix}.{node.name}"
                value: Class | Function = self._class(name, file, node)
            elif isinstance(node, ast.FunctionDef):
                name = f"{prefix}.{node.name}"
                value = self._function(name, file, node)
            elif isinstance(node, ast.Import) or _is_version(node):
                continue  # archives of 2019 list here what they refer to by full name anyway
            else:
                raise self.error(file, node.lineno, f"a {type(node).__name__} stands outside a function")
            if name in found:
                raise self.error(file, node.lineno, f"{node.name} is defined twice")
            found[name] = value
        return found

    def _vet_shape(self, file: str, text: str) -> None:
        depth = count = 0
        line = 1
        for match in _SHAPE.finditer(_TEXTS.sub('""', text)):
            kind = match.lastgroup
            if kind == "line":
                line += 1
                if depth <= 0:
                    count = 0
                continue
            depth += {"open": 1, "close": -1}.get(kind or "", 0)
            count += kind != "close"
            if count > _MAX_CHAIN:
                raise self.error(file, line, f"a statement has more than {_MAX_CHAIN} operations")

    def _function(self, name: str, file: str, node: ast.FunctionDef) -> Function:
        spec = node.args
        if node.decorator_list or spec.vararg or spec.kwarg or spec.posonlyargs:
            raise self.error(file, node.lineno, f"{node.name} is not a plain function")
        return Function(name, file, node)

    def _class(self, name: str, file: str, node: ast.ClassDef) -> Class:
        bases = [base.id if isinstance(base, ast.Name) else "?" for base in node.bases]
        kind = "object" if not bases else _BASES.get(bases[0])
        if kind is None or len(bases) > 1 or node.decorator_list or node.keywords:
            raise self.error(file, node.lineno, f"the class {node.name} has the base {', '.join(bases)}")
        found = Class(name, file, kind, node.lineno)
        for part in node.body:
            self._member(found, part)
        return found

    def _member(self, owner: Class, part: ast.stmt) -> None:
        if isinstance(part, ast.FunctionDef):
            if part.name in owner.methods:
                raise self.error(owner.file, part.lineno, f"the method {part.name} is defined twice")
            method = self._function(f"{owner.name}.{part.name}", owner.file, part)
            if owner.kind != "interface" and not part.args.args:
                raise self.error(owner.file, part.lineno, f"the method {part.name} has no self")
            owner.methods[part.name] = method
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            name, kind = part.target.id, part.annotation
            if part.value is None:
                owner.attributes[name] = kind
            else:
                owner.constants[name] = self._literal(owner, part.value)
                owner.attributes[name] = kind.slice if isinstance(kind, ast.Subscript) else kind
        elif isinstance(part, ast.Assign) and len(part.targets) == 1 and owner.kind == "enum":
            target = part.targets[0]
            if not isinstance(target, ast.Name) or "__" in target.id or target.id.startswith("_"):
                raise self.error(owner.file, part.lineno, "an enumeration has a member without a name")
            owner.constants[target.id] = self._literal(owner, part.value)
        elif isinstance(part, ast.Assign) and len(part.targets) == 1:
            self._listed(owner, part.targets[0], part.value)
        elif not isinstance(part, ast.Pass):
            raise self.error(owner.file, part.lineno, f"a {type(part).__name__} stands in a class")

    def _listed(self, owner: Class, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id in _LISTS:
            names = self._literal(owner, value)
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise self.error(owner.file, value.lineno, f"{target.id} is not a list of names")
            setattr(owner, _LISTS[target.id], tuple(names))
        elif isinstance(target, ast.Name) and target.id == "__annotations__":
            self._literal(owner, value)  # an empty list before the first annotation
        elif isinstance(target, ast.Subscript) and _is_annotations(target.value):
            name = self._literal(owner, target.slice)
            if not isinstance(name, str):
                raise self.error(owner.file, target.lineno, "an annotation has no name")
            owner.attributes[name] = value
        else:
            raise self.error(owner.file, target.lineno, "a class assigns something")

    def _literal(self, owner: Class, node: ast.expr) -> Any:
        try:
            return literal(node)
        except ValueError:
            raise self.error(owner.file, node.lineno, "a constant is no literal") from None


def literal(node: ast.expr) -> Any:
    """The value of a literal of TorchScript (numbers, texts, None, tuples, lists); ValueError otherwise."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex, str, type(None))):
        return node.value
    if isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand)
        if isinstance(value, (int, float, complex)):
            return -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):  # 0.+2.j
        real, imaginary = literal(node.left), literal(node.right)
        if isinstance(real, (int, float)) and isinstance(imaginary, complex):
            sign = -1.0 if isinstance(node.op, ast.Sub) else 1.0
            return complex(real, sign * imaginary.imag)
    if isinstance(node, ast.Tuple):
        return tuple(literal(each) for each in node.elts)
    if isinstance(node, ast.List):
        return [literal(each) for each in node.elts]
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called == "annotate":
            return literal(node.args[1])
    raise ValueError("no literal")


def _is_version(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "op_version_set"
        and isinstance(node.value, ast.Constant)
    )


def _is_annotations(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__annotations__"


def chain_of(node: ast.expr) -> list[str]:
    """The parts of a dotted name, first to last; empty where it is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    return [node.id, *reversed(parts)]


def is_special(name: str) -> bool:
    """Whether a name lies between double underscores, where Python keeps what code must not reach."""
    return name.startswith("__") and name.endswith("__")
