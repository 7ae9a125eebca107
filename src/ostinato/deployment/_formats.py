"""Which block format each weight gets: what the caller asks for, and what an error allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from .. import mx
from .._errors import fail
from ._weights import Weight

Formats = dict[str, mx.MXFormat | None]  # name of a weight → its format; None: it stays as it is

_KNOWN = {
    each.name: each
    for each in (mx.mxfp4, mx.mxfp6_e2m3, mx.mxfp6_e3m2, mx.mxfp8_e4m3, mx.mxfp8_e5m2, mx.mxint8)
}
# The next that is closer to float32, for a weight that costs too much.
_WIDER: dict[str, mx.MXFormat | None] = {
    "mxfp4": mx.mxfp6_e2m3,
    "mxfp6_e2m3": mx.mxint8,
    "mxfp6_e3m2": mx.mxint8,
    "mxfp8_e4m3": mx.mxint8,
    "mxfp8_e5m2": mx.mxint8,
    "mxint8": None,
}


def formats_for(weights: Iterable[Weight], wanted: Any) -> Formats:
    """The format of each weight; ``wanted`` is one for all or a dict by glob, the last that fits.

    UsageError for what is no format, and for a glob that fits no weight.
    """
    names = [each.name for each in weights]
    rules = wanted.items() if isinstance(wanted, Mapping) else [("*", wanted)]
    chosen: Formats = dict.fromkeys(names)
    for glob, value in rules:
        fits = [name for name in names if fnmatchcase(name, glob)]
        if not fits and glob != "*":
            raise fail("deployment.mx_glob", glob=glob, known=", ".join(names) or "none")
        chosen.update(dict.fromkeys(fits, _format(value)))
    return chosen


def _format(value: Any) -> mx.MXFormat | None:
    if value is None or value == "none":
        return None
    if isinstance(value, mx.MXFormat):
        return value
    if value not in _KNOWN:
        raise fail("deployment.mx", value=value, known=", ".join(_KNOWN))
    return _KNOWN[value]


def within(
    formats: Formats, budget: float, error_of: Callable[[Formats], float], tell: Callable[[str], None]
) -> Formats:
    """Widen what costs most, weight by weight, until the error of all together is within the budget.

    ``error_of`` measures the model with some of its weights rounded; without any it is 0.
    """
    current = dict(formats)
    costs = {name: error_of({name: each}) for name, each in current.items() if each}
    while costs and (total := error_of(current)) > budget:
        worst = max(costs, key=costs.__getitem__)
        before = current[worst]
        assert before is not None
        wider = current[worst] = _WIDER[before.name]
        tell(f"error {total:.3g}: {worst} becomes {wider.name if wider else 'what it was'}")
        if wider is None:
            del costs[worst]
        else:
            costs[worst] = error_of({worst: wider})
    return current


__all__ = ["Formats", "formats_for", "within"]
