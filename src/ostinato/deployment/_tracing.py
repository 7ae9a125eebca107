"""Programs of a module's methods, for the sizes of the examples or with some of them open."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from .._errors import OstinatoError, fail
from ..export import Variant, trace_stateful
from ._sizes import grouped, named
from ._source import Source

Tell = Callable[[str], None]
# What a function of an archive is compiled under: <name/code/__torch__/….py>.
_CODE = re.compile(r"<[^>]*?/(code/[^>]*\.py)>")
_LOCATED = ("export.untraceable", "export.eager")


def traced(
    source: Source,
    calls: list[tuple[Any, ...]],
    left_out: dict[str, str],
    tell: Tell,
    dynamic: Mapping[str, str] | None = None,
) -> dict[str, list[Variant]]:
    """``forward`` and the method that resets; what else the model has is named in ``left_out``.

    With ``dynamic`` (see `named`; it may be empty) sizes in which calls differ are open as well.
    """
    assert source.module is not None
    resets = source.reset_methods()
    for name in source.methods():
        if name != "forward" and name not in resets:
            left_out[name] = "only forward and reset methods are deployed"
    tell("tracing forward" + (f" and {resets[0]}" if resets else ""))
    module = source.traceable()
    trace = functools.partial(_trace, module, _open(source, calls, dynamic))
    if dynamic is not None and not dynamic and len(calls) > 1:
        trace = functools.partial(_joined, module, calls, tell)
    if not resets:
        return trace()
    left_out.update(dict.fromkeys(resets[1:], f"{resets[0]} resets already"))
    try:
        return trace(resets[0])
    except OstinatoError as error:
        # Where forward alone cannot be exported either, its own error is the better one.
        methods = trace()
        left_out[resets[0]] = error.message
        return methods


def _open(
    source: Source, calls: list[tuple[Any, ...]], dynamic: Mapping[str, str] | None
) -> list[tuple[tuple[Any, ...], Any]]:
    """The examples to trace, and the sizes that each leaves open."""
    if not dynamic:
        return [(each, None) for each in calls]
    assert source.module is not None
    names = list(inspect.signature(source.module.forward).parameters)
    return [(each, named(dynamic, each, names)) for each in calls]


def _joined(
    module: torch.nn.Module, calls: list[tuple[Any, ...]], tell: Tell, reset: str | None = None
) -> dict[str, list[Variant]]:
    """One program for examples that differ in sizes alone, where the model takes that; else one for each."""
    groups = grouped(calls)
    try:
        return _trace(module, [(group[0], shapes) for group, shapes in groups], reset)
    except OstinatoError as error:
        if all(shapes is None for _, shapes in groups):
            raise
        tell(f"found that sizes have to stay fixed: {error.message}")
        return _trace(module, [(each, None) for each in calls], reset)


def _trace(
    module: torch.nn.Module, examples: list[tuple[tuple[Any, ...], Any]], reset: str | None = None
) -> dict[str, list[Variant]]:
    variants: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]
    variants = {"forward": [(call, {}) for call, _ in examples]}
    shapes = [each for _, each in examples]
    try:
        return trace_stateful(module, variants, reset, dynamic_shapes={"forward": shapes})
    except OstinatoError as error:
        # torch's export loses its way among the constants of a branch while a size is a symbol.
        if any(shapes) and isinstance(error.__cause__, StopIteration):
            raise fail("deployment.open_branches") from error
        raise


@contextmanager
def located(name: str) -> Iterator[None]:
    """An error of tracing, with the line of the archive's code where it arose."""
    try:
        yield
    except OstinatoError as error:
        place = _place(error)
        if error.code not in _LOCATED or place is None:
            raise
        cause = error.__cause__
        inner = cause
        while inner is not None and not isinstance(inner, OstinatoError):
            inner = inner.__cause__
        if isinstance(inner, OstinatoError):  # it knows the line itself
            raise inner from error
        first = next((line for line in str(cause).splitlines() if line.strip()), "")
        values = {"file": place[0], "line": place[1], "reason": f"{type(cause).__name__}: {first[:300]}"}
        code = "deployment.open_size" if "data-dependent" in str(cause).lower() else "deployment.line"
        raise fail(code, name=name, **values) from error


def _place(error: BaseException | None) -> tuple[str, int] | None:
    """The innermost line of an archive's code in the tracebacks of an error and what it came from."""
    found = None
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            match = _CODE.fullmatch(trace.tb_frame.f_code.co_filename)
            if match:
                found = (match[1], trace.tb_lineno)
            trace = trace.tb_next
        error = error.__cause__
    return found
