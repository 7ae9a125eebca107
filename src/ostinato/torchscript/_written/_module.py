"""The written module: imports, operators' functions, functions, classes, and what builds the model."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Hashable, Iterator
from typing import Any

import torch

from ..._errors import fail
from .._code import Class
from .._load import Loader
from .._operators import ATEN
from .._program import Program, Unit
from ._build import Builder, argument, call, parts
from ._head import OWN, head, joined
from ._helpers import Library
from ._layout import block, function, laid
from ._merge import representatives
from ._rewrite import Rewriter
from ._simplify import simplified
from ._spelling import Global, is_plain, spelled
from ._tensors import Tensors
from ._tidy import inlined, renamed, with_conditions, without_unused
from ._weights import NAMES, READER

_FIXED = frozenset(
    {"torch", "nn", "F", "math", "json", "enum", "collections", "functools", "Tensor", "Any", "Callable"}
    | {"Model", "load", "read_weights", "one_weight", "weights", "model", "path", "CONSTANTS", "DTYPES"}
)
# What is left after aten:: and prim::.
_PACKED = "packed operator"


def written(program: Program) -> tuple[str, dict[str, torch.Tensor]]:
    """The text of the module for an archive, and the tensors that its ``load`` wants from a file."""
    loader = Loader(program)
    root = loader.module()
    return _Writer(program, loader, root).text()


class _Writer:
    def __init__(self, program: Program, loader: Loader, root: torch.nn.Module) -> None:
        self._program, self._loader, self._root = program, loader, root
        self._library = Library(program.version)
        self._needed: dict[str, None] = {}
        self._of_class = {id(cls): name for name, cls in loader.classes.items()}
        self._objects = {name: [] for name in program.classes}  # type: dict[str, list[Any]]
        for made in loader.objects():
            self._objects[self._of_class[id(type(made))]].append(made)
        shapes = {name: _shape(made) for name, made in self._objects.items()}
        self._chosen = representatives(program, shapes)
        self._finals = self._allocated()
        self._tables: dict[str, ast.expr] = {}
        taken = {*_FIXED, *dir(builtins), *Library.reserved(), *self._finals.values()}
        self._builder = Builder(program.archive.path, self._class_name, self._arguments, self.needs, taken)

    def _allocated(self) -> dict[str, str]:
        """A name for each class and function that is written."""
        taken = {*_FIXED, *OWN, *dir(builtins), *Library.reserved()}
        found: dict[str, str] = {}
        full = {known: name for name, known in self._program.references.items()}
        for known in dict.fromkeys(self._chosen.values()):
            wanted = re.sub(r"\W", "_", full[known].rpartition(".")[2], flags=re.ASCII).lstrip("_") or "code"
            name, count = wanted, 1
            while name in taken or not name.isidentifier() or not is_plain(name):
                count += 1
                name = f"{wanted}_{count}" if name.isidentifier() else f"code_{wanted}_{count}"
            taken.add(name)
            found[known] = name
        return found

    # ---- what functions ask for ----

    def operator(self, known: str) -> str:
        """The name for an operator's function."""
        return self._imported(self._library.name(self._program.operators[known]))

    def torch_function(self, known: str) -> str | None:
        """torch's own name for an operator; None where a function of ours is called."""
        space, _, short = self._program.operators[known].partition("::")
        return None if space == "prim" or short in ATEN else self.operator(known)

    def tensor_function(self, known: str) -> str | None:
        """torch's name for an operator on a tensor, where ours takes numbers too."""
        found = self._library.tensor_name(self._program.operators[known])
        return found and self._imported(found)

    def needs(self, name: str) -> str:
        """The name itself, of which the module will have the import or definition."""
        return self._imported(name)

    def _imported(self, name: str) -> str:
        self._needed[name.split(".")[0]] = None
        return name

    def is_tensor(self, known: str) -> bool:
        """Whether a constant is, or holds, tensors: those lie in the file."""
        return _holds_tensor(self._loader.constant(known))

    def constant(self, known: str) -> ast.expr:
        """The expression for a constant."""
        value = self._loader.constant(known)
        if not _holds_tensor(value):
            return self._builder.expression(value, known)
        short = known.partition("__")[2]
        if short not in self._tables:
            self._tables[short] = self._builder.expression(value, f"CONSTANTS.{short}")
        return ast.Subscript(value=Global(id="CONSTANTS"), slice=ast.Constant(value=short), ctx=ast.Load())

    def definition(self, known: str) -> str:
        """The name of a class or function; ArchiveError for an operator that is not written."""
        if known in self._program.operators:
            name = self._program.operators[known]
            raise fail("torchscript.unwritten", path=self._program.archive.path, name=name, kind=_PACKED)
        return self._finals[self._chosen[known]]

    def _class_name(self, cls: type) -> str:
        return self.definition(self._program.references[self._of_class[id(cls)]])

    # ---- the parts ----

    def text(self) -> tuple[str, dict[str, torch.Tensor]]:
        functions = [
            self._function(unit)
            for unit in self._program.units
            if unit.owner is None and self._chosen[unit.name] == unit.name
        ]
        classes = [
            (declared, self._methods(declared))
            for name, declared in self._program.classes.items()
            if self._chosen[self._program.references[name]] == self._program.references[name]
            and declared.kind != "interface"
        ]
        load = self._load()
        taken = self._taken()
        pieces = ["\n".join(block([renamed(each, taken)], 0)) for each in functions]
        # What a class mentions in its body comes first: members of an enumeration as defaults.
        order = {"enum": 0, "namedtuple": 1, "object": 2, "module": 3}
        for declared, methods in sorted(classes, key=lambda pair: order[pair[0].kind]):
            for each in methods:
                renamed(each, taken)
            pieces.append("\n".join(self._class(declared, methods)))
        own = [each for name, each in OWN.items() if name in self._needed]
        pieces = [*self._tables_text(), *self._library.text(), *own, *pieces]
        if self._builder.tensors:
            pieces.append(READER)
        name = self._class_name(type(self._root))
        pieces.append("\n".join(function(load, 0)))
        if name != "Model":
            pieces.append(f"Model = {name}")
        return joined(
            [head(self._program, self._library, self._needed, pieces), *pieces]
        ), self._builder.tensors

    def _taken(self) -> frozenset[str]:
        return frozenset((*_FIXED, *self._finals.values(), *self._needed, *self._library.names))

    def _function(self, unit: Unit, name: str | None = None) -> ast.FunctionDef:
        plain = Unit(
            unit.name, unit.written, unit.owner, simplified(without_unused(copy.deepcopy(unit.tree)))
        )
        tensors = Tensors(plain, self._program.operators)
        made = Rewriter(self, plain, tensors).function(name or self.definition(unit.name))
        return inlined(with_conditions(inlined(without_unused(made))))

    def _methods(self, declared: Class) -> list[ast.FunctionDef]:
        skipped = ("__setstate__", "__getstate__") if declared.kind == "module" else ()
        units = [unit for unit in self._program.units if unit.owner is declared]
        units.sort(key=lambda unit: unit.written.node.name != "forward")
        return [
            self._function(unit, spelled(unit.written.node.name))
            for unit in units
            if unit.written.node.name not in skipped
        ]

    def _same(self, declared: Class) -> list[str]:
        """The full names of the classes that are written as this one."""
        known = self._program.references[declared.name]
        return [
            name for name in self._program.classes if self._chosen[self._program.references[name]] == known
        ]

    def _class(self, declared: Class, methods: list[ast.FunctionDef]) -> list[str]:
        name = self.definition(self._program.references[declared.name])
        if declared.kind == "enum":
            values = [
                f"    {key} = {_line(self._builder, value)}" for key, value in declared.constants.items()
            ]
            return [f"class {name}(enum.Enum):", *(values or ["    pass"])]
        if declared.kind == "namedtuple":
            fields = ast.List(elts=[ast.Constant(value=each) for each in declared.attributes], ctx=ast.Load())
            base_ = call("collections.namedtuple", [ast.Constant(value=name), fields])
            members = self._members(declared)[1:]
            return [*laid(call(f"class {name}", [base_]), "", ":", 0), "    __slots__ = ()", *members]
        base = "(nn.Module)" if declared.kind == "module" else ""
        comment = re.sub(r"[^\w.]", "_", declared.name.removeprefix("__torch__."))
        lines = [f"class {name}{base}:", f'    """{comment}"""', *self._members(declared)]
        body: list[ast.stmt] = [*methods]
        if declared.kind == "module":
            shared, own = self._constants(declared)
            if shared:
                lines.append("")
                for key, value in shared.items():
                    lines += laid(self._builder.expression(value, key), f"{key} = ", "", 4)
            if (made := self._constructor(declared, own)) is not None:
                body.insert(0, made)
        if body:
            lines.append("")
            lines += block(body, 4)
        return lines

    def _members(self, declared: Class) -> list[str]:
        if not {"_member", "_set_member"} & self._needed.keys():
            return []
        members = [ast.Constant(value=spelled(each)) for each in sorted(declared.members)]
        return ["", *laid(ast.Tuple(elts=[*members], ctx=ast.Load()), "_members = ", "", 4)]

    def _constants(self, declared: Class) -> tuple[dict[str, Any], list[str]]:
        """The constants that are the same for all instances, and the names of the others."""
        every = [self._program.classes[name].constants for name in self._same(declared)]
        shared = {
            name: value
            for name, value in declared.constants.items()
            if is_plain(name) and all(_equal(each.get(name), value) for each in every)
        }
        return shared, [
            name for name in declared.constants if name not in shared and not name.startswith("__")
        ]

    def _arguments(self, cls: type) -> set[str] | None:
        """The constants that a module's constructor takes; None for an object, which has none."""
        declared = self._program.classes[self._of_class[id(cls)]]
        if declared.kind != "module":
            return None
        known = self._chosen[self._program.references[declared.name]]
        first = next(name for name, each in self._program.references.items() if each == known)
        return set(self._constants(self._program.classes[first])[1])

    def _constructor(self, declared: Class, constants: list[str]) -> ast.FunctionDef | None:
        objects = [each for name in self._same(declared) for each in self._objects[name]]
        kept = {name: kind for name, (kind, _) in (parts(objects[0]) if objects else {}).items()}
        kept.update(dict.fromkeys(constants, "value"))
        hooks = [
            *(("register_forward_pre_hook", name) for name in declared.pre_hooks),
            *(("register_forward_hook", name) for name in declared.hooks),
        ]
        if not kept and not hooks:
            return None
        start = ast.Attribute(value=call("super", []), attr="__init__", ctx=ast.Load())
        body: list[ast.stmt] = [ast.Expr(value=ast.Call(func=start, args=[], keywords=[]))]
        body += [_keeping(name, kind) for name, kind in kept.items()]
        body += [_hooking(method, name) for method, name in hooks]
        names = [ast.arg(arg=argument(name)) for name in kept]
        spec = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg="self")],
            kwonlyargs=names,
            kw_defaults=[None] * len(names),
            defaults=[],
        )
        return ast.FunctionDef(name="__init__", args=spec, body=body, decorator_list=[])

    def _load(self) -> ast.FunctionDef:
        builder, root = self._builder, self._root
        builder.count(root)
        made = builder.expression(root, "")
        weights, model = Global(id="weights"), Global(id="model")
        body: list[ast.stmt] = []
        if builder.tensors:
            body.append(ast.Assign(targets=[weights], value=call("read_weights", [Global(id="path")])))
        for short, value in self._tables.items():
            place = ast.Subscript(
                value=Global(id="CONSTANTS"), slice=ast.Constant(value=short), ctx=ast.Load()
            )
            body.append(ast.Assign(targets=[place], value=value))
        body += builder.statements
        body.append(ast.Assign(targets=[model], value=made))
        body += _modes(model, root)
        body.append(ast.Return(value=model))
        what = "The model with the tensors of a safetensors file, as it was saved."
        said = (
            what if builder.tensors else "The model, as it was saved; it has no tensors, and reads no file."
        )
        body.insert(0, ast.Expr(value=ast.Constant(value=said)))
        spec = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg="path")],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[] if builder.tensors else [ast.Constant(value=None)],
        )
        return ast.FunctionDef(name="load", args=spec, body=body, decorator_list=[])

    # ---- around them ----

    def _tables_text(self) -> list[str]:
        lines: list[str] = []
        if self._builder.tensors:
            dtypes = {each.dtype for each in self._builder.tensors.values()}
            pairs = [(name, dtype) for dtype, name in NAMES.items() if dtype in dtypes]
            table = ast.Dict(
                keys=[ast.Constant(value=name) for name, _ in pairs],
                values=[Global(id=str(dtype)) for _, dtype in pairs],
            )
            lines += laid(table, "DTYPES = ", "", 0)
        if self._tables:
            lines.append("CONSTANTS = {}  # tensors in the code, which `load` reads")
        return ["\n".join(lines)] if lines else []


