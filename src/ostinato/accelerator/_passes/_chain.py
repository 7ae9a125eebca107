"""A chain under construction: pointwise nodes that one loop over the elements can do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._program import FusedNode
from ._access import Access, Ints, disjoint
from ._chain_code import Assembler, Code, Input, Op, Operand, Result, shorten
from ._chain_node import Pointwise

# So many that a tile of each still fits into the first cache, and that there are registers for all.
_MOST_READS, _MOST_NODES = 32, 128


@dataclasses.dataclass(slots=True)
class Chain:
    """Members by their index in the program, and what they touch, all by a loop of ``sizes``."""

    sizes: Ints
    members: dict[int, Pointwise] = dataclasses.field(default_factory=dict)
    reads: dict[int, list[Access]] = dataclasses.field(default_factory=dict)  # by storage
    writes: dict[int, list[Access]] = dataclasses.field(default_factory=dict)

    @property
    def last(self) -> int:
        """The index of the last member, in whose place the chain runs."""
        return next(reversed(self.members))

    def joined(self, index: int, member: Pointwise) -> Chain | None:
        """This chain with one more member at its end; None where one loop cannot do both."""
        chain, new = self, member.over(self.sizes)
        if new is None:
            finer = self.over(member.sizes)
            if finer is None:
                return None
            chain, new = finer, member
        if not all(_aligned(read, chain.writes, chain.sizes) for read in new.reads):
            return None
        if not _aligned(new.out, chain.writes, chain.sizes) or not _aligned(
            new.out, chain.reads, chain.sizes
        ):
            return None
        # Within the member too: a.add_(a.flip(0)) reads elsewhere than it writes.
        own = _by_storage(new.reads)
        if not _aligned(new.out, own, chain.sizes):
            return None
        return _with_room(
            Chain(
                chain.sizes,
                {**chain.members, index: new},
                _union(chain.reads, own),
                _union(chain.writes, _by_storage([new.out])),
            )
        )

    def merged(self, other: Chain) -> Chain | None:
        """Both in one loop, if nothing that one writes is touched by the other; None where none does."""
        first, second = self, other.over(self.sizes)
        if second is None:
            finer = self.over(other.sizes)
            if finer is None:
                return None
            first, second = finer, other
        members = {**first.members, **second.members}
        return _with_room(
            Chain(
                first.sizes,
                {i: members[i] for i in sorted(members)},
                _union(first.reads, second.reads),
                _union(first.writes, second.writes),
            )
        )

    def over(self, sizes: Ints) -> Chain | None:
        """The same by a loop of other sizes."""
        if sizes == self.sizes:
            return self
        members = {i: member.over(sizes) for i, member in self.members.items()}
        found = {i: member for i, member in members.items() if member is not None}
        if len(found) < len(members):
            return None
        reads = _by_storage([read for member in found.values() for read in member.reads])
        writes = _by_storage([member.out for member in found.values()])
        return Chain(sizes, found, reads, writes)

    def fused(self, needed: Callable[[int], bool]) -> FusedNode | None:
        """The call of the kernel; ``needed`` says of a storage whether anybody else reads it."""
        code = Code()
        held: dict[Any, Operand] = {}  # what each place holds by now
        inputs: list[Access] = []
        outputs: dict[Any, Access] = {}
        for member in self.members.values():
            for read in member.reads:
                if read.place not in held:
                    held[read.place] = Input(len(inputs))
                    inputs.append(read)
            result = member.write(code, held)
            if result is None:
                return None
            held[member.out.place] = result
            outputs[member.out.place] = member.out
        stored = [access for access in outputs.values() if needed(access.value.storage)]
        # What is stored is computed, not merely named: a chain may exchange two tensors.
        results = [_computed(code, held[access.place]) for access in stored]
        return self._assembled(code, inputs, stored, results)

    def _assembled(
        self, code: Code, inputs: list[Access], stored: list[Access], results: list[Result]
    ) -> FusedNode:
        made = shorten(code.instructions, results)
        used = {a.number for now in made if now is not None for a in now.args if isinstance(a, Input)}
        overwrites = [{n for n in used if inputs[n].place == access.place} for access in stored]
        # Inputs that only a dropped instruction read keep their numbers: renumber those that are left.
        names = {old: new for new, old in enumerate(sorted(used))}
        made = [now and now.renumbered(names) for now in made]
        assembled = Assembler(len(used), results, [{names[n] for n in over} for over in overwrites]).assemble(
            made
        )
        kept = [inputs[n] for n in sorted(used)]
        fresh = frozenset(n for member in self.members.values() for n in member.node.fresh)
        touched = frozenset(access.value.storage for access in stored)
        return FusedNode(
            kernel="ostinato::chain",
            args=(
                [access.value for access in kept],
                [access.value for access in stored],
                assembled.constants,
                assembled.scratch,
                list(self.sizes),
                [stride for access in (*kept, *stored) for stride in access.strides],
                assembled.code,
            ),
            outputs=tuple(access.value for access in stored),
            fresh=touched & fresh,
            written=touched - fresh,
            weights=(),
            sources=tuple(member.node for member in self.members.values()),
        )


def _computed(code: Code, operand: Operand) -> Result:
    return operand if isinstance(operand, Result) else code(Op.COPY, operand)


def _aligned(access: Access, others: dict[int, list[Access]], sizes: Ints) -> bool:
    """Whether each of ``others`` touches the same elements in the same turns, or none of them."""
    return all(
        access.place == other.place or disjoint(access, other, sizes)
        for other in others.get(access.value.storage, ())
    )


def _by_storage(accesses: list[Access]) -> dict[int, list[Access]]:
    made: dict[int, list[Access]] = {}
    for access in accesses:
        made.setdefault(access.value.storage, []).append(access)
    return made


def _union(a: dict[int, list[Access]], b: dict[int, list[Access]]) -> dict[int, list[Access]]:
    made = dict(a)
    for storage, accesses in b.items():
        places = {access.place for access in made.get(storage, ())}
        made[storage] = [*made.get(storage, ()), *(x for x in accesses if x.place not in places)]
    return made


def _with_room(chain: Chain) -> Chain | None:
    written = {access.place for accesses in chain.writes.values() for access in accesses}
    read = {access.place for accesses in chain.reads.values() for access in accesses}
    return chain if len(chain.members) <= _MOST_NODES and len(read - written) <= _MOST_READS else None
