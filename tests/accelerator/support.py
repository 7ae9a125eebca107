"""What the tests of capture and replay share."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.utils import _pytree as pytree

from ostinato.accelerator import Graph


def capture(function, **options):
    """``function()`` inside a new graph; the graph and what it returned."""
    graph = Graph(**options)
    with graph:
        out = function()
    return graph, out


def captured(function, numerics="fast"):
    """``function()`` as inference has it, inside a new graph; the graph and what it returned."""
    with torch.no_grad():
        return capture(function, numerics=numerics)


def refuses(call, kind, code):
    """``call()`` raises this error of ours, with a hint; returns it."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.code == "accelerator." + code
    assert caught.value.hint
    return caught.value


def in_thread(function):
    """Runs ``function`` in another thread and returns the error that it raised there."""
    errors = []

    def run():
        try:
            function()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return errors[0] if errors else None


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _bits(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous().view(-1)


def identical(got, want):
    """The same dtype, shape, strides and bits; a NaN equals a NaN."""
    if (got.dtype, got.shape, got.stride()) != (want.dtype, want.shape, want.stride()):
        return False
    got, want = _bits(got), _bits(want)
    if not got.is_floating_point():
        return torch.equal(got, want)
    nan = got.isnan() & want.isnan()
    return bool((nan | (got == want) & (got.signbit() == want.signbit())).all())


def assert_identical(got, want):
    """The same structure, and tensor by tensor the same dtype, shape, strides and bits."""
    got_leaves, got_spec = pytree.tree_flatten(got)
    want_leaves, want_spec = pytree.tree_flatten(want)
    assert got_spec == want_spec
    for index, (g, w) in enumerate(zip(got_leaves, want_leaves, strict=True)):
        if isinstance(w, torch.Tensor):
            assert identical(g, w), f"leaf {index}: {g} is not {w}"
        else:
            assert g == w


def assert_replays_like_eager(function, inputs, feed, replays=3, **options):
    """Captures ``function()`` once; for each replay feeds the inputs and compares with eager.

    ``feed(tensor)`` changes an input in place. Inputs that the function writes are compared too.
    """
    before = [t.clone() for t in inputs]
    graph, out = capture(function, **options)
    assert_identical([t.clone() for t in inputs], before)  # the capture changed nothing
    addresses = [t.data_ptr() for t in tensors(out)]
    for _ in range(replays):
        for tensor in inputs:
            feed(tensor)
        start = [t.clone() for t in inputs]
        graph.replay()
        got = [t.clone() for t in tensors(out)], [t.clone() for t in inputs]
        for tensor, value in zip(inputs, start, strict=True):
            tensor.copy_(value)
        want = function()
        assert_identical(got, ([t.clone() for t in tensors(want)], [t.clone() for t in inputs]))
        for tensor, value in zip(inputs, got[1], strict=True):
            tensor.copy_(value)
        assert [t.data_ptr() for t in tensors(out)] == addresses
    return graph, out
