"""A deployed file as a callable that replays graphs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ..accelerator import Graph, graph_pool_handle
from ..accelerator._records import NodeRecord
from ..export import Call, Variant, shown
from ._files import Content
from ._fit import Taken, calls, open_sizes
from ._program import Program, functional, state_of

_PLAIN = frozenset((int, float, bool, str, type(None)))
_MAX_GRAPHS = 16  # of a method; only shapes that vary can need more
_Tensor = torch.Tensor
_grad_enabled = torch.is_grad_enabled
_set_grad_enabled = torch._C._set_grad_enabled


class _Captured:
    """A program captured for one signature of its arguments."""

    __slots__ = ("copy_back", "graph", "inputs", "outputs", "program", "replay", "results", "single", "spec")

    def __init__(self, program: Program, leaves: list[Any], numerics: str, pool: tuple[int, int]) -> None:
        self.program = program
        static = [_stand_in(each) if isinstance(each, torch.Tensor) else each for each in leaves]
        tensors = [i for i, each in enumerate(static) if isinstance(each, torch.Tensor)]
        self.inputs: tuple[torch.Tensor, ...] = tuple(static[i] for i in tensors)
        # which of the inputs the program changes
        self.copy_back = tuple(tensors.index(i) for i in program.changed_arguments)
        self.graph = Graph(numerics=numerics, pool=pool)
        self.graph._freeze(program.weights)
        with torch.autocast("cpu", enabled=False), self.graph:
            self.outputs = program.run(static)
        self.replay: Callable[[], None] = self.graph.replay
        self.single = self.outputs if isinstance(self.outputs, torch.Tensor) else None
        self.results, self.spec = pytree.tree_flatten(self.outputs)

    def copied(self) -> Any:
        """The result in memory of its own."""
        results = [each.clone() if isinstance(each, _Tensor) else each for each in self.results]
        if type(self.outputs) is tuple and len(self.outputs) == len(results):
            return tuple(results)
        return pytree.tree_unflatten(results, self.spec)


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)


class Method:
    """A method of a deployed file; call it as the method of the model was called.

    The program is chosen by the dtypes and shapes of the tensors and by the
    values of all other arguments. UsageError where none takes them.
    """

    def __init__(self, name: str, programs: list[Program], owner: Deployed) -> None:
        self.name = name
        self._programs = programs
        self._owner = owner
        self._lock = owner._lock
        self._copy = owner._copy_outputs
        self._captured: dict[Any, _Captured] = {}
        self._last: Program | None = None
        self._watches_change = any(each.on_change == "reset" for each in programs)

    @property
    def variants(self) -> tuple[str, ...]:
        """The signatures that it takes, such as ``"(float32[1, 512], 16000)"``."""
        return tuple(each.signature for each in self._programs)

    def example(self, seed: int | None = None) -> tuple[Any, ...]:
        """Positional arguments for the first variant: the example in the file, new tensors at each call.

        With a seed, or where the file has no example, random ones of its kind.
        """
        first = self._programs[0]
        call = Call(self.name, first.args, {})
        if seed is None and not first.made_up:
            return call.fresh().args
        return call.varied(torch.Generator().manual_seed(seed or 0)).args

    def _calls_of(self, content: Content) -> list[tuple[Any, ...]]:
        """Positional arguments of the calls, in a row, that the content of a file makes.

        Arrays are whole arguments, sound is cut into pieces as long as the first
        tensor, a table into its rows; the rest is as in the example. UsageError
        where it fits no variant.
        """
        taken = [
            Taken(tuple(Call(self.name, each.args, {}).fresh().args), open_sizes(each.inputs))
            for each in self._programs
        ]
        return calls(content, self._programs[0].names, taken)

    def _ordered(self, named: dict[str, Any]) -> tuple[Any, ...]:
        """Arguments by name as positional ones. UsageError where they are no whole call."""
        given, rest = self._positional((), named)
        if rest:
            raise self._no_variant((), named)
        return given

    def __repr__(self) -> str:
        return " | ".join(f"{self.name}{each}" for each in self.variants)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args, kwargs = self._positional(args, kwargs)
        # What makes a signature, as cheaply as Python can tell it.
        key: list[Any] = []
        tensors: list[torch.Tensor] = []
        for value in args:
            kind = type(value)
            if kind is _Tensor:
                tensors.append(value)
                key.append(value.shape)
                key.append(value.dtype)
            elif kind in _PLAIN:
                key.append(kind)
                key.append(value)
            else:
                return self._nested(args, kwargs)
        if kwargs:
            return self._nested(args, kwargs)
        signature = tuple(key)
        captured = self._captured.get(signature)
        if captured is None:
            captured = self._capture(signature, args, kwargs)
        return self._run(captured, tensors)

    def _run(self, captured: _Captured, tensors: list[torch.Tensor]) -> Any:
        with self._lock:
            gradients = _grad_enabled()
            if gradients:
                _set_grad_enabled(False)
            try:
                if captured.program is not self._last:
                    self._change(captured.program)
                for static, tensor in zip(captured.inputs, tensors):  # noqa: B905 (strict costs time)
                    static.copy_(tensor)
                captured.replay()
                for i in captured.copy_back:
                    tensors[i].copy_(captured.inputs[i])
                if not self._copy:
                    return captured.outputs
                if captured.single is not None:
                    return captured.single.clone()
                return captured.copied()
            finally:
                if gradients:
                    _set_grad_enabled(True)

    def _change(self, program: Program) -> None:
        """Another variant than in the last call: reset the state where the model does."""
        if self._last is not None and program.on_change == "reset":
            self._owner._reset()
        self._last = program

    def _nested(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The long way, for arguments in containers, by keyword, or of a subclass of Tensor."""
        leaves, spec = pytree.tree_flatten((args, kwargs), is_leaf=lambda value: value is None)
        signature = (
            str(spec),
            *((e.shape, e.dtype) if isinstance(e, torch.Tensor) else (type(e), e) for e in leaves),
        )
        try:
            captured = self._captured.get(signature)
        except TypeError:  # a value that is no part of any signature
            raise self._no_variant(args, kwargs) from None
        if captured is None:
            captured = self._capture(signature, args, kwargs)
        ordered = captured.program.leaves(args, kwargs)
        return self._run(captured, [each for each in ordered if isinstance(each, torch.Tensor)])

    def _positional(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments that were exported by position may be given by name."""
        names = self._programs[0].names
        count = len(self._programs[0].inputs["args"]["tuple"])
        rest = dict(kwargs)
        given = list(args)
        for name in names[len(args) : count]:
            if name not in rest:
                break
            given.append(rest.pop(name))
        return tuple(given), rest

    def _capture(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Captured:
        program = self._program_for(args, kwargs)
        with self._lock, torch.inference_mode(False), torch.no_grad():
            captured = _Captured(
                program, program.leaves(args, kwargs), self._owner.numerics, self._owner._pool
            )
        while len(self._captured) >= _MAX_GRAPHS:
            self._captured.pop(next(iter(self._captured)))
        self._captured[signature] = captured
        return captured

    def _program_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        program = next((each for each in self._programs if each.takes(args, kwargs)), None)
        if program is None:
            raise self._no_variant(args, kwargs)
        return program

    def _profile(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], rounds: int
    ) -> list[tuple[NodeRecord, float]]:
        """Each step of the graph for these arguments, with its seconds. Moves the state on like calls."""
        program = self._program_for(args, kwargs)
        with self._lock, torch.inference_mode(False), torch.no_grad():
            leaves = program.leaves(args, kwargs)
            captured = _Captured(program, leaves, self._owner.numerics, self._owner._pool)
            return captured.graph._profile(rounds)

    def _no_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
        known = "; ".join(f"{self.name}{each}" for each in self.variants)
        return fail("deployment.no_variant", call=f"{self.name}{shown(args, kwargs)}", known=known)

    def _stats(self) -> list[dict[str, Any]]:
        graphs: dict[int, Graph] = {id(each.program): each.graph for each in self._captured.values()}
        found = []
        for program in self._programs:
            graph = graphs.get(id(program))
            entry: dict[str, Any] = {"signature": program.signature, "captured": graph is not None}
            found.append({**entry, **(graph.stats() if graph is not None else {})})
        return found


class Deployed:
    """A deployed file, loaded: call it like the model that it was made from.

    ``model(*args)`` is ``forward``; the other methods are attributes
    (``model.reset_states()``) and entries of ``model.methods``. Arguments are
    tensors of the dtypes and shapes, and other values, that one of the variants
    takes. Results are new tensors, or with ``copy_outputs=False`` the graph's
    own, which the next call overwrites. Each variant is captured into an
    `ost.accelerator.Graph` at its first call. Calls from several threads take
    turns, and share one state.
    """

    def __init__(
        self, path: str, methods: Mapping[str, list[Variant]], numerics: str, copy_outputs: bool
    ) -> None:
        self.path = path
        self.numerics = numerics
        self._copy_outputs = copy_outputs
        self._lock = threading.RLock()
        self._pool = graph_pool_handle()
        methods = {name: [functional(each) for each in variants] for name, variants in methods.items()}
        self._state = {name: value.detach() for name, value in state_of(methods).items()}
        self._initial = {name: value.clone() for name, value in self._state.items()}
        self._methods = {
            name: Method(name, [Program(name, each, self._state) for each in variants], self)
            for name, variants in methods.items()
        }
        main = "forward" if "forward" in self._methods else next(iter(self._methods))
        self._main = self._methods[main]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._main(*args, **kwargs)

    def __getattr__(self, name: str) -> Method:
        methods = self.__dict__.get("_methods", {})
        if name not in methods:
            raise AttributeError(f"the deployed model has no method {name!r}; it has: {', '.join(methods)}")
        method: Method = methods[name]
        return method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._methods})

    def __repr__(self) -> str:
        return "\n".join(
            [f"Deployed({self.path!r}, numerics={self.numerics!r})", *map(repr, self._methods.values())]
        )

    @property
    def methods(self) -> Mapping[str, Method]:
        """Every method by name, also one whose name this class uses itself."""
        return MappingProxyType(self._methods)

    @property
    def state(self) -> Mapping[str, torch.Tensor]:
        """The tensors that live from call to call, by name; what is written into them holds."""
        return MappingProxyType(self._state)

    def stats(self) -> dict[str, list[dict[str, Any]]]:
        """Method → for each variant its signature, whether it is captured, and its graph's figures."""
        return {name: method._stats() for name, method in self._methods.items()}

    def _reset(self) -> None:
        for name, value in self._initial.items():
            self._state[name].copy_(value)
        for method in self._methods.values():
            method._last = None
