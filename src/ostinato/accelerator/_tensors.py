"""A tensor for every value of a program: where each storage lies during a replay."""

from __future__ import annotations

import torch

from . import _memory
from ._program import Program, Value
from ._restore import as_bytes


class Arena:
    """The memory that the intermediates of a graph share, and graphs of one pool with each other."""

    def __init__(self) -> None:
        self.memory = torch.UntypedStorage(0)

    def of_size(self, nbytes: int) -> torch.UntypedStorage:
        if self.memory.nbytes() < nbytes:
            self.memory = torch.empty(nbytes, dtype=torch.uint8).untyped_storage()
        return self.memory


class Tensors:
    """A tensor for every value of a program, each with the address it has at every replay."""

    def __init__(self, program: Program, arena: Arena) -> None:
        self.outputs = 0
        self._made: dict[Value, torch.Tensor] = {}
        self._memory: dict[int, tuple[torch.UntypedStorage, int]] = {}
        spans = _memory.lifetimes(program)
        inside: dict[int, int] = {}
        for storage in program.storages:
            if storage.number not in spans:
                continue
            alive = storage.alive()
            if alive is None:
                inside[storage.number] = storage.nbytes
            else:
                self._memory[storage.number] = (alive, 0)
                self.outputs += storage.owner is None
        offsets, self.pool_bytes = _memory.plan_offsets(inside, spans)
        memory = arena.of_size(self.pool_bytes)
        self._memory.update((number, (memory, offset)) for number, offset in offsets.items())
        self._inside = frozenset(offsets)

    def __getitem__(self, value: Value) -> torch.Tensor:
        tensor = self._made.get(value)
        if tensor is None:
            tensor = self._made[value] = self._make(value)
        return tensor

    def outside(self, value: Value) -> bool:
        """Whether the memory is not the arena's: others may hold it, and move it or give it back."""
        return value.storage not in self._inside

    def bytes_of(self, number: int, nbytes: int) -> torch.Tensor:
        memory, offset = self._memory[number]
        return as_bytes(memory)[offset : offset + nbytes]

    def _make(self, value: Value) -> torch.Tensor:
        memory, offset = self._memory[value.storage]
        start = offset // value.dtype.itemsize + value.offset
        with torch.inference_mode(False), torch.no_grad():
            tensor = torch.empty(0, dtype=value.dtype)
            tensor.set_(memory, start, value.sizes, value.strides)  # type: ignore[call-overload]
            if value.conj:
                tensor = torch._conj(tensor)
            if value.neg:
                tensor = torch._neg_view(tensor)
        return tensor
