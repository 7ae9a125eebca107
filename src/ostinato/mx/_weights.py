"""Which parameters of a module are weights that can be quantized, each with every place that holds it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ._layers import CONVOLUTIONS, LAYERS, own_class
from ._report import LeftWeight
from ._sharding import is_sharded
from ._tensor import MXTensor

FilterFn = Callable[[nn.Module, str], bool]
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@dataclasses.dataclass(frozen=True)
class Place:
    """``module.attribute``, with its name from the root."""

    module: nn.Module
    attribute: str
    name: str


@dataclasses.dataclass
class Weight:
    """A parameter and the places that share it."""

    parameter: nn.Parameter
    places: list[Place]
    flat: bool  # kept as a matrix: the weight of a convolution


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is asked of the layers, as far as it decides which can be taken."""

    filter_fn: FilterFn | None
    fake: bool
    activations: bool


def find(root: nn.Module, wanted: Wanted) -> tuple[list[Weight], list[LeftWeight]]:
    """The weights to quantize, and those that were considered and stay, with the reason."""
    places: dict[int, list[tuple[Place, str | None]]] = {}  # with why not; "" where nobody asked for it
    parameters: dict[int, nn.Parameter] = {}
    left: list[LeftWeight] = []
    for name, module in root.named_modules():
        candidate = any(_is_weight(module, a, p) for a, p in _own_parameters(module))
        computed = isinstance(module, LAYERS) and "weight" not in module._parameters
        chosen = (candidate or computed) and (wanted.filter_fn is None or wanted.filter_fn(module, name))
        if computed and chosen:
            left.append(LeftWeight(_joined(name, "weight"), "it is computed from other parameters"))
        for attribute, parameter in _own_parameters(module):
            place = Place(module, attribute, _joined(name, attribute))
            asked = chosen and _is_weight(module, attribute, parameter)
            reason = _why_not(module, parameter, wanted) if asked else ""
            places.setdefault(id(parameter), []).append((place, reason))
            parameters[id(parameter)] = parameter
    weights = []
    for key, judged in places.items():
        weight, reasons = _decide(parameters.pop(key), judged)
        weights += weight
        left += reasons
    return weights, left


def _decide(
    parameter: nn.Parameter, judged: list[tuple[Place, str | None]]
) -> tuple[list[Weight], list[LeftWeight]]:
    places = [place for place, _ in judged]
    flat = {isinstance(place.module, CONVOLUTIONS) for place in places}
    if all(reason is None for _, reason in judged) and len(flat) == 1:
        return [Weight(parameter, places, flat.pop())], []
    left = []
    for place, reason in judged:
        if reason is None:
            others = ", ".join(p.name for p in places if p is not place)
            reason = f"it is shared with {others}, which cannot hold it quantized or was not chosen"
        if reason:
            left.append(LeftWeight(place.name, reason))
    return [], left


def _own_parameters(module: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    for attribute, parameter in module._parameters.items():
        if parameter is not None:
            yield attribute, parameter


def _joined(name: str, attribute: str) -> str:
    return f"{name}.{attribute}" if name else attribute


def _is_weight(module: nn.Module, attribute: str, parameter: nn.Parameter) -> bool:
    if isinstance(module, LAYERS):
        return attribute == "weight"
    if is_lazy(parameter) or parameter.dim() != 3:
        return False
    # Experts are parameters of people's own modules; those of torch's (bilinear, attention) are none.
    containers = (nn.ParameterList, nn.ParameterDict)
    return isinstance(module, containers) or not type(module).__module__.startswith("torch.")


def _why_not(module: nn.Module, parameter: nn.Parameter, wanted: Wanted) -> str | None:
    if is_lazy(parameter):
        return "it has no shape before the first call"
    if isinstance(parameter, MXTensor):
        return "it is quantized already"
    if is_sharded(parameter):
        return "it is a DTensor: quantize the module first, then spread it"
    if parameter.dtype not in _DTYPES:
        return f"its dtype is {parameter.dtype}"
    if not isinstance(module, LAYERS):
        if 1 in parameter.shape[:2]:
            return "it has the shape of one row or one matrix, not of several experts"
        return "only layers can round a weight in each call" if wanted.fake else None
    if isinstance(module, nn.Embedding) and module.max_norm is not None:
        return "max_norm changes it in place"
    embedding = isinstance(module, nn.Embedding)
    needs_own = wanted.fake or isinstance(module, CONVOLUTIONS) or (wanted.activations and not embedding)
    if needs_own and own_class(module) is None:
        return f"{type(module).__name__} computes in a way of its own"
    return None


__all__ = ["FilterFn", "Wanted", "Weight", "find"]
