"""``mx_dequantize`` and ``mx_linear`` in programs: written as operators of torch, and put back.

What is put back has been compared operator by operator, argument by argument and table
by table with what is written here, and the weights are those of the program: a file
may say anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from .._lowering import (
    add_constant,
    arguments,
    build,
    call,
    drop_constant,
    erase,
    match,
    substitute,
    weights_of,
)
from ._formats import FORMATS, format_of
from ._joining import join_products
from ._ops import has_numbers, mx_dequantize, mx_linear
from ._pattern import CODES, SCALE_TABLE, SCALES, Decoding, named_like, table, tables, value_table
from ._quantize import BLOCK_SIZES

_aten = torch.ops.aten
_OF_VALUES = {value_table(format): format for format in FORMATS.values()}
_LONGEST_END = 4  # the operators after the product: view, slice, clone, conversion


def expand(program: ExportedProgram) -> None:
    """Write every ``mx_dequantize`` and ``mx_linear`` as operators of torch."""
    graph = program.graph
    known: dict[Any, Node] = {}  # a weight of several users is decoded once
    for node in [*graph.nodes]:
        if node.target not in (mx_dequantize, mx_linear):
            continue
        with graph.inserting_before(node):
            if node.target is mx_dequantize:
                made = _decoded(program, arguments(node), known)
            else:
                x, codes, scales, bias, *how = arguments(node)
                value = x.meta["val"]
                weight = _decoded(program, (codes, scales, *how, value.shape[-1], value.dtype), known)
                made = call(graph, _aten.linear.default, (x, weight, *([] if bias is None else [bias])))
        substitute(program, node, made)
        graph.erase_node(node)
    program.graph_module.recompile()


def _decoded(program: ExportedProgram, args: Any, known: dict[Any, Node]) -> Node:
    if args not in known:
        codes, scales, name, block_size, columns, dtype = args
        format = format_of(name)
        decoding = Decoding(format, block_size, columns, dtype, _outer(scales))
        slots = {CODES.name: codes, SCALES.name: scales}
        slots |= {each: add_constant(program, each, table(each)) for each in tables(format)}
        known[args] = build(program.graph, decoding.pattern, slots)
    return known[args]


def _outer(scales: Node) -> tuple[int, ...]:
    # Of a weight all sizes are numbers; of rows that are looked up, their count may be a symbol.
    return tuple(size if isinstance(size, int) else -1 for size in scales.meta["val"].shape[:-1])


def restore(program: ExportedProgram) -> None:
    """Put ``mx_dequantize`` in the place of each pattern, and ``mx_linear`` where a product reads it."""
    weights = weights_of(program)
    held = _tables_of(program, weights)
    for lookup in _users(held.get(SCALE_TABLE)):
        _restore_one(program, lookup, held, weights)
    join_products(program, weights)
    for node in held.values():
        if not node.users:
            drop_constant(program, node)
    program.graph_module.recompile()


def _tables_of(program: ExportedProgram, weights: dict[Node, torch.Tensor]) -> dict[str, Node]:
    """The constants of the program that are tables, by their numbers: names prove nothing."""
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    named = {named_like(value): node for node, value in weights.items() if node.name in constants}
    return {name: node for name, node in named.items() if name is not None}


def _restore_one(
    program: ExportedProgram, lookup: Node, held: dict[str, Node], weights: dict[Node, torch.Tensor]
) -> None:
    for last, decoding in _candidates(lookup, held):
        needed = tables(decoding.format)
        slots = {name: held[name] for name in needed if name in held}
        nodes = match(decoding.pattern, last, slots) if len(slots) == len(needed) else None
        if nodes is None or not _fits(slots[CODES.name], slots[SCALES.name], decoding, weights):
            continue
        args = (slots[CODES.name], slots[SCALES.name], decoding.format.name, decoding.block_size)
        with program.graph.inserting_before(last):
            made = call(program.graph, mx_dequantize, (*args, decoding.columns, decoding.dtype))
        made.meta = {**last.meta, "val": made.meta["val"]}
        substitute(program, last, made)
        erase(nodes)
        return


def _candidates(lookup: Node, held: dict[str, Node]) -> Iterator[tuple[Node, Decoding]]:
    """What a lookup of scales may be part of, with the last operator of each: the longest first.

    Nothing is proven by this; `match` compares every operator with what is supposed here.
    """
    product = next(iter(lookup.users), None)
    values = _argument(product, 0)
    format = _OF_VALUES.get(next((n for n, t in held.items() if t is _argument(_argument(values, 0), 0)), ""))
    scales = _argument(_argument(lookup, 1), 0)
    if product is None or values is None or format is None or scales is None:
        return
    block_size = values.args[-1][-1] if isinstance(values.args[-1], (list, tuple)) else None
    ends = [product]
    while len(ends) <= _LONGEST_END and len(ends[-1].users) == 1:
        ends.append(next(iter(ends[-1].users)))
    for last in reversed(ends[1:]):
        value = last.meta.get("val")
        if not isinstance(value, torch.Tensor) or not value.dim() or block_size not in BLOCK_SIZES:
            continue
        columns = value.shape[-1]
        if isinstance(columns, int) and has_numbers(value.dtype):
            yield last, Decoding(format, block_size, columns, value.dtype, _outer(scales))


def _users(node: Node | None) -> list[Node]:
    return [] if node is None else [*node.users]


def _argument(node: Any, i: int) -> Any:
    """The argument of that place where it is a node."""
    found = node.args[i] if isinstance(node, Node) and i < len(node.args) else None
    return found if isinstance(found, Node) else None


def _fits(codes: Node, scales: Node, decoding: Decoding, weights: dict[Node, torch.Tensor]) -> bool:
    """Whether these are a weight of the program, or the same rows of both its parts, in whole blocks."""
    rows = codes.target is scales.target is _aten.index_select.default
    if rows:
        (codes, *of_codes), (scales, *of_scales) = codes.args, scales.args  # type: ignore[assignment]
        if of_codes != of_scales or of_codes[0] != 0:
            return False
    q, s = weights.get(codes), weights.get(scales)
    if q is None or s is None or not q.dim() or not s.dim():
        return False
    if any(t.dtype is not torch.uint8 or t.device.type != "cpu" for t in (q, s)):
        return False
    given, wanted = s.shape[:-1], decoding.outer
    if len(given) != len(wanted) or given[rows:] != wanted[rows:] or q.shape[:-1] != given:
        return False
    sizes = decoding.format.row_sizes(decoding.columns, decoding.block_size)
    return (q.shape[-1], s.shape[-1]) == sizes


__all__ = ["expand", "restore"]
