"""``graphed``: a callable that captures itself once per input signature and replays from then on."""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._differentiable import DifferentiableGraph, copied, device_of, feed
from ._graph import Graph
from ._holdings import Holdings
from ._signature import flatten, of_leaf, of_modes, unflatten
from ._writes import Writes

_Fn = TypeVar("_Fn", bound=Callable[..., Any])


class _Inference:
    """A captured call that no gradient flows through."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        structure: Any,
        buffers: list[torch.Tensor],
        numerics: str,
    ) -> None:
        self._static = [_stand_in(x) if isinstance(x, torch.Tensor) else x for x in leaves]
        self._tensors = [x for x in self._static if isinstance(x, torch.Tensor)]
        args, kwargs = unflatten(self._static, structure)
        self._graph = Graph(numerics=numerics, device=device_of(self._tensors))
        self._graph._treat_as_weights(buffers)
        self._writes = Writes(self._tensors)
        with self._graph:
            self._outputs = function(*args, **kwargs)
            self._writes.note()

    def __call__(self, tensors: list[torch.Tensor], copy: bool) -> Any:
        feed(self._tensors, tensors)
        self._graph.replay()
        self._writes.hand_back(tensors)
        return copied(self._outputs) if copy else self._outputs


class _Training:
    """A captured call with a backward.

    A graph has memory for the activations of one call. Where several calls come before
    their backward there is a graph for each, up to ``limit``; the next ones run eagerly.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        structure: Any,
        parameters: list[torch.Tensor],
        numerics: str,
        limit: int,
    ) -> None:
        others = [None if isinstance(x, torch.Tensor) else x for x in leaves]
        places = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]

        def call(*given: torch.Tensor) -> Any:
            filled = list(others)
            for place, tensor in zip(places, given, strict=True):
                filled[place] = tensor
            args, kwargs = unflatten(filled, structure)
            return function(*args, **kwargs)

        self._function, self._parameters, self._numerics, self._limit = call, parameters, numerics, limit
        self._pool: tuple[int, int] | None = None
        self._graphs: list[DifferentiableGraph] = []
        self._add([x for x in leaves if isinstance(x, torch.Tensor)])

    def _add(self, tensors: list[torch.Tensor]) -> DifferentiableGraph:
        static = [_stand_in(x) for x in tensors]
        graph = DifferentiableGraph(
            self._function, static, self._parameters, self._pool, self._numerics, allow_unused=True
        )
        self._pool = graph.pool
        self._graphs.append(graph)
        return graph

    def __call__(self, tensors: list[torch.Tensor], copy: bool) -> Any:
        graph = next((g for g in self._graphs if not g.pending), None)
        if graph is None:
            if len(self._graphs) == self._limit:
                return self._function(*tensors)
            graph = self._add(tensors)
        outputs = graph(*tensors)
        return copied(outputs) if copy else outputs


def _sources(function: Callable[..., Any], leaves: list[Any], structure: Any) -> list[torch.Tensor] | None:
    """The tensors beside the arguments that get gradients, such as the parameters of a module that the
    function closes over; None where nothing does. A capture that is thrown away finds them, since a
    capture changes nothing."""
    static = [_stand_in(x) if isinstance(x, torch.Tensor) else x for x in leaves]
    args, kwargs = unflatten(static, structure)
    device = device_of([x for x in static if isinstance(x, torch.Tensor)])
    with Graph(keep_graph=True, device=device):
        outputs = function(*args, **kwargs)
        results = [o for o in pytree.tree_leaves(outputs) if isinstance(o, torch.Tensor) and o.requires_grad]
        if not results:
            return None
        found = _leaves_behind(results, {id(x) for x in static})
        wanted = [*found, *(x for x in static if isinstance(x, torch.Tensor) and x.requires_grad)]
        # While version counters are as eager has them: says so where what is needed was overwritten.
        seeds = [torch.zeros_like(o) for o in results]
        torch.autograd.grad(results, wanted, seeds, allow_unused=True)
    return found


def _leaves_behind(results: list[torch.Tensor], arguments: set[int]) -> list[torch.Tensor]:
    """The leaves of autograd's graph that ``results`` come from, beside ``arguments``."""
    found: dict[int, torch.Tensor] = {}
    pending, seen = [o.grad_fn for o in results if o.grad_fn is not None], set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)  # of an AccumulateGrad: a leaf
        if isinstance(variable, torch.Tensor) and id(variable) not in arguments:
            found[id(variable)] = variable
        pending += [after for after, _ in node.next_functions if after is not None]
    return list(found.values())


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """Memory of the graph's own that looks like ``tensor``."""
    with torch.inference_mode(False), torch.no_grad():
        if torch._debug_has_internal_overlap(tensor):  # expanded: what is copied in needs room of its own
            copy = torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
        else:
            copy = torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
            )
        copy.copy_(tensor)
    return copy.requires_grad_(tensor.requires_grad)


