"""One question to the rules: a machine, what the user wants, and what follows from both."""

from __future__ import annotations

import functools
import re
from typing import Optional

from .._errors import fail
from ._machine import Gpu, Machine
from ._table import Build, Table, kind_of
from ._versions import Range, at_least, local, numbers, python_tag

_VARIANT = re.compile(r"^(cpu|cu\d{2,3}|rocm(\d+(\.\d+)*)?|xpu|cuda|mps)$")
_SYSTEMS = {"linux": "linux", "windows": "windows", "macos": "macos"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}


class Wanted:
    """What ``--want`` asks for: versions of torch, a build, or both."""

    def __init__(self, text: Optional[str]) -> None:
        self.text = (text or "").strip()
        self.tests = Range("")
        self.variant = ""
        if self.text:
            self._parse()

    def _parse(self) -> None:
        *words, last = self.text.split()
        text = "".join(words) + "+" + last if words and _VARIANT.match(last) else self.text
        rest = re.sub(r"^(torch|pytorch)\s*", "", text)
        if _VARIANT.match(rest):
            self.variant = rest
            return
        version, _, variant = rest.partition("+")
        self.variant = variant.strip()
        if version and version[0].isdigit():
            version = "==" + version
        try:
            self.tests = Range(version)
        except ValueError:
            raise fail("doctor.want", want=self.text) from None
        if (self.variant and not _VARIANT.match(self.variant)) or not rest:
            raise fail("doctor.want", want=self.text)

    def __str__(self) -> str:
        build = f" with {self.variant}" if self.variant else ""
        return f"torch{self.tests.text}{build}"

    def takes(self, build: Build) -> bool:
        """``build`` is one of those that the user asks for."""
        return build.version in self.tests and self.takes_variant(build.variant)

    def takes_variant(self, variant: str) -> bool:
        """The variant is the one asked for, or none was."""
        return self.variant in ("", variant, kind_of(variant)) or (self.variant == "mps" and variant == "cpu")


class Case:
    """A machine beside the table."""

    def __init__(self, machine: Machine, table: Table, want: Optional[str] = None) -> None:
        self.machine = machine
        self.table = table
        self.wanted = Wanted(want)

    @functools.cached_property
    def platform(self) -> str:
        """``linux-x86_64`` and its like, as the table names them; "" for what the table does not know."""
        system = _SYSTEMS.get(self.machine.system.name, "")
        processor = _MACHINES.get(self.machine.cpu.machine.lower(), "")
        if not system or not processor:
            return ""
        if system == "linux" and processor == "arm64":
            processor = "aarch64"
        return f"{system}-{processor}"

    @property
    def python_tag(self) -> Optional[str]:
        """The tag of the wheels for the interpreter, None where it is unknown."""
        python = self.machine.python
        return python_tag(python.version, python.free_threaded) if python.version else None

    @functools.cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """NVIDIA's devices, each with its compute capability where that is known, also by name."""
        found = []
        for gpu in self.machine.nvidia.gpus:
            capability = gpu.architecture or self.table.capability_of(gpu.name)
            found.append(Gpu(gpu.name, capability, gpu.mig))
        return tuple(found)

    @property
    def device(self) -> str:
        """The kind of device that the machine has for torch: cuda, rocm, xpu, mps or cpu."""
        if self.machine.nvidia.gpus or self.machine.nvidia.problem:
            return "cuda"
        if self.machine.amd.gpus:
            return "rocm"
        if any(gpu.architecture for gpu in self.machine.intel.gpus):  # others have no build
            return "xpu"
        return "mps" if self.platform == "macos-arm64" else "cpu"

    @property
    def driver_system(self) -> str:
        """Whose driver counts: that of Windows inside WSL."""
        return "windows" if self.machine.system.wsl else self.machine.system.name

    @property
    def driver_known(self) -> bool:
        """The driver of NVIDIA, or its CUDA, has a version."""
        return bool(numbers(self.machine.nvidia.driver) or numbers(self.machine.nvidia.cuda))

    @property
    def driver_cuda(self) -> int:
        """The major CUDA that NVIDIA's driver runs, 0 where that is unknown."""
        nvidia = self.machine.nvidia
        cuda = numbers(nvidia.cuda)
        if cuda:
            return cuda[0]
        if nvidia.driver:
            return self.table.cuda_of_driver(nvidia.driver, self.driver_system)
        return 0

    @property
    def installed(self) -> Optional[Build]:
        """The table's row of the installed torch, None where it has none."""
        torch = self.machine.torch
        if torch is None or not torch.version or not self.platform:
            return None
        version = ".".join(str(each) for each in numbers(torch.version))
        if self.table.release(version) is None:
            return None
        variant = local(torch.version) or torch.variant
        return self.table.build(version, variant, self.platform) or self.table.build(
            version, torch.variant, self.platform
        )

    @property
    def glibc(self) -> str:
        """``"2.35"``, "" where the C library is another or unknown."""
        name, _, version = self.machine.system.libc.partition(" ")
        return version if name == "glibc" else ""

    def system_runs(self, tag: str) -> Optional[bool]:
        """The system has what a wheel's tag asks for; None where that is unknown."""
        if tag.startswith("manylinux"):
            needed = "2.17" if tag == "manylinux2014" else ".".join(tag.split("_")[1:3])
            if self.machine.system.libc.startswith("musl"):
                return False
            return at_least(self.glibc, needed) if self.glibc else None
        if tag.startswith("macosx"):
            version = self.machine.system.version
            return at_least(version, ".".join(tag.split("_")[1:3])) if version else None
        return True
