"""Which device the calling thread's stream names, and what torch itself is capturing there."""

from __future__ import annotations

import functools
import threading

import torch

from ._registry import has_implementation

_CPU = torch.device("cpu")


def capture_device() -> torch.device:
    """The accelerator where the caller has entered one of its streams, else the CPU.

    ``with torch.Stream(device="cpu")`` enters nothing: all CPU streams are one.
    """
    accelerator = _accelerator()
    if accelerator is None or not has_implementation(accelerator.type) or not on_side_stream(accelerator):
        return _CPU
    return torch.device(accelerator.type, torch.accelerator.current_device_index())


def on_side_stream(device: torch.device) -> bool:
    """Whether the calling thread has entered a stream of the accelerator ``device``."""
    index = device.index if device.index is not None else torch.accelerator.current_device_index()
    return bool(torch.accelerator.current_stream(index) != _initial_stream(device.type, index))


@functools.cache
def _initial_stream(kind: str, index: int) -> torch.Stream:
    """The stream of a thread that has entered none: not every device calls one of its streams the default."""
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.accelerator.current_stream(index)))
    thread.start()
    thread.join()
    return found[0]


def torch_is_capturing(stream: torch.Stream | None) -> bool:
    """Whether torch's own graphs are capturing on ``stream`` or the accelerator's current one."""
    if stream is not None:
        return stream.device.type != "cpu" and bool(getattr(stream, "is_capturing", lambda: False)())
    accelerator = _accelerator()
    if accelerator is None:
        return False
    module = torch.get_device_module(accelerator)
    return bool(getattr(module, "is_current_stream_capturing", lambda: False)())


def _accelerator() -> torch.device | None:
    """The accelerator, if somebody uses it: to ask another for its streams would wake it up."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        return None
    initialized = getattr(torch.get_device_module(accelerator), "is_initialized", lambda: True)
    return accelerator if initialized() else None
