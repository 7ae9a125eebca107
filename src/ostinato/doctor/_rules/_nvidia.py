"""NVIDIA's driver and devices as the machine shows them, whatever torch is installed."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from .._versions import at_least
from ._finding import NOTE, PROBLEM, WARNING, Finding

_CUDA_ERRORS = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html"
_TOOLKIT = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html"

# problem of the record -> what it means, why, where that is written, what to do
_PROBLEMS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "no-driver": (
        "There is an NVIDIA GPU, and its driver is not installed or not loaded.",
        "the PCI bus shows the device, and the kernel has no nvidia module",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        ("install NVIDIA's driver from your distribution, then restart",),
    ),
    "nouveau": (
        "The NVIDIA GPU is driven by nouveau, which cannot run CUDA.",
        "CUDA needs NVIDIA's own driver",
        "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
        ("install NVIDIA's driver from your distribution, then restart",),
    ),
    "container": (
        "This container was started without its host's NVIDIA GPUs.",
        "the host's driver is visible in /proc, and neither device files nor libcuda are in the container",
        _TOOLKIT,
        ("docker run --gpus all IMAGE", "podman run --device nvidia.com/gpu=all IMAGE"),
    ),
    "no-device-files": (
        "NVIDIA's driver is loaded, and /dev/nvidia* is missing.",
        "the device files are made by nvidia-modprobe, or passed into a container",
        "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html",
        ("sudo nvidia-modprobe -u -c=0",),
    ),
    "no-permission": (
        "This user may not open the device files of the NVIDIA GPU.",
        "/dev/nvidiactl or /dev/nvidia0 cannot be opened for reading and writing",
        "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html",
        ("ls -l /dev/nvidia*   # then let an administrator put you in that group",),
    ),
    "mismatch": (
        "NVIDIA's driver was updated, and the kernel still runs the old one.",
        "the library and the kernel module of the driver are of different versions",
        "https://stackoverflow.com/questions/43022843/nvidia-nvml-driver-library-version-mismatch",
        ("sudo reboot",),
    ),
    "no-library": (
        "NVIDIA's driver is loaded, and libcuda is not found.",
        "libcuda comes with the driver, not with the CUDA toolkit and not with torch",
        _TOOLKIT,
        ("install the driver's compute part: libnvidia-compute on Ubuntu, nvidia-driver-cuda on Fedora",),
    ),
    "wsl-no-library": (
        "WSL does not see the GPU: /usr/lib/wsl/lib has no libcuda.",
        "inside WSL the driver is that of Windows, and no Linux driver may be installed",
        "https://docs.nvidia.com/cuda/wsl-user-guide/index.html",
        ("install NVIDIA's driver in Windows, then: wsl --update; wsl --shutdown",),
    ),
    "cuda-46": (
        "The GPU is busy or used exclusively by another process.",
        "cuInit or device creation gave CUDA_ERROR_DEVICE_UNAVAILABLE (46)",
        _CUDA_ERRORS,
        ("nvidia-smi   # shows who uses it", "sudo nvidia-smi -c DEFAULT"),
    ),
    "cuda-100": (
        "NVIDIA's driver is installed, and it finds no GPU.",
        "cuInit gave CUDA_ERROR_NO_DEVICE (100)",
        _CUDA_ERRORS,
        ("check CUDA_VISIBLE_DEVICES, `nvidia-smi -L` and `dmesg | grep -i nvrm`",),
    ),
    "cuda-101": (
        "NVIDIA's driver refuses the device that was asked for.",
        "cuInit gave CUDA_ERROR_INVALID_DEVICE (101)",
        _CUDA_ERRORS,
        ("check CUDA_VISIBLE_DEVICES and, with MIG, whether instances were made: nvidia-smi mig -lgi",),
    ),
    "cuda-802": (
        "The GPUs are not ready: the fabric manager of this machine does not run.",
        "cuInit gave CUDA_ERROR_SYSTEM_NOT_READY (802), as on systems with NVSwitch",
        "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
        ("sudo systemctl enable --now nvidia-fabricmanager",),
    ),
    "cuda-803": (
        "The libcuda that is found is of another version than the driver in the kernel.",
        "cuInit gave CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
        _CUDA_ERRORS,
        ("sudo reboot", "and remove a cuda/compat folder from LD_LIBRARY_PATH"),
    ),
    "cuda-804": (
        "A forward compatibility libcuda is in use on a GPU that it does not support.",
        "cuInit gave CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804); GeForce cards take no compat library",
        "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html",
        ("remove cuda/compat from LD_LIBRARY_PATH, and update the driver",),
    ),
    "cuda-999": (
        "NVIDIA's driver does not start: it gives an unknown error.",
        "cuInit gave CUDA_ERROR_UNKNOWN (999); after suspend, the nvidia_uvm module is often in a bad state",
        "https://discuss.pytorch.org/t/userwarning-cuda-initialization-cuda-unknown-error-this-may-be-due-to-an-incorrectly-set-up-environment-e-g-changing-env-variable-cuda-visible-devices-after-program-start-setting-the-available-devices-to-be-zero/129335",
        ("sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", "or restart"),
    ),
}


def state(case: Case, choice: Choice) -> Iterator[Finding]:
    """The driver works, or what is wrong with it."""
    problem = case.machine.nvidia.problem
    if not problem:
        return
    message, why, source, fix = _PROBLEMS.get(
        problem,
        (
            f"NVIDIA's driver does not start ({problem}).",
            "cuInit gave an error",
            _CUDA_ERRORS,
            ("nvidia-smi   # says more",),
        ),
    )
    yield Finding(f"nvidia-{problem}", PROBLEM, message, why, source, fix)


def visible(case: Case, choice: Choice) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES hides devices."""
    gpus = case.machine.nvidia.gpus
    value = case.machine.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not gpus:
        return
    first = value.split(",")[0].strip()
    hidden = first in ("", "-1", "NoDevFiles") or (first.isdigit() and int(first) >= len(gpus))
    if hidden:
        yield Finding(
            "visible-devices",
            PROBLEM,
            f"CUDA_VISIBLE_DEVICES={value!r} hides every GPU from torch.",
            "CUDA shows the devices before the first number that does not exist",
            "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",
            ("unset CUDA_VISIBLE_DEVICES",),
        )


