"""The interpreter, and the tools that could install something for it."""

from __future__ import annotations

import os
import sys

from .._machine import Python

_TOOLS = ("pip", "uv", "conda", "mamba", "pixi")


def interpreter() -> Python:
    """Version, kind and environment of this interpreter."""
    free = "t" in getattr(sys, "abiflags", "")
    version = ".".join(str(each) for each in sys.version_info[:3])
    bits = 64 if sys.maxsize > 2**32 else 32
    return Python(version, sys.implementation.name, bits, free, _environment(), _managed())


def _environment() -> str:
    if os.path.isdir(os.path.join(sys.prefix, "conda-meta")):
        return "conda"
    return "venv" if virtual_prefix() else "system"


def virtual_prefix() -> str:
    """The folder of the virtual environment, also where Python was started with -S; "" without one."""
    if sys.prefix != sys.base_prefix:
        return sys.prefix
    folder = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable or "")))
    return folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else ""


def _managed() -> bool:
    if virtual_prefix():
        return False
    folder = os.path.join(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    return os.path.isfile(os.path.join(folder, "EXTERNALLY-MANAGED"))


def tools() -> tuple[str, ...]:
    """Those of pip, uv, conda… that are on the path of commands."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    endings = (".exe", ".bat", "") if sys.platform == "win32" else ("",)
    return tuple(
        tool
        for tool in _TOOLS
        if any(os.path.isfile(os.path.join(folder, tool + end)) for folder in folders for end in endings)
    )
