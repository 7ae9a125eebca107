"""The record of a machine: what the probes fill in, and what the rules read.

A field that is None or empty is unknown, never "no".  The record holds nothing
personal: no host or user name, no serial number, and the home folder as ``~``.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Optional

from .._errors import fail

SCHEMA = 1


@dataclasses.dataclass(frozen=True)
class System:
    """The operating system."""

    name: str = ""  # linux, windows, macos
    version: str = ""  # of the kernel, of Windows, of macOS
    distribution: str = ""  # "Ubuntu 22.04"
    libc: str = ""  # "glibc 2.35", "musl"
    wsl: bool = False
    container: str = ""  # docker, podman, kubernetes, lxc...


@dataclasses.dataclass(frozen=True)
class Cpu:
    """The processor."""

    machine: str = ""  # x86_64, aarch64, arm64, AMD64, ARM64...
    name: str = ""
    flags: tuple[str, ...] = ()  # those that PyTorch or Ostinato ask for, as Linux spells them


@dataclasses.dataclass(frozen=True)
class Python:
    """The interpreter that the doctor runs in."""

    version: str = ""
    implementation: str = "cpython"
    bits: int = 64
    free_threaded: bool = False
    environment: str = ""  # venv, conda, system
    managed: bool = False  # "externally managed": pip refuses to install there


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One device: ``architecture`` is "8.6" for NVIDIA and "gfx1100" for AMD."""

    name: str = ""
    architecture: str = ""
    mig: bool = False


@dataclasses.dataclass(frozen=True)
class Nvidia:
    """NVIDIA's driver and devices. ``problem`` is a name of ``_rules/_nvidia.py``, "" where all is well."""

    driver: str = ""
    cuda: str = ""  # the newest CUDA of the driver
    gpus: tuple[Gpu, ...] = ()
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Amd:
    """AMD's devices as the kernel driver shows them."""

    gpus: tuple[Gpu, ...] = ()
    rocm: str = ""  # a ROCm that is installed system-wide
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Intel:
    """Intel's devices."""

    gpus: tuple[Gpu, ...] = ()
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Torch:
    """One torch on the path, read from its files without importing it."""

    version: str = ""
    path: str = ""
    cuda: str = ""
    hip: str = ""
    xpu: str = ""
    installer: str = ""  # pip, uv, conda
    python: str = ""  # the tag that its extension was built for
    broken: str = ""  # what is wrong with its files

    @property
    def variant(self) -> str:
        """``cu126``, ``rocm7.2``, ``xpu`` or ``cpu``."""
        if self.cuda:
            return "cu" + "".join(self.cuda.split(".")[:2])
        if self.hip:
            return "rocm" + ".".join(self.hip.split(".")[:2])
        return "xpu" if self.xpu else "cpu"


@dataclasses.dataclass(frozen=True)
class Machine:
    """All that was seen."""

    system: System = System()
    cpu: Cpu = Cpu()
    python: Python = Python()
    nvidia: Nvidia = Nvidia()
    amd: Amd = Amd()
    intel: Intel = Intel()
    torches: tuple[Torch, ...] = ()  # in the order of the path: the first is what `import torch` takes
    packages: dict[str, str] = dataclasses.field(default_factory=dict)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    tools: tuple[str, ...] = ()  # pip, uv, conda...
    failed: tuple[str, ...] = ()  # probes that could not look

    @property
    def torch(self) -> Optional[Torch]:
        """What ``import torch`` takes."""
        return self.torches[0] if self.torches else None

    def to_json(self) -> dict[str, Any]:
        """As the collector writes it: empty fields are left out."""
        return {"schema": SCHEMA, **_plain(self)}

    def without_names(self) -> Machine:
        """The record without folders that could name a person or a company."""
        torches = tuple(dataclasses.replace(each, path=_tail(each.path)) for each in self.torches)
        environment = dict(self.environment)
        for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
            if name in environment:
                parts = [each for each in environment[name].split(":") if _LIBRARIES.search(each)]
                environment[name] = ":".join(map(_tail, parts))
        return dataclasses.replace(self, torches=torches, environment=environment)


_LIBRARIES = re.compile("cuda|cudnn|nccl|rocm|libgomp|libstdc", re.IGNORECASE)


def _tail(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    return "/".join(parts) if len(parts) <= 2 else "…/" + "/".join(parts[-2:])


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        pairs = ((field.name, _plain(getattr(value, field.name))) for field in dataclasses.fields(value))
        return {name: each for name, each in pairs if each not in ("", (), [], {}, None, False)}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


_PARTS = {"system": System, "cpu": Cpu, "python": Python, "nvidia": Nvidia, "amd": Amd, "intel": Intel}


def from_json(document: Any, source: str = "the record") -> Machine:
    """The machine that a document describes; UsageError where it is none."""
    if not isinstance(document, dict) or document.get("schema", SCHEMA) != SCHEMA:
        raise fail("doctor.record", source=source, reason=f"it is not a record of schema {SCHEMA}")
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name in _PARTS:
            values[name] = _part(_PARTS[name], value, name, source)
        elif name == "torches":
            values[name] = tuple(_part(Torch, each, name, source) for each in value)
        elif name in ("packages", "environment"):
            values[name] = {str(key): str(each) for key, each in value.items()}
        elif name in ("tools", "failed"):
            values[name] = tuple(value)
        elif name != "schema":
            raise fail("doctor.record", source=source, reason=f"{name!r} is no part of a record")
    return Machine(**values)


def _part(kind: Any, document: Any, name: str, source: str) -> Any:
    known = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(document, dict) or set(document) - known:
        strange = sorted(set(document) - known) if isinstance(document, dict) else document
        raise fail("doctor.record", source=source, reason=f"{name} has {strange!r}, which is not known there")
    values = dict(document)
    if "gpus" in values:
        values["gpus"] = tuple(_part(Gpu, each, "gpus", source) for each in values["gpus"])
    if "flags" in values:
        values["flags"] = tuple(values["flags"])
    return kind(**values)


def read(path: str) -> Machine:
    """The machine of a file that ``--collect`` wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise fail("doctor.record", source=path, reason=error) from error
    return from_json(document, path)
