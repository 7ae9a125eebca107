"""The checks of linear algebra that torch leaves out while a mode watches.

``torch.linalg.cholesky`` raises for a matrix that has no factor; seen by a mode
it only computes, in case the mode's tensors hold no values. A replay is to raise
as eager does: the check becomes a node behind the operator that reports.
"""

from __future__ import annotations

from typing import Any

import torch

from ._program import AnyNode, Node, Value

# Functions that raise for a bad matrix, and the name that torch's message gives them.
CHECKING: dict[Any, str] = {
    torch.linalg.cholesky: "linalg.cholesky",
    torch.linalg.inv: "linalg.inv",
    torch.inverse: "linalg.inv",
    torch.Tensor.inverse: "linalg.inv",
    torch.linalg.tensorinv: "linalg.inv",
    torch.linalg.solve: "torch.linalg.solve",
    torch.linalg.tensorsolve: "torch.linalg.solve",
    torch.linalg.lu_factor: "torch.linalg.lu_factor",
    torch.linalg.ldl_factor: "torch.linalg.ldl_factor",
}

# Operators whose last result says for each matrix whether it was a good one.
_REPORTS = {
    "aten::linalg_cholesky_ex",
    "aten::linalg_inv_ex",
    "aten::linalg_solve_ex",
    "aten::_linalg_solve_ex",
    "aten::linalg_lu_factor_ex",
    "aten::linalg_ldl_factor_ex",
}


def add_checks(nodes: list[AnyNode], start: int, name: str) -> None:
    """Puts a check behind what was recorded from ``start`` on by the function that torch calls ``name``."""
    for node in nodes[start:]:
        if isinstance(node, Node) and node.op._schema.name in _REPORTS:
            info: Value = node.outputs[-1]
            nodes.append(
                Node(
                    op=torch.ops.aten._linalg_check_errors.default,
                    args=(info, name),
                    kwargs={"is_matrix": not info.sizes},
                    outputs=None,
                    fresh=frozenset(),
                    written=frozenset(),
                    where=node.where,
                )
            )
