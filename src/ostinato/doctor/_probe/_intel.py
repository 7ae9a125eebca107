"""Intel's devices, by their PCI numbers."""

from __future__ import annotations

import sys

from .._machine import Gpu, Intel
from .._table import table
from ._files import display_devices, text

_VENDOR = "0x8086"


def intel() -> Intel:
    """What there is of Intel; ``architecture`` is the code name where the table has the device."""
    if sys.platform == "win32":
        from ._windows import adapters

        return Intel(tuple(Gpu(name, _by_name(name)) for name, vendor in adapters() if vendor == "8086"))
    found = []
    for folder in display_devices(_VENDOR):
        number = text(f"{folder}/device").strip()[2:]
        found.append(_gpu(number))
    return Intel(tuple(found))


def _gpu(number: str) -> Gpu:
    for row in table().document["intel_gpus"]:
        if number.startswith(tuple(row["devices"])):
            return Gpu(row["family"], row["code_name"])
    return Gpu("Intel graphics")


def _by_name(name: str) -> str:
    for row in table().document["intel_gpus"]:
        if any(word in name for word in row["names"]):
            return str(row["code_name"])
    return ""
