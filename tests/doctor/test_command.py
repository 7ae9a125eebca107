"""The command: what it prints and to where, its exit status, and what it leaves out."""

from __future__ import annotations

import getpass
import io
import json
import os
import pathlib
import runpy
import socket
import subprocess
import sys

import pytest

from ostinato.cli import main as ostinato
from ostinato.doctor import _command, diagnose
from ostinato.doctor._machine import Machine, System, Torch

ROOT = pathlib.Path(__file__).parents[2]
MACHINE = {
    "system": {"name": "linux", "libc": "glibc 2.35"},
    "cpu": {"machine": "x86_64", "flags": ["avx2", "fma"]},
    "python": {"version": "3.12.3"},
    "nvidia": {"driver": "550.54.15", "cuda": "12.4", "gpus": [{"name": "Tesla V100-SXM2-16GB"}]},
    "torches": [{"version": "2.12.0+cpu"}],
}


@pytest.fixture
def record(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(MACHINE))
    return str(path)


@pytest.mark.parametrize(
    "run", [_command.main, lambda args: ostinato(["doctor", *args])], ids=["alone", "verb"]
)
def test_both_commands_say_the_same(run, record, capsys):
    assert run(["--machine", record]) == 1
    printed = capsys.readouterr()
    assert printed.out == str(diagnose(record)) + "\n"
    assert printed.err == ""
    assert run(["--machine", record, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(diagnose(record).to_json()))


def test_the_page_of_a_pipe_is_plain_and_says_what_to_do(record, capsys):
    _command.main(["--machine", record])
    page = capsys.readouterr().out
    assert page.startswith("PROBLEM: torch 2.12.0+cpu is built for the CPU only")
    assert "pip install torch==2.14.1 --index-url https://download.pytorch.org/whl/cu126" in page
    assert "--torch-backend=cu126" in page
    assert "Ostinato uses avx2" in page
    assert "proposed" in page
    assert "\x1b" not in page
    assert "Facts as of 20" in page


def test_want(record, capsys):
    assert _command.main(["--machine", record, "--want", "torch==2.9"]) == 0
    assert "torch 2.9.1 with cu128 runs here" in capsys.readouterr().out
    assert _command.main(["--machine", record, "--want", "torch==2.15"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--machine", "missing.json"],
        ["--want", "tensorflow"],
        ["--want", "torch=2.9"],
        ["--want", "torch==2.9+cuda12"],
        ["--what"],
    ],
)
def test_what_it_cannot_answer_is_2_with_a_hint(arguments, capsys):
    for run in (_command.main, lambda args: ostinato(["doctor", *args])):
        assert run(arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.splitlines()[0].startswith("error: ")
        assert printed.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"schema": 9}', '{"gpu": []}', '{"cpu": 3}', '{"torches": 1}', '{"torches": [1]}'),
        *('{"cpu": {"colour": 1}}', '{"cpu": {"name": ["x"]}}', '{"cpu": {"flags": [1]}}'),
        *('{"python": {"bits": "64"}}', '{"system": {"wsl": 1}}', '{"packages": []}', '{"tools": null}'),
    ],
)
def test_files_that_are_no_record(tmp_path, capsys, text):
    (tmp_path / "machine.json").write_text(text)
    assert _command.main(["--machine", str(tmp_path / "machine.json")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("hint: ")


def test_an_error_from_a_text_a_file_and_a_pipe(tmp_path, capsys, monkeypatch):
    message = "AssertionError: Torch not compiled with CUDA enabled"
    (tmp_path / "log").write_text("epoch 1\n" + message + "\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO(message))
    pages = []
    for given in (message, str(tmp_path / "log"), "-"):
        assert _command.main(["--error", given]) == 0
        pages.append(capsys.readouterr().out)
    assert len(set(pages)) == 1
    assert "a build for the CPU" in pages[0]
    assert _command.main(["--error", message, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "not-compiled"
    assert _command.main(["--error", "all is well"]) == 1
    assert "unknown" in capsys.readouterr().out


def test_the_collector_names_nobody(capsys):
    assert _command.main(["--collect"]) == 0
    text = capsys.readouterr().out
    machine = json.loads(text)
    assert machine["python"]["version"]
    assert socket.gethostname() not in text
    assert os.path.expanduser("~") not in text
    assert f'"{getpass.getuser()}"' not in text
    assert str(ROOT) not in text


def test_folders_are_cut_from_a_record():
    machine = Machine(
        System("linux"),
        torches=(Torch("2.9.0", "/data/jane.doe/secret-project/venv/lib/python3.12/site-packages/torch"),),
        environment={
            "LD_LIBRARY_PATH": "/data/jane.doe/lib:/opt/jane/cuda-12.3/lib64",
            "CUDA_VISIBLE_DEVICES": "0",
        },
    )
    text = json.dumps(machine.without_names().to_json())
    assert "jane" not in text
    assert "secret" not in text
    assert "cuda-12.3" in text


def test_a_collected_record_gives_the_same_answer(capsys, tmp_path):
    assert _command.main(["--collect"]) == 0
    (tmp_path / "machine.json").write_text(capsys.readouterr().out)
    here, there = diagnose(), diagnose(str(tmp_path / "machine.json"))
    assert (there.summary, there.status, there.install) == (here.summary, here.status, here.install)


def test_help_fits_one_screen(capsys):
    with pytest.raises(SystemExit):
        ostinato(["doctor", "--help"])
    assert len(capsys.readouterr().out.splitlines()) <= 36


def test_the_page_of_a_terminal(monkeypatch, record):
    pytest.importorskip("rich")
    from ostinato.doctor._page import show

    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setenv("COLUMNS", "80")
    show(diagnose(record))
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(printed.getvalue().replace("│", " ").split())
    assert "torch 2.12.0+cpu is built for the CPU only, and the machine has Tesla V100-SXM2-16GB." in text
    assert "pip install torch==2.14.1" in text


def test_it_runs_from_a_single_file(tmp_path):
    write = runpy.run_path(str(ROOT / "scripts" / "doctor_file.py"))["write"]
    write(tmp_path / "doctor.pyz")
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    command = [sys.executable, "-S", "doctor.pyz", "--machine", "machine.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 1
    assert done.stdout == str(diagnose(MACHINE)) + "\n"


def test_nothing_but_the_standard_library_is_imported(record):
    code = (
        "import sys; from ostinato.doctor._command import main; main(['--machine', sys.argv[1]]); "
        "known = set(sys.stdlib_module_names) | {'ostinato', '__main__'}; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - known), file=sys.stderr)"
    )
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-S", "-c", code, record]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"
