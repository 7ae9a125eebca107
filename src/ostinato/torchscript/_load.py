"""``load``: the archive's objects over its translated code."""

from __future__ import annotations

import ast
import builtins
import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .._errors import fail
from ._archive import Archive
from ._archive_data import TENSORS, DeviceRef, EnumRef, Instance, SparseRef, TensorRef
from ._code import Class, is_special
from ._contents import is_packed
from ._modules import ScriptModule, make_class, new
from ._names import PACKED_PREFIX
from ._operators import bind
from ._packed import Malformed, restore
from ._program import Program, Unit
from ._tensors import Storages


def load(path: str | os.PathLike[str]) -> torch.nn.Module:
    """The module of a TorchScript archive, as ordinary Python over torch; ``torch.jit`` is not used.

    Methods, attributes, parameters and buffers have the names, dtypes, shapes and values of the archive.
    Tensors that were saved on a GPU come to the CPU.  Large tensors are mapped from the file, privately:
    do not truncate the file while the module lives.

    Raises ArchiveError where the file is damaged, unsafe, or uses what is not supported; nothing of the
    file has been run by then.
    """
    with Archive(path) as archive:
        program = Program(archive)
        return Loader(program).module()


class Loader:
    """Makes the objects of a program."""

    def __init__(
        self, program: Program, replaced: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: found
    ) -> None:
        """``replaced`` may give other functions for operators than the usual ones, by their globals."""
        self._program = program
        self._replaced = replaced
        self._path = program.archive.path
        self._storages = Storages(program.archive)
        self._tensors: dict[tuple[Any, ...], torch.Tensor] = {}
        self._objects: dict[int, Any] = {}
        self.classes: dict[str, type] = {}
        # Kept alive, since identities of the data are the keys above.
        self._data = (program.data, program.constants)

    def module(self) -> torch.nn.Module:
        """The root module."""
        self._check()
        self._define()
        for instance in self._program.instances:
            self._objects[id(instance)] = new(self.classes[instance.cls])
        for instance in self._program.instances:
            self._parameters(instance)
        for instance in reversed(self._program.instances):  # what an object holds comes before it
            self._fill(instance)
        root = self._objects[id(self._program.data)]
        if not isinstance(root, torch.nn.Module):
            raise self._program.archive.damaged("its data is not a module")
        return root

    def objects(self) -> list[Any]:
        """The modules and objects, each once."""
        return [self._objects[id(instance)] for instance in self._program.instances]

    def constant(self, known: str) -> Any:
        """The value of a constant that the code uses."""
        at = self._program.used_constants[known]
        return self._value(self._program.constants[at], self._program.folder, known)

    def _check(self) -> None:
        for instance in self._program.instances:
            declared = self._program.classes[instance.cls]
            if declared.kind not in ("module", "object"):
                raise self._bad(instance.cls, "is an object of something that has none")

    def _bad(self, name: str, what: str) -> Exception:
        return fail("torchscript.data", path=self._path, name=name[:200], what=what)

    # ---- code ----

    def _define(self) -> None:
        program = self._program
        namespace: dict[str, Any] = {
            "__builtins__": {"__import__": _import_loaded},
            "math__inf": math.inf,
            "math__nan": math.nan,
        }
        namespace.update(self._replaced(bind(program)))
        namespace.update((known, self.constant(known)) for known in program.used_constants)
        methods: dict[str, dict[str, Callable[..., Any]]] = {name: {} for name in program.classes}
        for unit in program.units:
            function = _compile(unit, program.archive.root, namespace)
            if unit.owner is not None:
                methods[unit.owner.name][unit.written.node.name] = function
        literals = _literals(program)
        for name, declared in program.classes.items():
            self.classes[name] = make_class(declared, methods[name], self._path, literals)
        for name, known in program.references.items():
            if name in self.classes:
                namespace[known] = self.classes[name]

    # ---- data ----

    def _parameters(self, instance: Instance) -> None:
        """Registers parameters first, so that lists which hold them too find the same objects."""
        declared = self._program.classes[instance.cls]
        made = self._objects[id(instance)]
        if not isinstance(made, ScriptModule):
            return
        self._hook(made, declared)
        if not isinstance(instance.state, dict):
            return
        for name in declared.parameters:
            ref = instance.state.get(name)
            if ref is None:
                made.register_parameter(name, None)
            elif isinstance(ref, TENSORS):
                self._register(made, name, self._parameter(ref, f"{instance.cls}.{name}"))
            else:
                raise self._bad(f"{instance.cls}.{name}", "is a parameter and no tensor")

    def _hook(self, made: ScriptModule, declared: Class) -> None:
        """Registers hooks for calls from outside: the archive's own code calls them by name."""
        methods = type(made)
        for name in (*declared.pre_hooks, *declared.hooks):
            if name not in declared.methods or is_special(name):
                raise self._bad(f"{declared.name}.{name[:80]}", "is a hook and no method")
        for name in declared.pre_hooks:
            made.register_forward_pre_hook(getattr(methods, name))
        for name in declared.hooks:
            made.register_forward_hook(getattr(methods, name))

    def _parameter(self, ref: TensorRef | SparseRef, name: str) -> torch.nn.Parameter:
        known = self._tensors.get(_place(ref, "data"))
        if isinstance(known, torch.nn.Parameter):
            return known
        data = self._storages.tensor(ref, "data", name)
        made = torch.nn.Parameter(data, requires_grad=ref.requires_grad)
        self._tensors[_place(ref, "data")] = made
        return made

    def _register(self, made: ScriptModule, name: str, value: torch.nn.Parameter) -> None:
        try:
            made.register_parameter(name, value)
        except (KeyError, AttributeError, TypeError):
            raise self._bad(name, "cannot be registered under this name") from None

    def _fill(self, instance: Instance) -> None:
        declared = self._program.classes[instance.cls]
        made = self._objects[id(instance)]
        state = instance.state
        setter = type(made)._ostinato_special.get("__setstate__")
        if setter is not None:
            self._restore(setter, made, self._value(state, "data", instance.cls), instance.cls)
            return
        if not isinstance(state, dict):
            raise self._bad(instance.cls, "has a state that is no dictionary")
        buffers = declared.buffer_names()
        for name, saved in state.items():
            if not isinstance(name, str) or name not in declared.attributes:
                raise self._bad(f"{instance.cls}.{str(name)[:80]}", "is not declared by its class")
            if is_special(name) or name in declared.parameters or name == "_is_full_backward_hook":
                continue  # the last tells of hooks on gradients, which archives do not hold
            value = self._typed(declared.attributes[name], self._value(saved, "data", name))
            if isinstance(made, ScriptModule):
                self._set(made, name, value, name in buffers)
            else:
                setattr(made, name, value)

        missing = declared.attributes.keys() - declared.constants.keys() - state.keys()
        for name in sorted(missing):
            if hasattr(torch.nn.Module, name):  # or code would reach torch's attribute of this name
                raise self._bad(f"{instance.cls}.{name}", "is declared and has no value")

    def _restore(self, setter: Callable[..., Any], made: Any, state: Any, name: str) -> None:
        try:
            setter(made, state)
        except Exception as error:
            raise self._bad(f"{name}.__setstate__", f"fails ({error})") from error

    def _set(self, made: ScriptModule, name: str, value: Any, buffer: bool) -> None:
        try:
            if isinstance(value, torch.nn.Module):
                made.add_module(name, value)
            elif buffer and (value is None or isinstance(value, torch.Tensor)):
                made.register_buffer(name, value)
            elif isinstance(value, torch.nn.Parameter):
                object.__setattr__(made, name, value)  # an attribute that is somebody else's parameter
            else:
                setattr(made, name, value)
        except (KeyError, AttributeError, TypeError):
            # Names with dots are no names of submodules or buffers to torch; code reaches them all the same.
            made.__dict__[name] = value

    def _typed(self, kind: ast.expr, value: Any) -> Any:
        """A tuple as the named tuple that its attribute declares."""
        if type(value) is not tuple or not isinstance(kind, ast.Attribute):
            return value
        cls = self.classes.get(ast.unparse(kind))
        if cls is None or not issubclass(cls, tuple):
            return value
        try:
            return cls(*value)
        except TypeError:
            raise self._bad(ast.unparse(kind), "has another number of fields") from None

    def _value(self, saved: Any, folder: str, name: str) -> Any:
        if isinstance(saved, TENSORS):
            place = _place(saved, folder)
            if place not in self._tensors:
                tensor = self._storages.tensor(saved, folder, name)
                self._tensors[place] = tensor.requires_grad_(saved.requires_grad)
            return self._tensors[place]
        if isinstance(saved, Instance):
            found = self._objects.get(id(saved))
            if found is None and is_packed(saved):
                found = self._objects[id(saved)] = self._packed(saved, folder, name)
            if found is None:
                raise self._bad(name, "is an object among the constants")
            return found
        if isinstance(saved, (list, tuple, dict)):
            if id(saved) not in self._objects:  # what is shared stays shared, and costs once
                self._objects[id(saved)] = self._container(saved, folder, name)
            return self._objects[id(saved)]
        if isinstance(saved, DeviceRef):
            return torch.device("cpu")
        if saved is None or isinstance(saved, (bool, int, float, complex, str)):
            return saved
        if isinstance(saved, EnumRef) and saved.cls in self.classes:
            try:
                return self.classes[saved.cls](saved.value)
            except (TypeError, ValueError):
                raise self._bad(name, "is no member of its enumeration") from None
        raise self._bad(name, "is no value")

    def _packed(self, saved: Instance, folder: str, name: str) -> Any:
        state = self._value(saved.state, folder, name)
        try:
            return restore(saved.cls.removeprefix(PACKED_PREFIX), state)
        except (Malformed, RuntimeError, TypeError, ValueError, IndexError) as error:
            reason = str(error).partition("\n")[0]
            raise self._bad(name, f"holds no packed parameters ({reason})") from None

    def _container(self, saved: Any, folder: str, name: str) -> Any:
        if isinstance(saved, list):
            return [self._value(each, folder, name) for each in saved]
        if isinstance(saved, tuple):
            return tuple(self._value(each, folder, name) for each in saved)
        return {self._value(k, folder, name): self._value(v, folder, name) for k, v in saved.items()}


