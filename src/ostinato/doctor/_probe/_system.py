"""The operating system, the processor, and the environment variables that matter."""

from __future__ import annotations

import os
import sys

from .._machine import Cpu, System
from ._files import home_hidden, names, text

# Those that PyTorch dispatches on or that Ostinato's kernels ask for.
_FLAGS = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    *("avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16"),
    *("asimd", "asimddp", "sve", "sve2", "bf16", "i8mm"),
)
_VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "OSTINATO_ISA",
)


def system() -> System:
    """Name, version, C library, and whether it is WSL or a container."""
    if sys.platform == "win32":
        return System("windows", ".".join(str(each) for each in sys.getwindowsversion()[:3]))
    if sys.platform == "darwin":
        import platform

        return System("macos", platform.mac_ver()[0])
    kernel = os.uname().release
    name = "linux" if sys.platform.startswith("linux") else sys.platform
    wsl = "microsoft" in kernel.lower()
    return System(name, _number(kernel), _distribution(), _libc(), wsl, _container())


def _number(kernel: str) -> str:
    # What follows the number may be a name that somebody gave to a kernel of their own.
    return kernel.split("-")[0]


def _distribution() -> str:
    for line in text("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip().strip('"')
    return ""


def _libc() -> str:
    try:
        value = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        value = None
    if value:
        return value
    return "musl" if any(each.startswith("ld-musl") for each in names("/lib")) else ""


def _container() -> str:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    if os.path.exists("/.dockerenv"):
        return "docker"
    if os.path.exists("/run/.containerenv"):
        return "podman"
    control = text("/proc/1/cgroup")
    return next((each for each in ("docker", "kubepods", "lxc") if each in control), "")


def cpu() -> Cpu:
    """The processor and those of its features that matter."""
    if sys.platform == "win32":
        return _windows_cpu()
    machine = os.uname().machine
    if sys.platform == "darwin":
        return Cpu(machine, _sysctl("machdep.cpu.brand_string"), ("asimd",) if machine == "arm64" else ())
    found: dict[str, str] = {}
    for line in text("/proc/cpuinfo", 1 << 16).splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip().lower(), value.strip())
    flags = set((found.get("flags") or found.get("features") or "").split())
    return Cpu(machine, found.get("model name", ""), tuple(each for each in _FLAGS if each in flags))


def _windows_cpu() -> Cpu:
    import ctypes

    present = ctypes.windll.kernel32.IsProcessorFeaturePresent  # type: ignore[attr-defined]
    # PF_AVX2_INSTRUCTIONS_AVAILABLE comes with FMA on every processor that has it.
    flags = (("avx", 39), ("avx2", 40), ("fma", 40), ("avx512f", 41))
    machine = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    return Cpu(machine, "", tuple(name for name, number in flags if present(number)))


def _sysctl(name: str) -> str:
    import ctypes

    buffer = ctypes.create_string_buffer(256)
    size = ctypes.c_size_t(256)
    ctypes.CDLL(None).sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, 0)
    return buffer.value.decode(errors="replace")


def environment() -> dict[str, str]:
    """Variables that change which devices and libraries torch finds."""
    return {name: home_hidden(os.environ[name]) for name in _VARIABLES if name in os.environ}
