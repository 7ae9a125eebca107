"""Looks at this machine. Each probe fills in one part of the record; one that fails leaves it unknown."""

from __future__ import annotations

from typing import Any, Callable

from .._machine import Machine
from . import _amd, _intel, _nvidia, _python, _system, _torch

# part of the record -> the function that looks
_PROBES: dict[str, Callable[[], Any]] = {
    "system": _system.system,
    "cpu": _system.cpu,
    "python": _python.interpreter,
    "nvidia": _nvidia.nvidia,
    "amd": _amd.amd,
    "intel": _intel.intel,
    "torches": _torch.torches,
    "packages": _torch.packages,
    "environment": _system.environment,
    "tools": _python.tools,
}


def look() -> Machine:
    """The record of this machine."""
    values: dict[str, Any] = {}
    failed = []
    for part, probe in _PROBES.items():
        try:
            values[part] = probe()
        except Exception:  # a strange machine must not stop the doctor: that part is unknown
            failed.append(part)
    return Machine(**values, failed=tuple(failed))