def _place(ref: TensorRef | SparseRef, folder: str) -> tuple[Any, ...]:
    """Where a tensor lies: lists of weights tell the parameters again, and are to hold the same objects."""
    if isinstance(ref, SparseRef) or ref.quantizer is not None or ref.bits:
        return folder, id(ref)
    return folder, ref.storage.key, ref.storage.dtype, ref.offset, ref.size, ref.stride, ref.requires_grad


def _import_loaded(name: str, *arguments: Any) -> Any:
    """What torch's own C code imports on behalf of its caller; translated code has no import.

    Only modules that are there already, and torch's: a namespace without ``__import__`` makes torch fail
    where it looks up a module, to warn for example.
    """
    if name in sys.modules or name.partition(".")[0] == "torch":
        return builtins.__import__(name, *arguments)
    raise ImportError(f"code of an archive does not import {name}")


def _compile(unit: Unit, root: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function of a translated definition; a traceback shows the archive's own file and line."""
    module = ast.Module(body=[unit.tree], type_ignores=[])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # archives compare constants by identity
            code = compile(module, f"<{root}/{unit.written.file}>", "exec", dont_inherit=True)
    except (RecursionError, MemoryError, SyntaxError, ValueError):
        raise fail("torchscript.too_deep", path=root, what="its code") from None
    exec(code, namespace)
    made: Callable[..., Any] = namespace[unit.name]
    return made


def _literals(program: Program) -> frozenset[int]:
    """The whole numbers that stand in the archive's code."""
    found: set[int] = set()
    for unit in program.units:
        for node in ast.walk(unit.written.node):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                found.add(node.value)
    for declared in program.classes.values():
        found.update(value for value in declared.constants.values() if type(value) is int)
    return frozenset(found)


def declaration(module: Any) -> Class | None:
    """The class of the archive that a loaded module is of; None for any other object."""
    found: Class | None = getattr(type(module), "_ostinato_class", None)
    return found
