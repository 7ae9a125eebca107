"""Conditions and loops as they run: in Python where that can decide, else in the program that is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils import _pytree as pytree

from ..._errors import OstinatoError, fail
from ._heap import Kept, Reach, content, put
from ._piece import Piece, united
from ._values import UNSET, Differ, Kind, alike, as_tensor, kind_of

Place = tuple[str, int]
Write = tuple[torch.Tensor, torch.Tensor]  # what is written in place, and whose value it begins with


class Raised(Exception):
    """What an archive's ``raise`` becomes inside a branch that is traced."""


_depth = 0


def is_open(value: Any) -> bool:
    """Whether only the program will know the value."""
    if isinstance(value, torch.Tensor):
        return torch.compiler.is_exporting()
    if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
        return bool(free_unbacked_symbols(value))
    return False


def raise_exception(plain: Callable[..., None]) -> Callable[..., None]:
    """``raise`` of an archive: inside a branch of the program it says which side is the wrong one."""

    def raised(message: Any, *kind: Any) -> None:
        if _depth:
            raise Raised(str(message) if isinstance(message, str) else "the model raises here")
        plain(message, *kind)

    return raised


class _Body:
    """One side: a function over shared variables, run and undone as often as it takes."""

    def __init__(self, run: Callable[[], Any], get: Callable[[], Any], reach: Reach) -> None:
        self._run, self._get, self._reach = run, get, reach
        self.raised: str | None = None
        self.changed: set[int] = set()
        self.written: dict[int, torch.Tensor] = {}

    def outcome(self, places: set[int], written: list[Write]) -> tuple[list[Any], Any]:
        """The values afterwards of variables, of these places and of these tensors, flat; all is put back."""
        global _depth
        kept = Kept(self._reach)
        _depth += 1
        try:
            copies = [source.clone() for _, source in written]
            for (old, _), copy in zip(written, copies, strict=True):
                self._reach.replace(old, copy)
            versions = [(each, each._version) for each in self._reach.tensors]
            try:
                self._run()
            except Raised as error:
                self.raised = str(error)
            for each, version in versions:
                if each._version != version:
                    self.written[id(each)] = each
            self.changed.update(kept.changed() if not written else [])
            after = (self._get(), [content(self._reach.places[at]) for at in sorted(places)], copies)
            return pytree.tree_flatten(after, is_leaf=_is_leaf)
        finally:
            _depth -= 1
            kept.back()


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (tuple, list, dict))


def branch(
    test: Any,
    then: Callable[[], None],
    orelse: Callable[[], None],
    get: Callable[[], Any],
    set_: Callable[[Any], None],
    names: tuple[str, ...],
    place: Place,
) -> None:
    """``if``: one side in Python, or both in the program where ``test`` is open."""
    if not is_open(test):
        (then if test else orelse)()
        return
    reach = Reach([then, orelse, get])
    bodies = [_Body(each, get, reach) for each in (then, orelse)]
    specs, pieces = _traced(bodies, reach, set(), [])
    places, written = _effects(bodies)
    if places or written:
        specs, pieces = _traced(bodies, reach, places, written)
    wrong = [body.raised is not None for body in bodies]
    pred = _predicate(test)
    if all(wrong):
        raise _bad(place, "", "both sides of the condition raise")
    if any(wrong):
        message = bodies[wrong.index(True)].raised or ""
        torch.ops.aten._assert_async.msg(torch.logical_not(pred) if wrong[0] else pred, message)
        (orelse if wrong[0] else then)()
        return
    told = [*names, *["an attribute or list"] * len(pieces[0].values)]
    if specs[0] != specs[1]:
        raise _bad(place, "", _structure(names))
    firsts, seconds = (piece.values for piece in pieces)
    kinds = [
        None if alike(first, second) else _kind(first, second, place, told, at)
        for at, (first, second) in enumerate(zip(firsts, seconds, strict=True))
    ]
    operands = united(pieces)

    def side(piece: Piece) -> Callable[..., tuple[torch.Tensor, ...]]:
        def function(*given: Any) -> tuple[torch.Tensor, ...]:
            values = piece({id(old): new for old, new in zip(operands, given, strict=True)})
            return tuple(_owned(values, kinds))

        return function

    results: Any = ()
    if any(kind is not None for kind in kinds):
        results = torch.ops.higher_order.cond(pred, side(pieces[0]), side(pieces[1]), tuple(operands))
    _store(iter(results), kinds, firsts, specs[0], reach, places, written, set_)


def _traced(
    bodies: list[_Body], reach: Reach, places: set[int], written: list[Write]
) -> tuple[list[Any], list[Piece]]:
    specs, pieces = [], []

    def run(body: _Body) -> list[Any]:
        leaves, spec = body.outcome(places, written)
        specs.append(spec)
        return leaves

    for body in bodies:
        pieces.append(Piece(functools.partial(run, body), _around(reach)))
    return specs, pieces


def _effects(bodies: list[_Body]) -> tuple[set[int], list[Write]]:
    """The places and tensors that any of the bodies was seen to change."""
    found = {}
    for body in bodies:
        for each in body.written.values():  # what is written is the whole; views of it are made in the body
            whole = each if each._base is None else each._base
            found[id(whole)] = (whole, whole)
    return {at for body in bodies for at in body.changed}, [*found.values()]


def _around(reach: Reach) -> list[Any]:
    return [*reach.tensors, *{str(each): each for each in reach.symbols}.values()]


def _predicate(test: Any) -> torch.Tensor:
    if isinstance(test, torch.Tensor):
        flat = test.reshape(())
        return flat if flat.dtype == torch.bool else flat != 0
    return as_tensor(test if isinstance(test, torch.SymBool) else test != 0, Kind(torch.bool, torch.Size(())))


