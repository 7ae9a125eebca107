"""Chains of pointwise operators become one loop over their elements.

Nodes are looked at in order, and each joins the chain that makes what it reads. A
chain runs where its last member stood, so its members move down past the nodes
between: it is closed before a node that touches what it writes, or changes what it
reads, and is no member.
"""

from __future__ import annotations

import functools
import math

from .._memory import touched
from .._program import AnyNode, Node, Program, changed
from ._chain import Chain
from ._chain_node import Pointwise, pointwise
from ._chain_norm import normalised
from ._context import Context, Edit, Uses

# A chain that found no member in so many nodes finds none: what it reads would have to live on.
_REACH = 64
# Loops of so few elements take less time than the call of one more step.
_SHORT = 256


def apply(program: Program, context: Context) -> None:
    """Replaces each chain by one call of the kernel, where that is faster than the calls it stands for."""
    uses = Uses(program, context)
    scan = _Scan(uses)
    for index, node in enumerate(program.nodes):
        scan.visit(index, node)
    edit = Edit(program)
    for chain in scan.chains():
        if not _pays(chain):
            continue
        fused = chain.fused(functools.partial(_seen_after, chain.last, uses, context))
        if fused is not None and fused.outputs:
            edit.replace(set(chain.members), fused, chain.last)
    edit.apply()


def _seen_after(index: int, uses: Uses, context: Context, storage: int) -> bool:
    """Whether anybody looks at the storage after node ``index``."""
    return context.held(storage) or uses.touching(storage)[-1] > index


def _pays(chain: Chain) -> bool:
    """Whether the kernel saves a call or a pass over memory, or computes faster than torch does."""
    members = chain.members.values()
    if all(member.copies for member in members):
        return False
    return len(members) > 1 or not any(member.native for member in members)


class _Scan:
    """The chains found so far, and which of the open ones touch a storage."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._open: dict[int, Chain] = {}  # by a number of its own
        self._closed: list[Chain] = []
        self._writer: dict[int, int] = {}  # storage -> the open chain that writes it
        self._readers: dict[int, set[int]] = {}
        self._count = 0

    def chains(self) -> list[Chain]:
        return [*self._closed, *self._open.values()]

    def visit(self, index: int, node: AnyNode) -> None:
        for number in [n for n, chain in self._open.items() if index - chain.last > _REACH]:
            self._close(number)
        member = self._member(index, node) if isinstance(node, Node) else None
        conflicts = self._conflicts(node)
        chosen = self._join(index, member, conflicts) if member is not None else None
        for number in conflicts:
            if number != chosen and number in self._open:
                self._close(number)
        if member is not None and chosen is None:
            alone = Chain(member.sizes).joined(index, member)
            if alone is not None:
                self._put(self._beside(alone))

    def _member(self, index: int, node: Node) -> Pointwise | None:
        return pointwise(node) or normalised(index, node, self._uses)

    def _conflicts(self, node: AnyNode) -> set[int]:
        """The open chains that must run before ``node``, unless it is a member."""
        found = {self._writer[s] for s in touched(node) if s in self._writer}
        for storage in changed(node):
            found |= self._readers.get(storage, set())
        return found

    def _join(self, index: int, member: Pointwise, conflicts: set[int]) -> int | None:
        """The number of the chain that has taken ``member`` in, after merging those it reads from."""
        made: Chain | None = None
        grown: Chain | None = None
        taken: set[int] = set()
        for number in sorted(conflicts):
            chain = self._open[number]
            merged = chain if made is None else made.merged(chain)
            joined = merged.joined(index, member) if merged is not None else None
            if joined is not None:
                made, grown, taken = merged, joined, taken | {number}
        if grown is None:
            return None
        for number in taken:
            self._take_out(number)
        return self._put(grown)

    def _beside(self, alone: Chain) -> Chain:
        """``alone``, or one with an open chain of the same loop, if that is so short that calls cost more."""
        if math.prod(alone.sizes) <= _SHORT:
            for number, chain in reversed(self._open.items()):
                merged = chain.merged(alone) if chain.sizes == alone.sizes else None
                if merged is not None:
                    self._take_out(number)
                    return merged
        return alone

    def _put(self, chain: Chain) -> int:
        self._count += 1
        self._open[self._count] = chain
        for storage in chain.writes:
            self._writer[storage] = self._count
        for storage in chain.reads:
            self._readers.setdefault(storage, set()).add(self._count)
        return self._count

    def _take_out(self, number: int) -> Chain:
        chain = self._open.pop(number)
        for storage in chain.writes:
            if self._writer.get(storage) == number:
                del self._writer[storage]
        for storage in chain.reads:
            self._readers[storage].discard(number)
        return chain

    def _close(self, number: int) -> None:
        self._closed.append(self._take_out(number))


__all__ = ["apply"]
