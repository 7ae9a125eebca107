"""Small reads that give "" where there is nothing to read."""

from __future__ import annotations

import os


def text(path: str, limit: int = 1 << 20) -> str:
    """The beginning of a file, "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""


def names(folder: str) -> list[str]:
    """What a folder holds, in order; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def home_hidden(value: str) -> str:
    """``value`` with the home folder as ``~``: it names the user."""
    home = os.path.expanduser("~")
    return value.replace(home, "~") if len(home) > 1 else value


def display_devices(vendor: str) -> list[str]:
    """The folders in /sys of a vendor's GPUs: display controllers and accelerators."""
    root = "/sys/bus/pci/devices"
    found = []
    for name in names(root):
        folder = os.path.join(root, name)
        if text(f"{folder}/vendor").strip() == vendor and text(f"{folder}/class").startswith(
            ("0x03", "0x12")
        ):
            found.append(folder)
    return found


def driver_of(folder: str) -> str:
    """The kernel driver of a device in /sys, "" where it has none."""
    try:
        return os.path.basename(os.readlink(os.path.join(folder, "driver")))
    except OSError:
        return ""
