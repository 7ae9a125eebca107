"""Environments without torch, with one that is whole, and with broken ones, made of a few small files."""

from __future__ import annotations

import os
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
LIBRARIES = ("libtorch_cpu.so", "libtorch.so", "libc10.so", "libtorch_python.so")


def elf(size: int = 4096) -> bytes:
    """A library as far as its headers go: one segment that reaches to the end."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    return (head + segment).ljust(size, b"\0")


class Environment:
    """A virtual environment of the running Python, without pip and with nothing installed."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.packages = folder / "lib" / version / "site-packages"
        self.packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
        base = os.path.dirname(os.path.realpath(sys.executable))
        (folder / "pyvenv.cfg").write_text(f"home = {base}\ninclude-system-site-packages = false\n")

    def install(self, version: str, cuda: str | None = None, python: str | None = None) -> pathlib.Path:
        """Put a torch there, with its record, and give its folder."""
        package = self.packages / "torch"
        (package / "lib").mkdir(parents=True)
        names = [*LIBRARIES, *(["libtorch_cuda.so"] if cuda else [])]
        for name in names:
            (package / "lib" / name).write_bytes(elf())
        tag = python or f"{sys.version_info[0]}{sys.version_info[1]}"
        (package / f"_C.cpython-{tag}-x86_64-linux-gnu.so").write_bytes(elf())
        (package / "__init__.py").write_text("raise ImportError('the doctor must not import torch')\n")
        (package / "version.py").write_text(
            "from typing import Optional\n\n"
            f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
            "git_version = 'cf30153'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"
        )
        self.distribution("torch", version)
        record = "\n".join(f"torch/lib/{name},sha256=x,4096" for name in names)
        (self.packages / f"torch-{version}.dist-info" / "RECORD").write_text(record + "\n")
        return package

    def distribution(self, name: str, version: str) -> None:
        """Only the metadata of a package."""
        folder = self.packages / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "INSTALLER").write_text("pip\n")

    def run(
        self, *args: str, path: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """``python -S -m ostinato.doctor`` there, with nothing of this process's environment."""
        command = [str(self.folder / "bin" / "python"), "-S", "-m", "ostinato.doctor", *args]
        plain = {"PATH": "/usr/bin:/bin", "PYTHONPATH": path or str(ROOT / "src"), "HOME": str(self.folder)}
        return subprocess.run(
            command,
            env={**plain, **environment},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
