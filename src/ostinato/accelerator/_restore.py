"""Puts back what the captured code changed, so that a capture has no side effect on tensors."""

from __future__ import annotations

from typing import Any

import torch

from ._guard import below_autograd

_set_versions = torch._C._autograd._unsafe_set_version_counter


class Snapshots:
    """The memory and the version counters that were there before the capture changed them."""

    def __init__(self) -> None:
        self._bytes: dict[int, tuple[torch.UntypedStorage, torch.Tensor]] = {}
        self._looks: list[tuple[torch.Tensor, int, tuple[Any, ...]]] = []
        self._versions: dict[int, tuple[torch.Tensor, int]] = {}

    def keep(self, number: int, storage: torch.UntypedStorage, tensor: torch.Tensor) -> None:
        """Called before ``tensor``, which looks at ``storage``, is changed."""
        if number not in self._bytes:
            self._bytes[number] = (storage, as_bytes(storage).clone())
        look = (tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset()))
        self._looks.append((tensor, number, look))
        if id(tensor) not in self._versions and not tensor.is_inference():
            self._versions[id(tensor)] = (tensor, tensor._version)

    def tensors(self) -> list[torch.Tensor]:
        """The tensors that were changed."""
        return list({id(tensor): tensor for tensor, _, _ in self._looks}.values())

    def versions(self) -> dict[int, tuple[torch.Tensor, int]]:
        """The version counters now of the tensors that were changed."""
        return {key: (tensor, tensor._version) for key, (tensor, _) in self._versions.items()}

    def put_back(self) -> None:
        """Restores memory without moving a version counter, and the counters themselves."""
        with below_autograd(), torch._C.DisableTorchFunction():  # it may be in the middle of a capture
            self._put_back_memory()
        # Newest first: where two tensors share a counter, the oldest reading is the right one.
        kept = list(reversed(self._versions.values()))
        if kept:
            _set_versions(tuple(t for t, _ in kept), tuple(v for _, v in kept))

    def _put_back_memory(self) -> None:
        resized = set()
        for number, (storage, content) in self._bytes.items():
            if storage.nbytes() != content.numel():  # by an `out=`, which was refused for it
                storage.resize_(content.numel())
                resized.add(number)
            as_bytes(storage).copy_(content)
        for tensor, number, look in reversed(self._looks):
            if number in resized:
                tensor.as_strided_(*look)


def move_versions(*readings: dict[int, tuple[torch.Tensor, int]]) -> None:
    """Moves each version counter on to the highest of its readings."""
    for reading in readings:
        for tensor, version in reading.values():
            if tensor._version < version:
                _set_versions((tensor,), (version,))


def as_bytes(storage: torch.UntypedStorage) -> torch.Tensor:
    """The memory of ``storage`` as uint8, under a version counter of its own."""
    with torch.inference_mode(False), below_autograd():
        empty = torch.empty(0, dtype=torch.uint8, device=storage.device)
        return empty.set_(storage, 0, (storage.nbytes(),), (1,))  # type: ignore[call-overload,no-any-return]