def _owned(values: list[Any], kinds: list[Kind | None]) -> list[torch.Tensor]:
    """The values that the program has, as tensors of their kinds that share memory with nothing."""
    return [
        as_tensor(value, kind).clone() for value, kind in zip(values, kinds, strict=True) if kind is not None
    ]


def _kind(first: Any, second: Any, place: Place, names: list[str], at: int) -> Kind:
    try:
        return kind_of(first, second)
    except Differ as error:
        raise _bad(place, names[at] if at < len(names) else "a value", str(error)) from None


def _structure(names: tuple[str, ...]) -> str:
    return f"what is assigned ({', '.join(names) or 'lists and attributes'}) is of different lengths or kinds"


def _store(
    results: Any,
    kinds: list[Kind | None],
    constants: list[Any],
    spec: Any,
    reach: Reach,
    places: set[int],
    written: list[Write] | None,
    set_: Callable[[Any], None],
) -> None:
    """Puts results where the bodies would have left them."""
    leaves = [
        constant if kind is None else next(results) for kind, constant in zip(kinds, constants, strict=True)
    ]
    variables, contents, finals = pytree.tree_unflatten(leaves, spec)
    for at, each in zip(sorted(places), contents, strict=True):
        put(reach.places[at], each)
    if written is not None:
        for (old, _), new in zip(written, finals, strict=True):
            old.copy_(new)
    set_(variables)


def _bad(place: Place, name: str, what: str) -> OstinatoError:
    file, line = place
    return fail("torchscript.branches", file=file, line=line, what=f"{name} {what}".strip())


# ---- loops ----


def loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    get: Callable[[], Any],
    set_: Callable[[Any], None],
    names: tuple[str, ...],
    place: Place,
) -> None:
    """``while``: rounds in Python as long as it can tell whether there is one more, else in the program."""
    while not is_open(more := test()):
        if not more:
            return
        body()
    _open_loop(test, body, get, set_, names, place)


def count(
    bounds: tuple[Any, ...],
    body: Callable[[Any], None],
    get: Callable[[], Any],
    set_: Callable[[Any], None],
    names: tuple[str, ...],
    place: Place,
) -> None:
    """``for`` over a range."""
    if not any(isinstance(each, (torch.Tensor, torch.SymInt)) for each in bounds):
        for index in range(*bounds):
            body(index)
        return
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    held = [start]

    def again() -> Any:
        return held[0] < stop if not isinstance(step, int) or step > 0 else held[0] > stop

    def round_() -> None:
        body(held[0])
        held[0] = held[0] + step

    _open_loop(again, round_, get, set_, names, place)


def _open_loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    get: Callable[[], Any],
    set_: Callable[[Any], None],
    names: tuple[str, ...],
    place: Place,
) -> None:
    reach = Reach([test, body, get, set_])
    side = _Body(body, get, reach)
    _traced([side], reach, set(), [])
    places, written = _effects([side])
    own = Kept(reach)
    state = (get(), [content(reach.places[at]) for at in sorted(places)], [old for old, _ in written])
    start, spec = pytree.tree_flatten(state, is_leaf=_is_leaf)
    told = [*names, *["an attribute or list"] * len(start)]
    (after,), (first,) = _traced([side], reach, places, written)
    if after != spec:
        raise _bad(place, "", _structure(names))
    kinds = [
        None if alike(before, later) else _kind(before, later, place, told, at)
        for at, (before, later) in enumerate(zip(start, first.values, strict=True))
    ]
    carried = [as_tensor(value, kind).clone() for value, kind in zip(start, kinds, strict=True) if kind]
    moved = [
        (old, new) for (old, _), new in zip(written, carried[len(carried) - len(written) :], strict=True)
    ]

    def within(run: Callable[[], list[Any]]) -> list[Any]:
        """Runs with the carried tensors as the values of their variables and places."""
        _store(iter(carried), kinds, start, spec, reach, places, None, set_)
        try:
            return run()
        finally:
            own.back()

    def round_() -> list[Any]:
        leaves, later = side.outcome(places, moved)
        if later != spec:
            raise _bad(place, "", _structure(names))
        for at, (value, kind) in enumerate(zip(leaves, kinds, strict=True)):
            if kind is None and not alike(value, start[at]):
                raise _bad(place, told[at], "changes from round to round and is no tensor or number")
        return [as_tensor(value, kind) for value, kind in zip(leaves, kinds, strict=True) if kind]

    def asked() -> list[Any]:
        for old, new in moved:
            reach.replace(old, new)
        return [_predicate(test())]

    around = [*carried, *_around(reach)]
    pieces = [Piece(functools.partial(within, each), around) for each in (asked, round_)]
    inside = {id(each) for each in carried}
    extra = [each for each in united(pieces) if id(each) not in inside]

    def function(piece: Piece) -> Callable[..., tuple[Any, ...]]:
        def called(*given: Any) -> tuple[Any, ...]:
            known = {id(old): new for old, new in zip([*carried, *extra], given, strict=True)}
            return tuple(each.clone() for each in piece(known))

        return called

    asks = function(pieces[0])
    results = torch.ops.higher_order.while_loop(
        lambda *given: asks(*given)[0], function(pieces[1]), tuple(carried), tuple(extra)
    )
    _store(iter(results), kinds, start, spec, reach, places, written, set_)


def negated(value: Any) -> Any:
    """``not`` of a value, of an open one too."""
    if is_open(value):
        return torch.logical_not(_predicate(value))
    return not value


__all__ = ["UNSET", "branch", "count", "is_open", "loop", "negated", "raise_exception"]
