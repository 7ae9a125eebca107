"""What the probes make of what a system shows: formats of files and programs, from public descriptions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import stat

import pytest

from ostinato.doctor import Machine, _machine
from ostinato.doctor._diagnose import instruction_set
from ostinato.doctor._probe import _amd, _intel, _nvidia, look


def test_this_machine_has_the_torch_that_is_installed():
    machine = look()
    assert machine.failed == ()
    assert machine.torch.version == importlib.metadata.version("torch")
    assert machine.torch.broken == ""
    assert machine.packages["numpy"] == importlib.metadata.version("numpy")


def test_the_instruction_set_is_that_of_the_native_library():
    from ostinato import _native

    if "OSTINATO_ISA" not in os.environ:
        assert instruction_set(look()) == _native.info()["isa"]


def test_a_record_survives_its_file():
    machine = look()
    assert _machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine


# https://docs.kernel.org: gfx_target_version is major * 10000 + minor * 100 + stepping
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (90000, "gfx900"),
        (90006, "gfx906"),
        (90010, "gfx90a"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        (100300, "gfx1030"),
        (100306, "gfx1036"),
        (110001, "gfx1101"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
    ],
)
def test_names_of_amd_architectures(number, name):
    assert _amd.gfx(number) == name


@pytest.mark.parametrize(
    ("line", "version"),
    [
        # from https://github.com/pytorch/pytorch/issues/131312
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024",
            "550.90.07",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (root@host)",
            "570.124.06",
        ),
    ],
)
def test_the_driver_in_the_kernel(monkeypatch, line, version):
    files = {"/proc/driver/nvidia/version": line + "\nGCC version:  gcc version 12.3.0"}
    monkeypatch.setattr(_nvidia, "text", lambda path, *_: files.get(path, ""))
    assert _nvidia._loaded_driver() == version


def test_nvidia_smi_is_asked_where_the_library_is_missing(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho '535.161.07, NVIDIA RTX A6000, 8.6'\necho '535.161.07, Tesla V100-PCIE-16GB, 7.0'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    seen = _nvidia._smi()
    assert seen.driver == "535.161.07"
    assert [(gpu.name, gpu.architecture) for gpu in seen.gpus] == [
        ("NVIDIA RTX A6000", "8.6"),
        ("Tesla V100-PCIE-16GB", "7.0"),
    ]


def test_an_nvidia_smi_that_fails_says_nothing(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\necho 'Failed to initialize NVML: Driver/library version mismatch'\nexit 18\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert _nvidia._smi() is None


# what is there -> the problem
@pytest.mark.parametrize(
    ("code", "proc", "drivers", "paths", "problem"),
    [
        (18, "", [], [], "mismatch"),
        (4, "", [], [], "no-permission"),
        (None, "", [], [], ""),
        (None, "", ["nouveau"], [], "nouveau"),
        (None, "", [""], [], "no-driver"),
        (None, "", ["vfio-pci"], [], ""),
        (None, "550", [], ["/.dockerenv"], "container"),
        (None, "550", [], [], "no-device-files"),
        (None, "", [], ["/mnt/c/Windows/System32/nvidia-smi.exe"], "wsl-no-library"),
    ],
)
def test_problems_of_the_driver(monkeypatch, code, proc, drivers, paths, problem):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(_nvidia, "text", lambda path, *_: proc)
    monkeypatch.setattr(_nvidia, "display_devices", lambda vendor: list(range(len(drivers))))
    monkeypatch.setattr(_nvidia, "driver_of", lambda index: drivers[index])
    monkeypatch.setattr(_nvidia.os.path, "exists", lambda path: path in paths)
    assert _nvidia._problem(code) == problem


# numbers from include/drm/intel/pciids.h of Linux
@pytest.mark.parametrize(
    ("number", "code_name"),
    [
        ("56a0", "alchemist"),
        ("e20b", "battlemage"),
        ("7d55", "meteor-lake"),
        ("7d51", "arrow-lake"),
        ("64a0", "lunar-lake"),
        ("b080", "panther-lake"),
        ("0bd5", "ponte-vecchio"),
        ("9bc5", ""),
        ("a780", ""),
    ],
)
def test_intel_devices(number, code_name):
    assert _intel._gpu(number).architecture == code_name


def test_a_probe_that_fails_leaves_its_part_unknown(monkeypatch):
    from ostinato.doctor import _probe

    def breaks():
        raise OSError("no such machine")

    monkeypatch.setitem(_probe._PROBES, "nvidia", breaks)
    machine = _probe.look()
    assert machine.failed == ("nvidia",)
    assert machine.nvidia == Machine().nvidia
