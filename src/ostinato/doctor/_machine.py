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


_ITEMS = {"gpus": Gpu, "torches": Torch}


def from_json(document: Any, source: str = "the record") -> Machine:
    """The machine that a document describes; UsageError where it is none."""
    if not isinstance(document, dict) or document.get("schema", SCHEMA) != SCHEMA:
        raise fail("doctor.record", source=source, reason=f"it is not a record of schema {SCHEMA}")
    rest = {name: value for name, value in document.items() if name != "schema"}
    try:
        machine: Machine = _part(Machine, rest, "it")
    except ValueError as error:
        raise fail("doctor.record", source=source, reason=error) from error
    return machine


def _part(kind: Any, document: Any, name: str) -> Any:
    if not isinstance(document, dict):
        raise ValueError(f"{name} is {document!r}, which is no object")
    empty = kind()
    for each in document:
        if each not in kind.__dataclass_fields__:
            raise ValueError(f"{name} has {each!r}, which is not known there")
    return kind(**{each: _value(type(getattr(empty, each)), value, each) for each, value in document.items()})


def _value(kind: Any, value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _part(kind, value, name)
    if kind is tuple and isinstance(value, (list, tuple)):
        return tuple(_value(_ITEMS.get(name, str), each, name) for each in value)
    if kind is dict and isinstance(value, dict):
        return {str(key): _value(str, each, name) for key, each in value.items()}
    if type(value) is not kind:
        raise ValueError(f"{name} has {value!r}, which is no {_KINDS[kind]}")
    return value


_KINDS = {str: "text", int: "whole number", bool: "true or false", tuple: "list", dict: "object"}


def read(path: str) -> Machine:
    """The machine of a file that ``--collect`` wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise fail("doctor.record", source=path, reason=error) from error
    return from_json(document, path)
