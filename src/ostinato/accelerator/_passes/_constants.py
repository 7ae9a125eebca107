"""Computes once what is the same at every replay: masks, position tables, frozen weights in another form."""

from __future__ import annotations

import torch

from .._memory import touched
from .._program import ConstantNode, Node, Program, Storage, Value, leaves, map_tensors
from ._context import Context, Uses, inputs

# Beyond this the time that a replay saves is not worth memory that no other value can share.
_LARGEST_BYTES = 16 << 20


def apply(program: Program, context: Context) -> None:
    """Storages made from constants and frozen weights alone become constants, and their nodes go."""
    uses = Uses(program, context)
    known: dict[int, torch.UntypedStorage] = dict(context.fixed)
    made: list[int] = []
    kept = []
    for index, node in enumerate(program.nodes):
        if isinstance(node, ConstantNode) and _lone(node.storage, index, uses, context):
            storage = node.content.clone().untyped_storage()
            known[node.storage] = _declare(program.storages[node.storage], storage)
            made.append(node.storage)
        elif isinstance(node, Node) and _foldable(node, index, known, uses, context):
            for value, memory in _run(node, known, program):
                known[value.storage] = _declare(program.storages[value.storage], memory)
                made.append(value.storage)
        else:
            kept.append(node)
    program.nodes = kept
    used = {number for node in kept for number in touched(node)}
    for number in made:
        if number in used:
            context.add_weight(number)
        else:  # a step on the way to another constant
            program.storages[number].owner = None


def _lone(number: int, index: int, uses: Uses, context: Context) -> bool:
    """Whether node ``index`` is all that ever writes the storage, and nobody outside can."""
    return not context.held(number) and uses.changing(number) == [index]


def _foldable(
    node: Node, index: int, known: dict[int, torch.UntypedStorage], uses: Uses, context: Context
) -> bool:
    outputs = leaves(node.outputs, Value)
    return (
        node.op.namespace in ("aten", "prims")
        and not node.random
        and not node.written
        and bool(outputs)
        and all(v.storage in known for v in inputs(node))
        and all(v.storage in node.fresh and _lone(v.storage, index, uses, context) for v in outputs)
        and sum(v.dtype.itemsize * _elements(v) for v in outputs) <= _LARGEST_BYTES
        and not node.op._schema.name.startswith(("aten::empty", "aten::new_empty"))
    )


def _elements(value: Value) -> int:
    """From the start of its storage to its last element."""
    if 0 in value.sizes:
        return 0
    return value.offset + 1 + sum((n - 1) * s for n, s in zip(value.sizes, value.strides, strict=True))


def _run(
    node: Node, known: dict[int, torch.UntypedStorage], program: Program
) -> list[tuple[Value, torch.UntypedStorage]]:
    """What each output's storage holds after the node, laid out as the capture saw it."""

    def tensor(value: Value) -> torch.Tensor:
        return _look(value, known[value.storage])

    args = map_tensors(node.args, tensor, Value)
    kwargs = {k: map_tensors(v, tensor, Value) for k, v in node.kwargs.items()}
    made = []
    with torch.inference_mode(False), torch.no_grad():
        for value, result in zip(leaves(node.outputs, Value), leaves(node.op(*args, **kwargs)), strict=True):
            nbytes = program.storages[value.storage].nbytes
            memory = torch.zeros(nbytes, dtype=torch.uint8).untyped_storage()
            _look(value, memory).copy_(result)
            made.append((value, memory))
    return made


def _look(value: Value, memory: torch.UntypedStorage) -> torch.Tensor:
    tensor = torch.empty(0, dtype=value.dtype)
    tensor.set_(memory, value.offset, value.sizes, value.strides)  # type: ignore[call-overload]
    tensor = torch._conj(tensor) if value.conj else tensor
    return torch._neg_view(tensor) if value.neg else tensor


def _declare(storage: Storage, memory: torch.UntypedStorage) -> torch.UntypedStorage:
    """From now on the storage is memory that was there before."""
    storage.owner = memory
    storage.constant = storage.fixed = True
    return memory
