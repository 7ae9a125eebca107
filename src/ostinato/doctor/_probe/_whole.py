"""Whether the libraries of a torch are whole, by the sizes that its installer noted and by their headers."""

from __future__ import annotations

import os
import struct
import sys

from ._files import names, text

_NEEDED = {"win32": ("torch_cpu.dll", "c10.dll"), "darwin": ("libtorch_cpu.dylib", "libc10.dylib")}
_NEEDED_ELSE = ("libtorch_cpu.so", "libc10.so", "libtorch_python.so")


def damage(package: str, record: str, cuda: bool) -> str:
    """What is wrong with the files of torch, "" where nothing is seen."""
    folder = os.path.join(package, "lib")
    if not os.path.isdir(folder):
        return "torch/lib is missing"
    needed: tuple[str, ...] = _NEEDED.get(sys.platform, _NEEDED_ELSE)
    if cuda and sys.platform not in _NEEDED:
        needed += ("libtorch_cuda.so",)
    for name in needed:
        if not os.path.isfile(os.path.join(folder, name)):
            return f"torch/lib/{name} is missing"
    return _other_sizes(package, record) or _cut_short(folder)


def _other_sizes(package: str, record: str) -> str:
    root = os.path.dirname(package)
    for line in text(record, 1 << 24).splitlines():
        if not line.startswith(("torch/lib/", "torch/_C.", "torch/bin/torch_shm")):
            continue
        name, _, size = line.rpartition(",")
        name = name.rpartition(",")[0].strip('"')
        if not size.isdigit():
            continue
        try:
            have = os.path.getsize(os.path.join(root, name))
        except OSError:
            return f"{name} is missing"
        if have != int(size):
            return f"{name} has {have} bytes, and {size} were installed"
    return ""


def _cut_short(folder: str) -> str:
    for name in names(folder):
        path = os.path.join(folder, name)
        if ".so" in name and os.path.isfile(path) and not _whole_elf(path):
            return f"torch/lib/{name} is cut short or is no library"
    return ""


def _whole_elf(path: str) -> bool:
    """The file reaches as far as its ELF header says that its segments and sections do."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return False
        if head[4] != 2 or head[5] != 1:
            return True  # not 64 bits, little endian: not looked into
        segments, sections = struct.unpack_from("<QQ", head, 32)
        entry, count, section_entry, section_count = struct.unpack_from("<HHHH", head, 54)
        if sections + section_entry * section_count > size or segments + entry * count > size:
            return False
        file.seek(segments)
        table = file.read(entry * count)
    ends = [sum(struct.unpack_from("<Q16xQ", table, entry * i + 8)) for i in range(count)]
    return max(ends, default=0) <= size
