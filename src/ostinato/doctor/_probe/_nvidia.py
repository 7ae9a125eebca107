"""NVIDIA's driver and devices: through its management library, then nvidia-smi, /proc and the PCI bus."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from typing import Any, Optional

from .._machine import Gpu, Nvidia
from ._files import display_devices, driver_of, text

_VENDOR = "0x10de"
_NVML_PERMISSION, _NVML_NOT_LOADED, _NVML_MISMATCH = 4, 9, 18


def nvidia() -> Nvidia:
    """What there is of NVIDIA; empty on a machine without."""
    if sys.platform == "darwin":
        return Nvidia()
    code, seen = _nvml()
    if seen is None:
        seen = _smi()
    if seen is not None:
        return Nvidia(seen.driver, seen.cuda, seen.gpus, _initialise() if seen.gpus else "")
    return Nvidia(driver=_loaded_driver(), problem=_problem(code))


def _library(*candidates: str) -> Optional[Any]:
    for name in candidates:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _nvml() -> tuple[Optional[int], Optional[Nvidia]]:
    """The error of NVML, if any, and what it sees."""
    if sys.platform == "win32":
        library = _library("nvml.dll", r"C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll")
    else:
        library = _library("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")
    if library is None:
        return None, None
    code = library.nvmlInit_v2()
    if code:
        return code, None
    try:
        return 0, Nvidia(_text(library.nvmlSystemGetDriverVersion), _cuda(library), _gpus(library))
    finally:
        library.nvmlShutdown()


def _text(function: Any, *before: Any) -> str:
    buffer = ctypes.create_string_buffer(96)
    return buffer.value.decode(errors="replace") if function(*before, buffer, 96) == 0 else ""


def _cuda(library: Any) -> str:
    number = ctypes.c_int()
    if library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)):
        return ""
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _gpus(library: Any) -> tuple[Gpu, ...]:
    count = ctypes.c_uint()
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device = ctypes.c_void_p()
        if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)):
            continue
        found.append(
            Gpu(_text(library.nvmlDeviceGetName, device), _capability(library, device), _mig(library, device))
        )
    return tuple(found)


def _capability(library: Any, device: Any) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    try:
        code = library.nvmlDeviceGetCudaComputeCapability(device, ctypes.byref(major), ctypes.byref(minor))
    except AttributeError:  # a driver older than the function
        return ""
    return "" if code else f"{major.value}.{minor.value}"


def _mig(library: Any, device: Any) -> bool:
    now, pending = ctypes.c_uint(), ctypes.c_uint()
    try:
        code = library.nvmlDeviceGetMigMode(device, ctypes.byref(now), ctypes.byref(pending))
    except AttributeError:
        return False
    return code == 0 and now.value == 1


def _smi() -> Optional[Nvidia]:
    """The same from nvidia-smi, where the library is not found."""
    command = ["nvidia-smi", "--query-gpu=driver_version,name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 3]
    if done.returncode or not rows:
        return None
    return Nvidia(rows[0][0], "", tuple(Gpu(row[1], row[2] if row[2][:1].isdigit() else "") for row in rows))


def _initialise() -> str:
    """What cuInit says: "" where CUDA starts."""
    library = (
        _library("nvcuda.dll")
        if sys.platform == "win32"
        else _library("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
    )
    if library is None:
        return "no-library" if sys.platform != "win32" else ""
    code = library.cuInit(0)
    if code == 100 and "CUDA_VISIBLE_DEVICES" in os.environ:
        return ""  # the variable hides the devices: a rule of its own says so
    return f"cuda-{code}" if code else ""


def _loaded_driver() -> str:
    """The driver in the kernel, also seen from a container that was not given it."""
    version = text("/sys/module/nvidia/version").strip()
    if version:
        return version
    match = re.search(r"Kernel Module(?: for \S+)?\s+([\d.]+)", text("/proc/driver/nvidia/version"))
    return match.group(1) if match else ""


def _problem(code: Optional[int]) -> str:
    if sys.platform == "win32":
        return "no-driver" if _windows_names() else ""
    if code == _NVML_MISMATCH:
        return "mismatch"
    if code == _NVML_PERMISSION:
        return "no-permission"
    if os.path.exists("/mnt/c/Windows/System32/nvidia-smi.exe"):
        return "wsl-no-library"
    devices = display_devices(_VENDOR)
    if text("/proc/driver/nvidia/version"):
        return _without_library()
    drivers = {driver_of(each) for each in devices}
    if "nouveau" in drivers or "nova" in drivers:
        return "nouveau"
    # vfio-pci: the device is lent to a virtual machine.
    return "no-driver" if devices and "vfio-pci" not in drivers else ""


def _without_library() -> str:
    if not os.path.exists("/dev/nvidiactl"):
        contained = os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
        return "container" if contained or "KUBERNETES_SERVICE_HOST" in os.environ else "no-device-files"
    if not os.access("/dev/nvidiactl", os.R_OK | os.W_OK):
        return "no-permission"
    return "no-library"


def _windows_names() -> list[str]:
    from ._windows import adapters

    return [name for name, vendor in adapters() if vendor == "10DE"]
