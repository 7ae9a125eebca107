"""Undoes what a recorder changes by watching.

torch's composite operators ask for singular or eigenvectors whenever a mode is
on, in case the mode wants gradients; eager does not, and LAPACK gives other last
bits where it computes values alone. Vectors that nobody reads are not asked for.
"""

from __future__ import annotations

import collections
import dataclasses

from ._memory import touched_by_itself
from ._program import Node, Program, Value, leaves

# operator -> (the argument that asks for vectors, which results are vectors)
_VECTORS = {
    "aten::_linalg_svd": ("compute_uv", (0, 2)),
    "aten::_linalg_eigh": ("compute_v", (1,)),
}


def repair(program: Program) -> None:
    """Rewrites such nodes of ``program`` in place."""
    readers: collections.Counter[int] = collections.Counter()
    for node in program.walk():
        readers.update(touched_by_itself(node))

    def rewrite(block: Program) -> None:
        for index, node in enumerate(block.nodes):
            if isinstance(node, Node) and node.op._schema.name in _VECTORS:
                name, results = _VECTORS[node.op._schema.name]
                vectors = {v.storage for r in results for v in leaves(node.outputs[r], Value)}
                alive = any(program.storages[v].alive() is not None for v in vectors)
                if not alive and all(readers[v] == 1 for v in vectors):
                    block.nodes[index] = _without(node, name, results)

    program.each_block(rewrite)


def _without(node: Node, name: str, results: tuple[int, ...]) -> Node:
    """``node`` with False for the argument ``name``, and nothing where the vectors were."""
    outputs = tuple(None if i in results else o for i, o in enumerate(node.outputs))
    position = [a.name for a in node.op._schema.arguments].index(name)
    args, kwargs = node.args, {**node.kwargs, name: False}
    if position < len(args):
        args, kwargs = (*args[:position], False, *args[position + 1 :]), node.kwargs
    return dataclasses.replace(node, outputs=outputs, args=args, kwargs=kwargs)
