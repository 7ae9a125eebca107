"""Attention in one kernel: what torch records as one node, and what was written as its parts."""

from __future__ import annotations

import dataclasses
import math

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program, Value
from ._attention_parts import Parts, parts_around
from ._context import Context, Edit, Uses
from ._layout import expanded, is_float

_MAX_DIMS = 256  # of a head; kMaxHeadDims in csrc/kernels/attention.h


@dataclasses.dataclass(slots=True)
class Heads:
    """Queries, keys, values and results by batch and head, all with four dimensions."""

    q: Value
    k: Value
    v: Value
    mask: Value | None
    out: Value
    logsumexp: Value | None
    scale: float
    causal: bool
    blind_is_zero: bool  # of a query that sees no key

    def takes(self) -> bool:
        """Whether the kernel takes them."""
        values = (self.q, self.k, self.v, self.mask, self.out, self.logsumexp)
        return (
            is_float(*values)
            and all(0 not in v.sizes for v in values if v is not None)
            and not _faster_elsewhere(self.q.sizes[2], self.k.sizes[2])
            and max(self.q.sizes[-1], self.v.sizes[-1]) <= _MAX_DIMS
            and (self.out.strides[-1] == 1 or self.out.sizes[-1] == 1)
        )

    def fused(self, sources: tuple[Node, ...]) -> FusedNode:
        """The call of the kernel."""
        outputs = (self.out,) if self.logsumexp is None else (self.out, self.logsumexp)
        tensors = (self.q, self.k, self.v, self.mask, self.out, self.logsumexp)
        return FusedNode(
            kernel="ostinato::attention",
            args=(*tensors, self.scale, self.causal, self.blind_is_zero),
            outputs=outputs,
            fresh=frozenset(v.storage for v in outputs),
            written=frozenset(),
            weights=(),
            sources=sources,
        )


def _faster_elsewhere(queries: int, keys: int) -> bool:
    """Whether torch's own kernel is as fast: too many queries to go one by one, too few for lanes."""
    return 4 <= queries < 8 and keys >= 512


def apply(program: Program, context: Context) -> None:
    """Attention of float32 heads goes to the kernel."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        if not isinstance(node, Node):
            continue
        if node.op is _flash:
            heads = _of_flash(node, index, uses)
            if heads is not None and heads.takes():
                edit.replace({index}, heads.fused((node,)), index)
            continue
        parts = parts_around(program, index, uses)
        heads = None if parts is None else _of_parts(parts)
        if parts is not None and heads is not None and heads.takes():
            sources = [program.nodes[i] for i in sorted(parts.nodes)]
            fused = heads.fused(tuple(each for each in sources if isinstance(each, Node)))
            edit.replace(parts.nodes, fused, parts.at)
    edit.apply()


def _of_parts(parts: Parts) -> Heads:
    return Heads(
        q=parts.q,
        k=parts.k,
        v=parts.v,
        mask=parts.mask,
        out=parts.out,
        logsumexp=None,
        scale=parts.scale,
        causal=False,
        blind_is_zero=False,
    )


_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def _of_flash(node: Node, index: int, uses: Uses) -> Heads | None:
    given = bind(node.op, node.args, node.kwargs)
    q, k, v = given["query"], given["key"], given["value"]
    out, logsumexp = node.outputs
    mask = given["attn_mask"]
    if given["dropout_p"] != 0 or q.sizes[1] % k.sizes[1] != 0:
        return None
    if mask is not None:
        mask = expanded(mask, (*q.sizes[:3], k.sizes[2]))
        if mask is None:
            return None
    return Heads(
        q=q,
        k=k,
        v=v,
        mask=mask,
        out=out,
        logsumexp=None if uses.private(logsumexp.storage, {index}) else logsumexp,
        scale=1 / math.sqrt(q.sizes[-1]) if given["scale"] is None else float(given["scale"]),
        causal=given["is_causal"],
        blind_is_zero=True,
    )