class Graphed:
    """What ``graphed`` returns; call it like the function or module that it holds.

    ``graphs`` is the number of graphs held; ``clear()`` drops them. A copy, and what a
    pickle makes, holds no graphs and captures anew; a function decorated in its module is
    pickled by its name.
    """

    def __init__(
        self, function: Callable[..., Any], numerics: str, max_graphs: int, copy_outputs: bool
    ) -> None:
        if numerics not in ("exact", "fast"):
            raise fail("accelerator.numerics", value=numerics)
        self._function = function
        self._module = function if isinstance(function, torch.nn.Module) else None
        self._modules = list(self._module.modules()) if self._module is not None else []
        self._numerics = numerics
        self._max_graphs = max_graphs
        self._copy_outputs = copy_outputs
        self._captured: collections.OrderedDict[Any, tuple[Holdings, _Inference | _Training]]
        self._captured = collections.OrderedDict()
        if self._module is None:
            functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args, kwargs)
        key = (
            str(structure) if not isinstance(structure, int) else structure,
            *map(of_leaf, leaves),
            of_modes(leaves),
            tuple(m.training for m in self._modules),
        )
        entry = self._captured.get(key)
        if entry is None or entry[0].changed():
            entry = self._captured[key] = self._capture(leaves, structure)
            while len(self._captured) > self._max_graphs:
                self._captured.popitem(last=False)
        else:
            self._captured.move_to_end(key)
        return entry[1]([x for x in leaves if isinstance(x, torch.Tensor)], self._copy_outputs)

    def _capture(self, leaves: list[Any], structure: Any) -> tuple[Holdings, _Inference | _Training]:
        modules = [x for x in leaves if isinstance(x, torch.nn.Module)]
        if self._module is not None:
            modules.append(self._module)
        for _ in range(2):  # a first call may fill what the module keeps for later ones
            holdings = Holdings(modules)
            call = self._capture_once(leaves, structure, modules)
            changed = holdings.changed()
            if changed is None:
                return holdings, call
        raise fail("accelerator.rebound", name=changed)

    def _capture_once(
        self, leaves: list[Any], structure: Any, modules: list[torch.nn.Module]
    ) -> _Inference | _Training:
        if torch.is_grad_enabled():
            sources = _sources(self._function, leaves, structure)
            if sources is not None:
                limit = self._max_graphs
                return _Training(self._function, leaves, structure, sources, self._numerics, limit)
        buffers = [b for m in modules for b in m.buffers()]
        return _Inference(self._function, leaves, structure, buffers, self._numerics)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_captured": collections.OrderedDict()}

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__dict__["__qualname__"] if self._is_global() else super().__reduce_ex__(protocol)

    def _is_global(self) -> bool:
        """Whether a module has this by the name of its function: the decorator's case."""
        found: Any = sys.modules.get(self.__module__)
        for name in self.__dict__.get("__qualname__", "").split("."):
            found = getattr(found, name, None)
        return found is self

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Binds like a function, so that a method can be graphed."""
        return self if instance is None else functools.partial(self, instance)

    @property
    def graphs(self) -> int:
        return len(self._captured)

    def clear(self) -> None:
        """Drops every graph; the next calls capture anew."""
        self._captured.clear()


@overload
def graphed(
    fn: Callable[..., Any], *, numerics: str = ..., max_graphs: int = ..., copy_outputs: bool = ...
) -> Graphed: ...
@overload
def graphed(
    fn: None = None, *, numerics: str = ..., max_graphs: int = ..., copy_outputs: bool = ...
) -> Callable[[Callable[..., Any]], Graphed]: ...


def graphed(
    fn: Callable[..., Any] | None = None,
    *,
    numerics: str = "fast",
    max_graphs: int = 16,
    copy_outputs: bool = True,
) -> Any:
    """Captures ``fn`` once per input signature, and replays it from then on.

    Args:
        fn: a function or an nn.Module; left out, ``graphed`` is a decorator.
        numerics: as for ``Graph``.
        max_graphs: how many graphs are held; the one used least recently goes first.
        copy_outputs: if false, calls return the graph's own output tensors, which
            the next call with the same signature overwrites.

    The signature is the shapes, dtypes, strides and ``requires_grad`` of the tensors,
    the values of all other arguments, grad mode, autocast and the training flags.
    Gradients flow to the inputs and, for a module, to its parameters.

    Raises:
        UsageError: an argument cannot be part of a signature.
        CaptureError: the callable does what cannot be captured.
    """
    if fn is None:
        return functools.partial(graphed, numerics=numerics, max_graphs=max_graphs, copy_outputs=copy_outputs)
    return Graphed(fn, numerics, max_graphs, copy_outputs)
