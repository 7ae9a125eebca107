"""The example inputs of a deployment: what the caller gave, or what a search finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._errors import fail
from ..export import shown
from . import _data, _parameters
from ._files import Content
from ._probe import guess
from ._source import Source

Example = tuple[Any, ...] | dict[str, Any]
_MOST_CONSTANTS = 64


def find(
    source: Source,
    args: Example | Sequence[Example] | None,
    tell: Callable[[str], None],
    data: Sequence[Content] = (),
) -> tuple[list[tuple[Any, ...]], bool]:
    """``(example calls of forward, the primary first; whether they were guessed)``."""
    if args is not None:
        return _given(args, source), False
    assert source.module is not None
    parameters, constants = _known(source)
    if data and (held := _data.examples(data, parameters)):
        return held, False
    if "get_all_bundled_inputs" in source.methods():  # what a mobile archive was recorded with
        recorded: Any = source.module.get_all_bundled_inputs
        bundled = [tuple(each) for each in recorded()]
        for each in bundled:
            tell(f"found forward{shown(each, {})} among the archive's bundled inputs")
        return bundled, True
    tell("looking for inputs that the model takes")
    found = guess(source.module, "forward", parameters, constants)
    if not found.variants:
        signature = ", ".join(f"{each.name}: {each.text}" for each in parameters)
        raise fail("deployment.no_inputs", name=source.name, signature=signature, trials=found.trials)
    for each in found.variants:
        tell(f"found forward{shown(each, {})}")
    return found.variants, True


def _given(args: Any, source: Source) -> list[tuple[Any, ...]]:
    variants = [args] if isinstance(args, (tuple, dict)) else args
    known = (tuple, dict)
    if not isinstance(variants, (list, tuple)) or not variants or not all(type(e) in known for e in variants):
        raise fail("deployment.args", kind=type(args).__name__)
    return [_placed(each, source) if isinstance(each, dict) else each for each in variants]


def _placed(named: dict[str, Any], source: Source) -> tuple[Any, ...]:
    """Arguments by name, in the order of the parameters."""
    names = [each.name for each in _known(source)[0]]
    first = names[: len(named)]
    if set(named) != set(first):
        wrong = next((each for each in named if each not in names), None) or next(
            each for each in first if each not in named
        )
        raise fail("deployment.named_args", name=wrong, known=", ".join(names))
    return tuple(named[each] for each in first)


def _known(source: Source) -> tuple[list[_parameters.Parameter], list[int]]:
    module = source.module
    assert module is not None
    if source.kind == "torchscript":
        from .. import torchscript

        return _parameters.of_archive(torchscript.signature(module)), torchscript.constants(module)[
            -_MOST_CONSTANTS:
        ]
    return _parameters.of_function(module.forward), _sizes(module)


def _sizes(module: torch.nn.Module) -> list[int]:
    """The whole numbers in the attributes and weights of a module tree."""
    found: set[int] = set()
    for each in module.modules():
        found.update(v for v in vars(each).values() if type(v) is int and v > 0)
    for tensor in (*module.parameters(), *module.buffers()):
        found.update(tensor.shape)
    return sorted(found - {0})[-_MOST_CONSTANTS:]
