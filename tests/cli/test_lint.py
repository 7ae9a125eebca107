"""``ostinato lint`` as a user, a script and a code scanner meet it."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys

import pytest

from ostinato.cli import main

USE = "import torch\n\n\n@torch.jit.script\ndef f(x):\n    return x\n\n\nm = torch.jit.load('m.pt')\n"
FIXED = "import torch\n\n\ndef f(x):\n    return x\n\n\nm = torch.jit.load('m.pt')\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(USE)
    (tmp_path / "clean.py").write_text("import torch\n")
    return tmp_path


def lint(capsys, *args):
    """Status, standard output and standard error."""
    status = main(["lint", *args])
    return (status, *capsys.readouterr())


def test_text(folder, capsys):
    status, out, err = lint(capsys, "a.py")
    assert (status, err) == (1, "")
    assert "a.py:4:2: OST101 [*] torch.jit.script compiles to TorchScript\n" in out
    assert "4 | @torch.jit.script\n  |  ^^^^^^^^^^^^^^^^\n  = instead: " in out
    assert "a.py:9:5: OST103 [-]" in out
    assert out.endswith(
        "2 uses of TorchScript found in 1 file (1 fixable with --fix, 1 more with --unsafe-fixes).\n"
    )
    assert "\x1b" not in out


def test_nothing_found(folder, capsys):
    assert lint(capsys, "clean.py") == (0, "No use of TorchScript found in 1 file.\n", "")


def test_without_a_path_the_folder_is_linted(folder, capsys):
    status, out, _ = lint(capsys)
    assert status == 1
    assert "in 2 files" in out


@pytest.mark.parametrize(
    "args",
    [
        ["absent.py"],
        ["--select", "E501"],
        ["--format", "xml"],
        ["-", "a.py"],
        ["a.py", "--stdin-filename", "b.py"],
    ],
)
def test_what_could_not_run(folder, capsys, args):
    status, out, err = lint(capsys, *args)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.splitlines()[-1].startswith("hint: ")


def test_select_and_ignore(folder, capsys):
    assert "OST101" not in lint(capsys, "a.py", "--select", "OST103,OST15")[1]
    assert lint(capsys, "a.py", "--ignore", "OST10")[0] == 0
    assert lint(capsys, ".", "--exclude", "a.*")[0] == 0


def test_notes_go_to_standard_error(folder, capsys):
    (folder / "old.py").write_text("import torch.jit\nprint 1\n")
    status, out, err = lint(capsys, "old.py", "clean.py")
    assert status == 0
    assert err.startswith("note: old.py: it is not Python 3: line 2")
    assert "note" not in out


# ---- fixes ----


def test_diff_writes_nothing(folder, capsys):
    status, out, _ = lint(capsys, "a.py", "--diff")
    assert status == 1
    assert out.splitlines()[0] == "--- a.py"
    assert "-@torch.jit.script\n" in out
    assert (folder / "a.py").read_text() == USE
    assert "+m = ost.torchscript.load('m.pt')\n" in lint(capsys, "a.py", "--diff", "--unsafe-fixes")[1]


def test_diff_is_a_patch(folder, capsys):
    """Also for lines that end otherwise, or not at all."""
    for text in (USE, USE.replace("\n", "\r\n"), USE.rstrip("\n"), "import torch.jit as J"):
        (folder / "a.py").write_bytes(text.encode())
        before = (folder / "a.py").read_bytes()
        _, patch, _ = lint(capsys, "a.py", "--diff", "--unsafe-fixes")
        lint(capsys, "a.py", "--fix", "--unsafe-fixes")
        after = (folder / "a.py").read_bytes()
        (folder / "a.py").write_bytes(before)
        command = ["git", "apply", "-p0", "--unsafe-paths", "-"]
        try:
            done = subprocess.run(command, input=patch.encode(), capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("git is not installed")
        assert done.returncode == 0, done.stderr.decode()
        assert (folder / "a.py").read_bytes() == after


def test_fix(folder, capsys):
    os.chmod(folder / "a.py", 0o750)
    status, out, _ = lint(capsys, "a.py", "--fix")
    assert status == 1
    assert "1 use of TorchScript found in 1 file, 1 fixed (1 more with --unsafe-fixes).\n" in out
    assert (folder / "a.py").read_text() == FIXED
    assert stat.S_IMODE(os.stat(folder / "a.py").st_mode) == 0o750
    assert lint(capsys, "a.py", "--fix", "--unsafe-fixes")[0] == 0
    assert "ost.torchscript.load('m.pt')" in (folder / "a.py").read_text()
    assert sorted(os.listdir(folder)) == ["a.py", "clean.py"]


def test_fix_of_a_file_that_cannot_be_written(folder, capsys, monkeypatch):
    from ostinato import _atomic

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_atomic, "replacing", refuse)
    status, _, err = lint(capsys, "a.py", "--fix")
    assert status == 2
    assert "a.py cannot be written: Permission denied" in err
    assert (folder / "a.py").read_text() == USE


def test_a_link_stays_one(folder, capsys):
    (folder / "link.py").symlink_to("a.py")
    lint(capsys, "link.py", "--fix")
    assert (folder / "link.py").is_symlink()
    assert (folder / "a.py").read_text() == FIXED


# ---- standard input ----


class Stream:
    def __init__(self, data):
        self.buffer = io.BytesIO(data)


def test_standard_input(folder, monkeypatch, capsysbinary):
    monkeypatch.setattr(sys, "stdin", Stream(USE.encode()))
    status = main(["lint", "-", "--stdin-filename", "model.py"])
    assert status == 1
    assert capsysbinary.readouterr().out.startswith(b"model.py:4:2: OST101")
    monkeypatch.setattr(sys, "stdin", Stream(USE.encode()))
    assert main(["lint", "-", "--fix"]) == 1
    done = capsysbinary.readouterr()
    assert done.out == FIXED.encode()
    assert b"1 fixed" in done.err
    monkeypatch.setattr(sys, "stdin", Stream(b"\xff nothing here"))
    assert main(["lint", "-", "--fix"]) == 0
    assert capsysbinary.readouterr().out == b"\xff nothing here"


# ---- formats ----


def test_json(folder, capsys):
    status, out, _ = lint(capsys, "a.py", "--json")
    assert status == 1
    document = json.loads(out)
    assert document["counts"] == {"OST101": 1, "OST103": 1}
    first = document["findings"][0]
    assert (first["path"], first["line"], first["column"], first["rule"]) == ("a.py", 4, 2, "OST101")
    assert first["fix"] == {"title": "remove the decorator", "safe": True}
    assert lint(capsys, "a.py", "--format", "json")[1] == out


def test_github(folder, capsys):
    os.rename(folder / "a.py", folder / "a,b%.py")
    _, out, _ = lint(capsys, "a,b%.py", "--format", "github")
    first = out.splitlines()[0]
    place = "title=Ostinato OST101,file=a%2Cb%25.py,line=4,col=2,endLine=4,endColumn=18"
    assert first.startswith(f"::error {place}::torch.jit.script compiles to TorchScript; instead: ")


def test_sarif(folder, capsys):
    """What the schema of SARIF 2.1.0 requires of the parts that are written."""
    os.rename(folder / "a.py", folder / "ä b.py")
    _, out, _ = lint(capsys, ".", "--format", "sarif")
    log = json.loads(out)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "%C3%A4%20b.py"
        assert place["region"]["startLine"] >= 1


def test_a_cell_of_a_notebook_in_each_format(folder, capsys):
    cell = {"cell_type": "code", "source": "import torch\ntorch.jit.script(f)"}
    (folder / "n.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}}))
    assert "n.ipynb:cell 1:2:1: OST101" in lint(capsys, "n.ipynb")[1]
    assert "file=n.ipynb::cell 1, line 2: " in lint(capsys, "n.ipynb", "--format", "github")[1]
    (result,) = json.loads(lint(capsys, "n.ipynb", "--format", "sarif")[1])["runs"][0]["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]


def test_a_line_cannot_steer_the_terminal(folder, capsys):
    (folder / "a.py").write_text("import torch\ntorch.jit.script('\x1b[31m\u202e')\n")
    _, out, _ = lint(capsys, "a.py")
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_neither_torch_nor_rich_is_imported(folder):
    check = (
        "import sys; from ostinato.cli import main; main(['lint', 'a.py', '--diff']); main(['lint', 'a.py']);"
        "print(sorted({'torch', 'numpy', 'rich', 'ostinato.export', 'ostinato.doctor'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.splitlines()[-1] == "[]"
