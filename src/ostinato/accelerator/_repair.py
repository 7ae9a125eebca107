"""Undoes what a recorder changes by watching.

torch's composite operators ask for singular or eigenvectors whenever a mode is
on, in case the mode wants gradients; eager does not, and LAPACK gives other last
bits where it computes values alone. Vectors that nobody reads are not asked for.
"""

from __future__ import annotations

import dataclasses

from ._memory import touched
from ._program import Node, Program, Value, leaves

# operator -> (the argument that asks for vectors, which results are vectors)
_VECTORS = {
    "aten::_linalg_svd": ("compute_uv", (0, 2)),
    "aten::_linalg_eigh": ("compute_v", (1,)),
}


def repair(program: Program) -> None:
    """Rewrites such nodes of ``program`` in place."""
    for index, node in enumerate(program.nodes):
        if isinstance(node, Node) and node.op._schema.name in _VECTORS:
            name, results = _VECTORS[node.op._schema.name]
            vectors = {v.storage for r in results for v in leaves(node.outputs[r], Value)}
            read = any(touched(n) & vectors for i, n in enumerate(program.nodes) if i != index)
            alive = any(program.storages[v].alive() is not None for v in vectors)
            if not read and not alive:
                outputs = tuple(None if i in results else o for i, o in enumerate(node.outputs))
                names = [a.name for a in node.op._schema.arguments]
                position = names.index(name)
                args, kwargs = node.args, {**node.kwargs, name: False}
                if position < len(args):
                    args, kwargs = (*args[:position], False, *args[position + 1 :]), node.kwargs
                program.nodes[index] = dataclasses.replace(node, outputs=outputs, args=args, kwargs=kwargs)