def _shape(objects: list[Any]) -> Hashable:
    """What a constructor is given, in a form that can be compared."""
    return tuple((name, kind) for name, (kind, _) in parts(objects[0]).items()) if objects else None


def _keeping(name: str, kind: str) -> ast.stmt:
    """The statement of a constructor that keeps an argument under its name."""
    own = Global(id="self")
    value = Global(id=argument(name))
    place = spelled(name)
    key = ast.Constant(value=place)
    if kind == "buffers" and name and "." not in name:
        method = ast.Attribute(value=own, attr="register_buffer", ctx=ast.Load())
        return ast.Expr(value=ast.Call(func=method, args=[key, value], keywords=[]))
    if is_plain(place):
        return ast.Assign(targets=[ast.Attribute(value=own, attr=place, ctx=ast.Load())], value=value)
    if "." in name or not name:
        attributes = ast.Subscript(value=call("vars", [own]), slice=key, ctx=ast.Load())
        return ast.Assign(targets=[attributes], value=value)
    if kind == "modules":
        method = ast.Attribute(value=own, attr="add_module", ctx=ast.Load())
        return ast.Expr(value=ast.Call(func=method, args=[key, value], keywords=[]))
    return ast.Expr(value=call("setattr", [own, key, value]))


def _hooking(method: str, name: str) -> ast.stmt:
    """The statement of a constructor that has a method run before or after each call."""
    own = Global(id="self")
    hook = ast.Attribute(value=call("type", [own]), attr=spelled(name), ctx=ast.Load())
    register = ast.Attribute(value=own, attr=method, ctx=ast.Load())
    return ast.Expr(value=ast.Call(func=register, args=[hook], keywords=[]))


def _modes(model: ast.expr, root: torch.nn.Module) -> Iterator[ast.stmt]:
    """The statements that put each module into the mode in which it was saved."""
    modules = dict(root.named_modules())
    training = 2 * sum(each.training for each in modules.values()) > len(modules)
    method = ast.Attribute(value=model, attr="train" if training else "eval", ctx=ast.Load())
    yield ast.Expr(value=ast.Call(func=method, args=[], keywords=[]))
    for name, each in modules.items():
        if each.training != training:
            found: ast.expr = model
            if name:
                inner = ast.Attribute(value=model, attr="get_submodule", ctx=ast.Load())
                found = ast.Call(func=inner, args=[ast.Constant(value=name)], keywords=[])
            place = ast.Attribute(value=found, attr="training", ctx=ast.Load())
            yield ast.Assign(targets=[place], value=ast.Constant(value=each.training))


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_tensor, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensor, value))
    return isinstance(value, torch.Tensor)


def _equal(first: Any, second: Any) -> bool:
    return type(first) is type(second) and repr(first) == repr(second)


def _line(builder: Builder, value: Any) -> str:
    return "".join(laid(builder.expression(value, ""), "", "", 0))
