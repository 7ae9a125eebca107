"""The doctor where torch is absent, whole, broken, hidden or doubled: it reads files and imports nothing."""

from __future__ import annotations

import json
import resource
import sys

import pytest

from .site_packages import Environment, elf

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the environments are those of Linux"
)


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path / "venv")


def answer(done):
    """The document of a run, which printed nothing else."""
    assert done.stderr == ""
    return json.loads(done.stdout)


def rules(document, level="problem"):
    return [each["rule"] for each in document["findings"] if each["level"] == level]


def test_torch_absent(environment):
    done = environment.run("--json")
    document = answer(done)
    assert done.returncode == 1
    assert rules(document) == ["torch-missing"]
    assert "pip install torch==" in document["install"]["commands"]["pip"]
    assert document["machine"]["python"]["environment"] == "venv"


def test_torch_for_the_cpu(environment):
    environment.install("2.13.0+cpu")
    done = environment.run("--json")
    document = answer(done)
    assert document["machine"]["torches"][0]["version"] == "2.13.0+cpu"
    assert document["machine"]["torches"][0]["installer"] == "pip"
    assert rules(document) == []
    assert done.returncode == 0


def test_a_truncated_library(environment):
    package = environment.install("2.13.0+cpu")
    (package / "lib" / "libtorch_cpu.so").write_bytes(elf()[:1000])
    done = environment.run("--json")
    document = answer(done)
    assert done.returncode == 1
    assert rules(document) == ["torch-broken"]
    assert "libtorch_cpu.so has 1000 bytes, and 4096 were installed" in document["summary"]
    assert "--force-reinstall" in document["install"]["commands"]["pip"]
    assert "Traceback" not in environment.run().stdout


def test_a_truncated_library_without_a_record(environment):
    package = environment.install("2.13.0+cpu")
    (environment.packages / "torch-2.13.0+cpu.dist-info" / "RECORD").unlink()
    (package / "lib" / "libtorch.so").write_bytes(elf()[:1000])
    assert "libtorch.so is cut short" in answer(environment.run("--json"))["summary"]


def test_an_empty_library(environment):
    package = environment.install("2.13.0+cpu")
    (environment.packages / "torch-2.13.0+cpu.dist-info" / "RECORD").unlink()
    (package / "lib" / "libc10.so").write_bytes(b"")
    assert rules(answer(environment.run("--json"))) == ["torch-broken"]


@pytest.mark.parametrize("missing", ["lib/libc10.so", "lib/libtorch_cuda.so", "version.py"])
def test_a_missing_file(environment, missing):
    package = environment.install("2.12.0", cuda="13.0")
    (package / missing).unlink()
    document = answer(environment.run("--json"))
    assert rules(document)[0] == "torch-broken"
    assert missing.rpartition("/")[2] in document["summary"]


def test_a_folder_that_is_gone(environment):
    environment.distribution("torch", "2.12.0")
    assert rules(answer(environment.run("--json"))) == ["torch-broken"]


def test_two_versions_over_each_other(environment):
    environment.install("2.12.0+cpu")
    environment.distribution("torch", "2.9.1")
    document = answer(environment.run("--json"))
    assert rules(document) == ["torch-broken"]
    assert "2.9.1" in document["summary"]


def test_a_torch_of_another_python(environment):
    environment.install("2.12.0+cpu", python="38")
    assert rules(answer(environment.run("--json"))) == ["torch-python"]


def test_a_file_that_hides_torch(environment):
    environment.install("2.12.0+cpu")
    (environment.folder / "torch.py").write_text("")
    document = answer(environment.run("--json"))
    assert rules(document) == ["torch-shadowed"]
    assert document["machine"]["torches"][0]["path"] == "~/torch.py"


def test_a_second_torch_on_the_path(environment, tmp_path):
    environment.install("2.12.0+cpu")
    other = Environment(tmp_path / "other")
    other.install("2.9.1+cpu")
    from .site_packages import ROOT

    document = answer(environment.run("--json", path=f"{ROOT / 'src'}:{other.packages}"))
    assert [each["version"] for each in document["machine"]["torches"]] == ["2.9.1+cpu", "2.12.0+cpu"]
    assert rules(document, "warning") == ["several-torches"]


def test_companions_are_seen(environment):
    environment.install("2.12.0+cpu")
    environment.distribution("torchvision", "0.22.0+cpu")
    environment.distribution("nvidia_cublas_cu12", "12.8.4.1")
    document = answer(environment.run("--json"))
    assert document["machine"]["packages"] == {"torchvision": "0.22.0+cpu", "nvidia-cublas-cu12": "12.8.4.1"}
    assert rules(document) == ["companion-version"]


def test_a_strange_version_file(environment):
    package = environment.install("2.12.0+cpu")
    (package / "version.py").write_bytes(b"\xff\xfe\x00 what is this")
    document = answer(environment.run("--json"))
    assert document["status"] == "unknown"


@pytest.mark.parametrize("state", ["absent", "broken", "cpu"])
def test_it_takes_less_than_300_ms_of_the_processor(environment, state):
    if state != "absent":
        package = environment.install("2.13.0+cpu")
        if state == "broken":
            (package / "lib" / "libtorch_cpu.so").write_bytes(elf()[:1000])
    environment.run()  # compiles what is not compiled yet

    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment.run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3
