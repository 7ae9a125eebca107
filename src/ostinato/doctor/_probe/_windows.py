"""The display adapters of Windows, from its registry."""

from __future__ import annotations

import re
from typing import Any

_DISPLAY = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"


def adapters() -> list[tuple[str, str]]:
    """Name and PCI vendor of each display adapter that a driver was installed for."""
    import winreg

    registry: Any = winreg
    found = []
    with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, _DISPLAY) as root:
        for index in range(32):
            try:
                with registry.OpenKey(root, registry.EnumKey(root, index)) as key:
                    name, device = (
                        str(registry.QueryValueEx(key, value)[0])
                        for value in ("DriverDesc", "MatchingDeviceId")
                    )
            except OSError:
                continue
            match = re.search(r"VEN_(\w{4})", device.upper())
            found.append((name, match.group(1) if match else ""))
    return found
