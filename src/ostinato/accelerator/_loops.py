"""A loop: a test and a body recorded once, over carried tensors that each round overwrites."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._bodies import Predicate, Undo, run
from ._capture import Recorder
from ._program import ControlNode
from ._source import text


def loop(
    recorder: Recorder,
    test: Any,
    body: Any,
    carried: tuple[Any, ...],
    additional: tuple[Any, ...],
    where: tuple[str, int],
) -> Any:
    """Records ``test`` and ``body``; the node that is made runs them in turn while the test holds."""
    for leaf in carried:
        if not isinstance(leaf, torch.Tensor):
            raise fail("accelerator.loop_number", value=leaf, where=text(where))
    with torch.no_grad():
        places = [torch.empty_like(initial) for initial in carried]
        for place, initial in zip(places, carried, strict=True):
            place.copy_(initial)
    undo = Undo(recorder)

    tested = recorder.scope(real=True)
    recorder.random.lose(tested.nodes)  # a round begins in a state that nobody knows
    decides = run(recorder, tested, lambda: test(*places, *additional))
    if not isinstance(decides, torch.Tensor):
        if decides:
            raise fail("accelerator.endless", where=text(where))
        return tuple(places)
    with recorder.inside(tested):
        predicate = Predicate(recorder, decides, where)
    undo.after(tested, keep=False)

    scope = recorder.scope(real=predicate.now())
    recorder.random.lose(scope.nodes)
    returned = run(recorder, scope, lambda: body(*places, *additional))
    results, spec = pytree.tree_flatten(returned)
    _check(results, places, carried, where)
    with recorder.inside(scope), torch.no_grad():
        _hand_over(recorder, scope.first, results, places)
    undo.after(scope, keep=False)
    recorder.nodes.append(ControlNode("while", predicate.value, [tested.nodes, scope.nodes], where))
    undo.end()
    recorder.real = False  # these are values of before the first round
    return pytree.tree_unflatten(places, spec)


def _check(
    results: list[Any], places: list[torch.Tensor], carried: tuple[Any, ...], where: tuple[str, int]
) -> None:
    looks = [
        [(t.dtype, tuple(t.shape)) if isinstance(t, torch.Tensor) else t for t in ts]
        for ts in (results, places)
    ]
    if looks[0] != looks[1]:
        got, want = (", ".join(map(_look, ts)) for ts in (results, places))
        raise fail("accelerator.loop_results", got=got, want=want, where=text(where))
    if torch.is_grad_enabled() and any(t.requires_grad for t in (*results, *carried)):
        raise fail("accelerator.loop_grad", where=text(where))


def _look(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}" if isinstance(leaf, torch.Tensor) else repr(leaf)


def _hand_over(
    recorder: Recorder, first: int, results: list[torch.Tensor], places: list[torch.Tensor]
) -> None:
    """Puts the results of a round where the next one finds them."""
    own = [recorder.value(r) == recorder.value(p) for r, p in zip(results, places, strict=True)]
    # What was there before the round may be a place that another result is about to overwrite.
    fresh = [
        r if same or recorder.number(r) >= first else r.clone() for r, same in zip(results, own, strict=True)
    ]
    for place, result, same in zip(places, fresh, own, strict=True):
        if not same:
            place.copy_(result)
