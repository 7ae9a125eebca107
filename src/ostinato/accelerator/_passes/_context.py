"""What a pass asks about a program: who touches a storage, who holds it, what may be packed."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .._memory import touched, touched_by_itself
from .._program import ControlNode, FusedNode, Node, Program, Value, changed, leaves


def inputs(node: Node | FusedNode) -> list[Value]:
    """The values that ``node`` is given, those that it changes among them."""
    if isinstance(node, Node):
        return leaves([node.args, list(node.kwargs.values())], Value)
    return [v for v in leaves(list(node.args), Value) if v not in node.outputs]


class Context:
    """Lasts for all passes over one block of a program: the program's own nodes, or a body in it.

    ``held`` does not change, ``is_weight`` by ``add_weight`` alone; ``Uses`` is made anew by each pass.
    """

    def __init__(self, program: Program, weights: frozenset[int], frozen: bool, elsewhere: set[int]) -> None:
        # What somebody beside the block can see: it must be as eager leaves it when the block has run.
        self._held = elsewhere | {s.number for s in program.storages if s.alive() is not None}
        written = program.written()
        self._weights = {
            s.number
            for s in program.storages
            if s.owner is not None
            and s.number not in written
            and (isinstance(s.seen, torch.nn.Parameter) or s.owner._cdata in weights)
        }
        # Those of them that will never change, with their memory.
        self.fixed = {
            s.number: s.owner
            for s in program.storages
            if frozen and s.owner is not None and s.number in self._weights and s.owner._cdata in weights
        }

    def held(self, number: int) -> bool:
        """Whether the caller, or anybody else outside the block, can see this storage."""
        return number in self._held

    def add_weight(self, number: int) -> None:
        """From now on the storage is one that never changes."""
        self._weights.add(number)

    def is_weight(self, value: Value) -> bool:
        """Whether a step may keep a packed copy: it changes only where its version counter tells of it."""
        return value.storage in self._weights


def each_block(
    program: Program, weights: frozenset[int], frozen: bool, rewrite: Callable[[Program, Context], None]
) -> None:
    """Calls ``rewrite`` with each block of ``program`` and what may be asked about it."""
    touching: dict[int, int] = {}  # in how many blocks each storage is touched
    own: dict[int, set[int]] = {}

    def count(block: Program) -> None:
        own[id(block.nodes)] = numbers = {n for node in block.nodes for n in touched_by_itself(node)}
        for number in numbers:
            touching[number] = touching.get(number, 0) + 1

    def call(block: Program) -> None:
        here = own[id(block.nodes)]
        elsewhere = {number for number, blocks in touching.items() if blocks > (number in here)}
        # No pass looks into a condition: what decides must stay where it is.
        elsewhere.update(n.predicate.storage for n in block.nodes if isinstance(n, ControlNode))
        rewrite(block, Context(program, weights, frozen, elsewhere))

    program.each_block(count)
    program.each_block(call)


def rewrite_each(program: Program, rewrite: Callable[[Node], FusedNode | None]) -> None:
    """Puts what ``rewrite`` makes of a recorded node alone in the node's place; None leaves it."""
    nodes = program.nodes
    program.nodes = [(isinstance(node, Node) and rewrite(node)) or node for node in nodes]


def making(
    kernel: str,
    args: tuple[object, ...],
    out: Value,
    sources: tuple[Node, ...],
    weights: tuple[Value, ...] = (),
) -> FusedNode:
    """A node that makes ``out`` and changes nothing else."""
    return FusedNode(
        kernel=kernel,
        args=args,
        outputs=(out,),
        fresh=frozenset((out.storage,)),
        written=frozenset(),
        weights=weights,
        sources=sources,
    )


class Uses:
    """Which nodes touch each storage, as indexes into ``program.nodes`` at the time of making."""

    def __init__(self, program: Program, context: Context) -> None:
        self._context = context
        self._touching: dict[int, list[int]] = {}
        self._changing: dict[int, list[int]] = {}
        for index, node in enumerate(program.nodes):
            for number in touched(node):
                self._touching.setdefault(number, []).append(index)
            for number in changed(node):
                self._changing.setdefault(number, []).append(index)

    def touching(self, number: int) -> list[int]:
        """The nodes that make, change or read the storage, in order."""
        return self._touching.get(number, [])

    def changing(self, number: int) -> list[int]:
        """The nodes that make or change the storage, in order."""
        return self._changing.get(number, [])

    def changed_between(self, number: int, first: int, last: int) -> bool:
        """Whether a node after ``first`` and before ``last`` changes the storage."""
        return any(first < index < last for index in self.changing(number))

    def private(self, number: int, nodes: set[int]) -> bool:
        """Whether nobody sees the storage but these nodes: fused, they need not write it."""
        return not self._context.held(number) and nodes.issuperset(self.touching(number))


class Edit:
    """Collects replacements and makes them at once, so that indexes stay good until then."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._gone: set[int] = set()
        self._put: dict[int, Node | FusedNode] = {}

    def replace(self, indexes: set[int], node: Node | FusedNode, at: int) -> None:
        """Puts ``node`` in the place of node ``at`` and drops the others of ``indexes``."""
        self._gone |= indexes
        self._put[at] = node

    def drop(self, index: int) -> None:
        """Takes a node out."""
        self._gone.add(index)

    def replaced(self, index: int) -> bool:
        """Whether an earlier call has taken this node already."""
        return index in self._gone or index in self._put

    def apply(self) -> None:
        """Makes the changes."""
        nodes = enumerate(self._program.nodes)
        self._program.nodes = [
            self._put.get(i, node) for i, node in nodes if i in self._put or i not in self._gone
        ]
