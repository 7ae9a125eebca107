"""The recorded program: nodes over numbered storages; a view is a value, not a node."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

Generator = torch.Generator


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """One way to look at a storage: what a strided tensor is, without its memory."""

    storage: int
    dtype: torch.dtype
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    conj: bool = False
    neg: bool = False


@dataclasses.dataclass(slots=True)
class Storage:
    """A piece of memory that the program touches.

    ``owner`` keeps memory alive that was there before the capture, or that holds a
    constant; memory that the captured code made is held by ``ref`` alone, so that
    what nobody can reach after the capture is known by its death.
    """

    number: int
    nbytes: int
    ref: StorageWeakRef
    owner: torch.UntypedStorage | None = None
    constant: bool = False
    fixed: bool = False  # a constant that was computed before the first replay, and that none writes
    seen: torch.Tensor | None = None  # through which the program met it: its version counter tells of changes

    @property
    def external(self) -> bool:
        return self.owner is not None and not self.constant

    def alive(self) -> torch.UntypedStorage | None:
        """The memory itself, where anybody still holds it."""
        if self.owner is not None:
            return self.owner
        if self.ref.expired():
            return None
        return torch.UntypedStorage._new_with_weak_ptr(self.ref.cdata)


@dataclasses.dataclass(slots=True)
class Node:
    """A call of an operator; ``args`` and ``kwargs`` hold a Value where a tensor was."""

    op: torch._ops.OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: Any  # the structure that the operator returned, with a Value for each tensor
    fresh: frozenset[int]  # storages that this node makes
    written: frozenset[int]  # storages that it changes
    where: tuple[str, int]  # file and line of the user's code
    random: bool = False
    grad: bool = False  # whether grad mode was on: below autograd too a few operators ask for it


@dataclasses.dataclass(slots=True)
class FusedNode:
    """A call of one of Ostinato's kernels that stands for recorded nodes; passes make them.

    ``args`` holds the outputs too, in the order that the kernel's step documents
    (``csrc/graph/<stem>_step.h``).
    """

    kernel: str  # "ostinato::linear"
    args: tuple[Any, ...]  # Value, int, float, bool, str, None, or a list of one of these
    outputs: tuple[Value, ...]
    fresh: frozenset[int]  # storages that this node makes
    written: frozenset[int]  # storages that it changes
    weights: tuple[Value, ...]  # of which the step keeps packed copies
    sources: tuple[Node, ...]  # what it stands for, in order

    @property
    def where(self) -> tuple[str, int]:
        return self.sources[-1].where


@dataclasses.dataclass(slots=True)
class GeneratorNode:
    """A change of a generator that no operator made: checkpointing, ``manual_seed``.

    ``save`` keeps the state of the moment under ``point``; ``restore`` brings it
    back; where ``state`` is given, that is the state to set.
    """

    generator: Generator
    point: int
    action: str  # "save", "restore" or "set"
    state: torch.Tensor | None
    where: tuple[str, int]


@dataclasses.dataclass(slots=True)
class ConstantNode:
    """Fills a storage with what it held when the capture made it."""

    storage: int
    content: torch.Tensor  # the bytes
    where: tuple[str, int]


@dataclasses.dataclass(slots=True)
class ControlNode:
    """A decision that each replay makes: by a bool that a tensor holds at that moment.

    ``bodies`` of a "cond" are what it runs if the predicate is true, and if it is false.
    Those of a "while" are what computes the predicate, and what it runs each time that
    is true. They work on the storages of the program; results leave them by copies to
    storages made before the node.
    """

    kind: str  # "cond" or "while"
    predicate: Value
    bodies: list[list[AnyNode]]
    where: tuple[str, int]


AnyNode = Node | FusedNode | GeneratorNode | ConstantNode | ControlNode


@dataclasses.dataclass(slots=True)
class Program:
    """What one capture recorded, in order."""

    nodes: list[AnyNode]
    storages: list[Storage]

    def walk(self) -> Iterator[AnyNode]:
        """All nodes, those of bodies behind the node that decides about them."""
        yield from _walk(self.nodes)

    def each_block(self, rewrite: Callable[[Program], None]) -> None:
        """Calls ``rewrite`` with this program, and with each body in it as a program of its own."""
        rewrite(self)
        for node in self.nodes:
            if isinstance(node, ControlNode):
                for index, body in enumerate(node.bodies):
                    block = Program(body, self.storages)
                    block.each_block(rewrite)
                    node.bodies[index] = block.nodes

    def written(self) -> set[int]:
        """The storages that its nodes write, beside those that they make."""
        return {n for node in self.walk() if isinstance(node, (Node, FusedNode)) for n in node.written}

    def written_before(self) -> list[torch.Tensor]:
        """The tensors from before the capture that the program writes."""
        seen = [self.storages[n].seen for n in sorted(self.written()) if self.storages[n].external]
        return [tensor for tensor in seen if tensor is not None]


def _walk(nodes: list[AnyNode]) -> Iterator[AnyNode]:
    for node in nodes:
        yield node
        if isinstance(node, ControlNode):
            for body in node.bodies:
                yield from _walk(body)


def made(node: AnyNode) -> frozenset[int]:
    """The storages that a node, or one in its bodies, makes."""
    if isinstance(node, ControlNode):
        return frozenset(number for inner in _walk([node]) if inner is not node for number in made(inner))
    if isinstance(node, ConstantNode):
        return frozenset((node.storage,))
    return node.fresh if isinstance(node, (Node, FusedNode)) else frozenset()


def changed(node: AnyNode) -> frozenset[int]:
    """The storages that a node, or one in its bodies, makes or changes."""
    if isinstance(node, ControlNode):
        return frozenset(number for inner in _walk([node]) if inner is not node for number in changed(inner))
    return made(node) | (node.written if isinstance(node, (Node, FusedNode)) else frozenset())


def map_tensors(tree: Any, function: Any, kind: type = torch.Tensor) -> Any:
    """``tree`` with ``function`` applied to every leaf of type ``kind``; lists and tuples are kept."""
    if isinstance(tree, kind):
        return function(tree)
    if type(tree) in (list, tuple):
        return type(tree)([map_tensors(item, function, kind) for item in tree])
    if isinstance(tree, (list, tuple)):
        return [map_tensors(item, function, kind) for item in tree]
    return tree


def leaves(tree: Any, kind: type = torch.Tensor) -> list[Any]:
    """Every leaf of type ``kind`` in lists and tuples, left to right."""
    found: list[Any] = []
    if isinstance(tree, kind):
        found.append(tree)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            found.extend(leaves(item, kind))
    return found