def library_path(case: Case, choice: Choice) -> Iterator[Finding]:
    """Other CUDA libraries come before torch's own."""
    value = case.machine.environment.get("LD_LIBRARY_PATH", "")
    suspicious = [each for each in value.split(":") if "cuda" in each.lower() or "cudnn" in each.lower()]
    if suspicious and case.device == "cuda":
        yield Finding(
            "library-path",
            WARNING,
            f"LD_LIBRARY_PATH has {':'.join(suspicious)}: libraries there come before torch's own.",
            "the wheels bring the CUDA libraries they were built with; LD_LIBRARY_PATH comes before them",
            "https://github.com/pytorch/pytorch/issues/119989",
            ("unset LD_LIBRARY_PATH",),
        )


def mig(case: Case, choice: Choice) -> Iterator[Finding]:
    """With MIG a process sees one instance."""
    if any(gpu.mig for gpu in case.machine.nvidia.gpus):
        yield Finding(
            "mig",
            NOTE,
            "MIG is on: a process sees one instance of the GPU, and needs one to have been made.",
            "CUDA enumerates a single compute instance a process",
            "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
            ("nvidia-smi -L", "export CUDA_VISIBLE_DEVICES=MIG-…"),
        )


def last_driver(case: Case, choice: Choice) -> Iterator[Finding]:
    """Old generations have a last driver branch."""
    driver = case.machine.nvidia.driver
    told = set()
    for gpu in case.gpus:
        row = case.table.generation(gpu.architecture) or {}
        last = row.get("last_driver")
        if not last or row["name"] in told or (driver and at_least(last + ".999", driver)):
            continue
        told.add(row["name"])
        if driver:
            yield Finding(
                "last-driver",
                PROBLEM,
                f"{gpu.name or row['name']} ({row['name']}) is not supported by driver {driver}.",
                f"release {last} is the last with {row['name']}",
                case.table.source(row["driver_source"]),
                (f"install a driver of release {last}",),
            )
