"""A device for torch in pure Python, as small as one can be: the host's memory, the CPU's kernels.

It stands for the hardware that you have. ``import sketch_device`` brings ``torch.device("sketch")``;
what Ostinato needs from a device, and how to give it, is in ``sketch_graph``. It has no allocator in
C++, so that a storage comes with a tensor only: ``copy.deepcopy`` of its tensors is not for it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend


class Module(_DummyBackendModule):
    """What ``torch.sketch`` is."""

    def synchronize(self, device: Any = None) -> None:
        """Waits for what was launched; here that is done."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


_setup_privateuseone_for_python_backend("sketch", Module())
DEVICE = torch.device("sketch", 0)
_RECORDER = "sketch_device.recorder"
_CPU = torch._C.DispatchKey.CPU
_empty = torch._C._acc.create_empty_tensor
_set = torch.ops.aten.set_.source_Storage_storage_offset


# ---- memory -------------------------------------------------------------------
def _storage(host: torch.UntypedStorage) -> torch.UntypedStorage:
    """A storage of the device that owns ``host``, the memory it lies in."""
    made = torch._C._construct_storage_from_data_pointer(host.data_ptr(), DEVICE, host.nbytes())
    made.host = host  # an attribute lives as long as the storage, whoever holds it
    return made


def to_host(x: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of the CPU."""
    return torch.empty(0, dtype=x.dtype).set_(
        x.untyped_storage().host, x.storage_offset(), x.shape, x.stride()
    )


def from_host(x: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of this device."""
    made = _empty((0,), x.dtype)
    _set._op_dk(_CPU, made, _storage(x.untyped_storage()), x.storage_offset(), x.shape, x.stride())
    return made


def follow(x: torch.Tensor, host: torch.Tensor) -> None:
    """Gives ``x`` the size and the memory of ``host``, where an operator has resized that."""
    if host.untyped_storage().data_ptr() != x.untyped_storage().host.data_ptr() or host.shape != x.shape:
        _set._op_dk(
            _CPU, x, _storage(host.untyped_storage()), host.storage_offset(), host.shape, host.stride()
        )


# ---- kernels ------------------------------------------------------------------
def run(op: Any, args: Any, kwargs: Any) -> Any:
    """Launches a kernel: the CPU's, on the same memory."""
    hosts: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def enter(x: torch.Tensor) -> torch.Tensor:
        if x.device.type != DEVICE.type:
            return x
        return hosts.setdefault(id(x), (x, to_host(x)))[1]

    def leave(out: torch.Tensor) -> torch.Tensor:
        for x, host in hosts.values():
            if host is out:
                return x
        return from_host(out)

    args, kwargs = pytree.tree_map_only(torch.Tensor, enter, (args, kwargs))
    kwargs = {name: torch.device("cpu") if name == "device" else value for name, value in kwargs.items()}
    out = op(*args, **kwargs)
    for x, host in hosts.values():
        follow(x, host)
    return pytree.tree_map_only(torch.Tensor, leave, out)


def record_launches(recorder: Any) -> None:
    """From now on the calling thread's launches go to ``recorder`` instead; None ends that.

    A driver keeps this with its stream. Here it is a thread's, and goes with autograd to the threads
    in which that runs a backward pass.
    """
    torch._C._stash_obj_in_tls(_RECORDER, recorder)


def recorder() -> Any:
    """What the calling thread's launches go to, or None."""
    return torch._C._get_obj_in_tls(_RECORDER) if torch._C._is_key_in_tls(_RECORDER) else None


def launch(op: Any, args: Any, kwargs: Any) -> Any:
    return (recorder() or run)(op, args, kwargs)


def _fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
    if any(r.alias_info is not None and not r.alias_info.is_write for r in op._schema.returns):
        return op._op_dk(_CPU, *args, **kwargs)  # a view: it touches no memory
    return launch(op, args, kwargs)


def _empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: Any) -> torch.Tensor:
    return from_host(torch.empty_strided(size, stride, dtype=dtype or torch.get_default_dtype()))


def _empty_memory_format(
    size: Any, *, dtype: Any = None, memory_format: Any = None, **_: Any
) -> torch.Tensor:
    kind = memory_format or torch.contiguous_format
    return from_host(torch.empty(size, dtype=dtype or torch.get_default_dtype(), memory_format=kind))


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    launch(torch.ops.aten.copy_.default, (target, source), {})
    return target


def _convolution(*args: Any) -> torch.Tensor:
    return launch(torch.ops.aten.convolution.default, args, {})


def _convolution_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *rest: Any) -> Any:
    sizes = [weight.shape[1] * rest[5] if rest[3] else weight.shape[0]]  # those of the bias
    return launch(torch.ops.aten.convolution_backward.default, (grad, x, weight, sizes, *rest), {})


_library = torch.library.Library("aten", "IMPL")
_library.impl("empty.memory_format", _empty_memory_format, "PrivateUse1")
_library.impl("empty_strided", _empty_strided, "PrivateUse1")
_library.impl("_copy_from", _copy_from, "PrivateUse1")
_library.impl("convolution_overrideable", _convolution, "PrivateUse1")
_library.impl("convolution_backward_overrideable", _convolution_backward, "PrivateUse1")
_others = torch.library.Library("_", "IMPL")
_others.fallback(_fallback, "PrivateUse1")
