"""Programs whose weights are kept in block formats, and what that costs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind
from torch.utils import _pytree as pytree

from .. import mx
from ..export import Variant
from . import _proof
from ._difference import relative_error
from ._formats import Formats, formats_for, within
from ._weights import Weight, placeholders, weights

# Where a module has what its state_dict names.
_NAMED = frozenset(("_parameters", "_buffers", "_modules"))

Methods = Mapping[str, list[Variant]]


@dataclass(frozen=True)
class RoundedWeight:
    """A weight in a block format; ``error`` is that of the model when this weight alone is rounded."""

    name: str
    use: str
    shape: tuple[int, ...]
    format: str
    bytes_before: int
    bytes_after: int
    error: float


@dataclass(frozen=True)
class Quantization:
    """What was rounded, and by how much the results differ from the source's.

    ``error`` is the largest, over all results, of ``|got - expected| / |expected|``
    in Euclidean norms over all calls; ``budget`` what it was to stay within.
    """

    weights: tuple[RoundedWeight, ...]
    left: dict[str, str]  # name of a matrix that stays as it is → why
    error: float
    budget: float | None

    @property
    def bytes_before(self) -> int:
        """Of the rounded weights."""
        return sum(each.bytes_before for each in self.weights)

    @property
    def bytes_after(self) -> int:
        """Of the rounded weights, their scales included."""
        return sum(each.bytes_after for each in self.weights)


class Quantizer:
    """Chooses formats for the weights by what they cost over ``plans``, and makes the new programs."""

    def __init__(self, methods: Methods, wanted: Any, plans: _proof.Plans) -> None:
        self._methods = methods
        found, self._left = weights(methods)
        self._weights = {each.name: each for each in found}
        self._formats = formats_for(found, wanted)
        self._plans = plans
        self._run = _proof.of_programs(methods)
        self._expected = _proof.results(self._plans, self._run)

    def choose(self, budget: float | None, tell: Callable[[str], None]) -> Quantization:
        """Settle the formats, wider where ``budget`` asks for it, and say what they cost."""
        if budget is not None:
            self._formats = within(self._formats, budget, self._error, tell)
        rounded = [self._described(each) for each in self._weights.values() if self._formats[each.name]]
        kept = {name: "by choice" for name, each in self._formats.items() if each is None}
        return Quantization(tuple(rounded), {**self._left, **kept}, self._error(self._formats), budget)

    def programs(self) -> dict[str, list[Variant]]:
        """The methods with the weights as tensors of blocks."""
        tensors = {name: self._packed(name, each) for name, each in self._formats.items() if each}
        return {
            name: [replace(each, program=_holding(each.program, tensors)) for each in variants]
            for name, variants in self._methods.items()
        }

    @contextmanager
    def rounded(self, module: torch.nn.Module | None) -> Iterator[None]:
        """Meanwhile the programs, and the module that they came from, have the rounded weights."""
        with self._rounding(self._formats, module):
            yield

    def _packed(self, name: str, format: mx.MXFormat) -> mx.MXTensor:
        return mx.quantize(self._weights[name].matrix, format)

    def _described(self, weight: Weight) -> RoundedWeight:
        format = self._formats[weight.name]
        assert format is not None
        packed = self._packed(weight.name, format)
        after = packed.qdata.untyped_storage().nbytes() + packed.scale.untyped_storage().nbytes()
        return RoundedWeight(
            weight.name,
            weight.use,
            tuple(weight.tensor.shape),
            format.name,
            weight.tensor.nbytes,
            after,
            self._error({weight.name: format}),
        )

    def _error(self, formats: Formats) -> float:
        with self._rounding(formats, None):
            return relative_error(self._expected, _proof.results(self._plans, self._run))

    @contextmanager
    def _rounding(self, formats: Formats, module: torch.nn.Module | None) -> Iterator[None]:
        """In place, for a session that has been started would keep the tensors that it was started with."""
        before: list[tuple[torch.Tensor, torch.Tensor]] = []
        with torch.no_grad():
            for name, format in formats.items():
                if format is None:
                    continue
                weight = self._weights[name]
                number = self._packed(name, format).dequantize().reshape(weight.tensor.shape)
                for tensor in _of_name(name, weight.tensor, self._methods, module):
                    before.append((tensor, tensor.detach().clone()))
                    tensor.detach().copy_(number)
        try:
            yield
        finally:
            with torch.no_grad():
                for tensor, value in before:
                    tensor.detach().copy_(value)


def _of_name(
    name: str, tensor: torch.Tensor, methods: Methods, module: torch.nn.Module | None
) -> list[torch.Tensor]:
    """The tensors of that name in all programs and in the module, each memory once."""
    found = [tensor]
    for variants in methods.values():
        for each in variants:
            for kept in (each.program.state_dict, each.program.constants):
                if isinstance(kept.get(name), torch.Tensor):
                    found.append(kept[name])
    if module is not None:
        named = [value for key, value in module.state_dict(keep_vars=True).items() if key == name]
        found += named or [each for each in _held(module) if _same(each, tensor)]
    return list({each.data_ptr(): each for each in found}.values())


def _held(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """The tensors in plain attributes, in which a traced LSTM has its weights: a program gives them names."""
    for each in module.modules():
        for value in pytree.tree_leaves([v for k, v in vars(each).items() if k not in _NAMED]):
            if isinstance(value, torch.Tensor):
                yield value


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


def _holding(program: ExportedProgram, tensors: Mapping[str, mx.MXTensor]) -> ExportedProgram:
    """``program`` with some of its weights replaced, those that are no matrices by matrices."""
    module = copy.deepcopy(program.graph_module)
    for old, new in zip(program.graph.nodes, module.graph.nodes, strict=True):
        new.name = old.name  # the copy of an argument `input` is `input_1`, after Python's own function
    state, constants = dict(program.state_dict), dict(program.constants)
    signature = copy.deepcopy(program.graph_signature)
    nodes = {node.name: node for node in module.graph.nodes}
    for name, placeholder in placeholders(program):
        if name not in tensors:
            continue
        if name in constants and name not in state:
            # torch takes tensors of blocks apart in parameters and buffers alone.
            state[name] = constants.pop(name)
            _make_buffer(signature, name)
        is_parameter = isinstance(state[name], torch.nn.Parameter)
        state[name] = torch.nn.Parameter(tensors[name], False) if is_parameter else tensors[name]
        _reshape(module.graph, nodes[placeholder.name])
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=state,
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=program.example_inputs,
        constants=constants,
        verifiers=program.verifiers,
    )


def _make_buffer(signature: ExportGraphSignature, name: str) -> None:
    """What is a constant so called becomes a buffer."""
    for spec in signature.input_specs:
        if spec.target == name:
            spec.kind, spec.persistent = InputKind.BUFFER, True


def _reshape(graph: torch.fx.Graph, placeholder: torch.fx.Node) -> None:
    value = placeholder.meta["val"]
    if value.dim() == 2:
        return
    first = next(node for node in graph.nodes if node.op != "placeholder")
    with graph.inserting_before(first):
        shaped = graph.call_function(torch.ops.aten.reshape.default, (placeholder, list(value.shape)))
    shaped.meta["val"] = value
    placeholder.replace_all_uses_with(shaped, delete_user_cb=lambda user: user is not shaped)
    placeholder.meta["val"] = value.reshape(value.shape[0], -1)


__all__ = ["Quantization", "Quantizer", "RoundedWeight"]
