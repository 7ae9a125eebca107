"""AMD's devices: the kernel's compute driver lists them with their architecture."""

from __future__ import annotations

import os
import sys

from .._machine import Amd, Gpu
from ._files import display_devices, names, text

_NODES = "/sys/class/kfd/kfd/topology/nodes"
_VENDOR = "0x1002"


def amd() -> Amd:
    """What there is of AMD; empty on a machine without."""
    if sys.platform == "win32":
        from ._windows import adapters

        return Amd(tuple(Gpu(name) for name, vendor in adapters() if vendor == "1002"))
    gpus = _nodes()
    if not gpus:
        gpus = tuple(Gpu("an AMD GPU") for _ in display_devices(_VENDOR))
    if not gpus:
        return Amd()
    return Amd(gpus, text("/opt/rocm/.info/version").strip().split("-")[0], _problem())


def _nodes() -> tuple[Gpu, ...]:
    found = []
    for node in names(_NODES):
        lines = [line.split() for line in text(f"{_NODES}/{node}/properties").splitlines()]
        values = {line[0]: line[1] for line in lines if len(line) == 2}
        number = int(values.get("gfx_target_version", "0"))
        if number:
            found.append(Gpu(text(f"{_NODES}/{node}/name").strip(), gfx(number)))
    return tuple(found)


def gfx(number: int) -> str:
    """``90010`` is gfx90a and ``110001`` gfx1101: two decimal digits each, the last a hexadecimal digit."""
    return f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}"


def _problem() -> str:
    if not os.path.exists("/dev/kfd"):
        return "no-kfd"
    return "" if os.access("/dev/kfd", os.R_OK | os.W_OK) else "no-permission"
