"""The data that a deployment is proved on, as calls of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .._errors import fail
from ..export import Call, Variant, describe, shown
from ._files import Content
from ._fit import Args, Taken, calls, complete, open_sizes
from ._parameters import Parameter
from ._program import names_of

_MOST_CALLS = 512
_MOST_VARIANTS = 16  # a loaded file keeps as many graphs of a method


def examples(contents: Sequence[Content], parameters: Sequence[Parameter]) -> list[Args]:
    """One call of each signature in the data; none where some of it does not hold all arguments."""
    names = [each.name for each in parameters]
    required = sum(each.required for each in parameters)
    found: dict[str, Args] = {}
    for content in contents:
        whole = complete(content, names, required)
        if whole is None:
            return []
        for args in whole:
            args = tuple(_plain(each, p.kind) for each, p in zip(args, parameters, strict=False))
            found.setdefault(shown(args, {}), args)
    if len(found) > _MOST_VARIANTS:
        raise fail("deployment.many_variants", path=contents[0].name, count=len(found), most=_MOST_VARIANTS)
    return list(found.values())


def _plain(value: object, kind: str) -> object:
    """A number that a file keeps as an array, where the model takes a number."""
    if kind in ("int", "float", "bool") and hasattr(value, "item") and hasattr(value, "dim"):
        return {"int": int, "float": float, "bool": bool}[kind](value.item()) if not value.dim() else value
    return value


def _taken(variants: Sequence[Variant]) -> list[Taken]:
    """What the variants of a method take."""
    return [Taken(each.args, open_sizes(describe(each.program)[0])) for each in variants]


def plans(
    contents: Sequence[Content], methods: Mapping[str, list[Variant]], tell: Callable[[str], None]
) -> list[list[Call]]:
    """For each file its calls in a row, from the initial state; then some around a change and a reset.

    Of more than `_MOST_CALLS` calls each file gives the first of its share.
    UsageError where a file does not fit.
    """
    method = "forward" if "forward" in methods else next(iter(methods))
    names = names_of(methods[method][0].program)
    fitted = [calls(each, names, _taken(methods[method])) for each in contents]
    share = max(_MOST_CALLS // len(contents), 2)
    rows = [[Call(method, args) for args in each[:share]] for each in fitted]
    used, count = sum(map(len, rows)), sum(map(len, fitted))
    tell(f"found {count} calls in {len(contents)} files" + (f", of which {used} are made" * (used < count)))
    first = [row[0] for row in rows if row]
    resets = [Call(name) for name, variants in methods.items() if variants[0].resets]
    around = [*first[:8], *(call for reset in resets for call in (reset, *first[:1] * 3)), *first[:1]]
    return [row for row in rows if row] + [around]


def covers(found: Sequence[Sequence[Call]], methods: Mapping[str, list[Variant]]) -> bool:
    """Whether the calls use every variant of every method but those that reset."""
    made = {(call.method, shown(call.args, call.kwargs or {})) for plan in found for call in plan}
    return all(
        (name, shown(each.args, each.kwargs)) in made
        for name, variants in methods.items()
        if not variants[0].resets
        for each in variants
    )


__all__ = ["covers", "examples", "plans"]
