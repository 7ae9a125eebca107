"""Files as they lie in a code base: C++, notebooks, folders, encodings, what is broken, settings."""

from __future__ import annotations

import json

import pytest

import ostinato as ost
from ostinato.torchscript._lint import run, settings

from .support import findings, rules, run as run_text

USE = "import torch\ntorch.jit.script(f)\n"


# ---- C++ ----


def test_cpp():
    code = """\
#include <torch/script.h>  // torch::jit::load
#include "torch/csrc/jit/api/module.h"
/* torch::jit::load("a"); */
namespace tj = torch::jit;
auto a = torch::jit::load("torch::jit::load"); auto n = 1'000'000;
auto b = tj::load(p); char q = '"'; tj::Module m;
auto c = ::torch :: jit
    ::_load_for_mobile(p);
auto d = R"x(torch::jit::load)x"; auto e = torch::jit::mobile::Module();
void f(mine::torch::jit::Module); torch::jitter::x; // noqa
torch::jit::script::Module g; // noqa: OST151
"""
    assert findings(code, "a.cpp") == [
        (1, 11, "OST152"),
        (2, 11, "OST152"),
        (4, 16, "OST151"),
        (5, 10, "OST150"),
        (6, 10, "OST150"),
        (6, 37, "OST151"),
        (7, 10, "OST153"),
        (9, 44, "OST153"),
    ]


def test_cpp_namespaces():
    assert rules("using namespace torch;\njit::load(p); mine::jit::load(p);", "a.cc") == ["OST150"]
    assert rules("namespace torch { namespace jit {\nstruct X {}; } }", "a.h") == ["OST151"]
    assert rules("torch::Tensor x; /* never ends torch::jit::load", "a.cu") == []


# ---- notebooks ----


def notebook(*cells, language="python"):
    cells = [{"cell_type": kind, "source": text} for kind, text in cells]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": language}}}).encode()


def test_notebooks():
    raw = notebook(
        ("markdown", "torch.jit.script"),
        ("code", ["%matplotlib inline\n", "!pip install torch\n", "from torch import jit as J"]),
        ("code", "print 1"),
        ("code", "%%bash\ntorch.jit.script(f)"),
        ("code", "x = !ls\n\nJ.script(f)\nJ.load(p)  # noqa"),
    )
    found = run_text(raw, "a.ipynb")
    (finding,) = found.findings
    assert (finding.cell, finding.line, finding.column, finding.rule) == (5, 3, 1, "OST101")
    assert finding.source == "J.script(f)"
    assert finding.fix is None
    (note,) = found.notes
    assert "cell 3" in str(note)
    assert rules(notebook(("code", USE), language="R"), "a.ipynb") == []
    assert "no notebook" in str(run_text(b'{"torch": "jit"}', "a.ipynb").notes[0])


# ---- what cannot be read ----


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"import torch\nprint torch.jit.script", "not Python 3"),
        (b"import torch\n{{ torch.jit }} {% for %}", "not Python 3"),
        (b"# coding: latin-1\nimport torch\nx = '\xe9'; torch.jit.script(f)", None),
        (b"import torch\nx = '\xe9'; torch.jit.script(f)", "decode"),
        (b"# coding: nonsense\nimport torch.jit", "nonsense"),
        (b"import torch.jit\nx = '\0'", "null"),
        (b"import torch.jit\nx = " + b"(" * 5000 + b")" * 5000, "p"),
        (b"import torch.jit\nx = " + b"-" * 50000 + b"1", "p"),
    ],
)
def test_what_cannot_be_read_is_a_note(raw, reason):
    found = run_text(raw)
    if reason is None:
        assert [each.rule for each in found.findings] == ["OST101"]
        assert found.notes == []
    else:
        (note,) = found.notes
        assert reason in str(note)
        assert "\n" not in str(note)


# ---- noqa ----


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# noqa", True),
        ("#NOQA", True),
        ("# noqa: OST101", True),
        ("# noqa: F401, OST101", True),
        ("# noqa:F401 OST101", True),
        ("# noqa: OST102", False),
        ("# noqa: F401", False),
        ("# no qa", False),
    ],
)
def test_noqa(comment, hidden):
    text = f"import torch\ntorch.jit.script(f)  {comment}\n"
    assert rules(text) == ([] if hidden else ["OST101"])


def test_noqa_on_any_line_of_a_use():
    assert rules("import torch\n(torch.\n  jit.script)(f)  # noqa: OST101\n") == []


# ---- folders ----


@pytest.fixture
def tree(tmp_path):
    for name in (
        *("a.py", "sub/b.pyi", "sub/deep/c.py", "d.ipynb", "e.cpp", "f.txt", "g"),
        *(".venv/h.py", "node_modules/i.py", "build/j.py", ".git/k.py", "own/lib/l.py", "own/pyvenv.cfg"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("torch::jit::load(p);" if name == "e.cpp" else USE)
    (tmp_path / "d.ipynb").write_bytes(notebook(("code", USE)))
    return tmp_path


def found_in(tree, *paths, **options):
    paths = [str(tree / each) for each in paths] or [str(tree)]
    return sorted(
        {each.path.removeprefix(str(tree) + "/") for each in ost.torchscript.lint(paths, **options)}
    )


def test_folders(tree):
    assert found_in(tree) == ["a.py", "d.ipynb", "e.cpp", "sub/b.pyi", "sub/deep/c.py"]
    assert found_in(tree, "g", ".venv/h.py", "sub/../a.py", "a.py") == [".venv/h.py", "g", "sub/../a.py"]
    assert found_in(tree, ".venv") == [".venv/h.py"]
    assert found_in(tree, exclude=["sub", "*.cpp"]) == ["a.py", "d.ipynb"]
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    assert len(found_in(tree)) == 5
    assert ost.torchscript.lint(tree / "a.py")[0].rule == "OST101"


def test_settings_of_the_nearest_pyproject(tree):
    (tree / "pyproject.toml").write_text(
        '[tool.ostinato.lint]\nselect = ["OST101"]\nexclude = ["sub/deep"]\n'
        '[tool.ostinato.lint.per-file-ignores]\n"*.ipynb" = ["OST1"]\n'
    )
    (tree / "sub" / "pyproject.toml").write_text("[tool.other]\n")
    assert found_in(tree) == ["a.py", "sub/b.pyi"]
    assert found_in(tree, "sub") == ["sub/b.pyi"]
    assert found_in(tree, select=["OST15"]) == ["e.cpp"]
    assert found_in(tree, ignore=["OST10"]) == []


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("[tool.ostinato.lint]\nselct = []", "selct"),
        ("[tool.ostinato.lint]\nselect = 'OST101'", "list of texts"),
        ("[tool.ostinato.lint]\nselect = 1", "list of texts"),
        ("[tool.ostinato.lint]\nselect = ['E501']", "E501"),
        ("[tool.ostinato.lint]\nper-file-ignores = []", "table"),
        ("[tool.ostinato]\nlint = 1", "table"),
        ("[tool.ostinato.lint", "pyproject.toml"),
    ],
)
def test_settings_that_cannot_be_used(tree, table, part):
    (tree / "pyproject.toml").write_text(table)
    with pytest.raises(ost.UsageError, match=part.replace(".", r"\.")):
        ost.torchscript.lint([tree])


def test_what_does_not_exist(tree):
    with pytest.raises(ost.UsageError, match="no file or folder"):
        ost.torchscript.lint([tree / "absent"])
    with pytest.raises(ost.UsageError, match="OST999"):
        ost.torchscript.lint([tree], select=["OST999"])


def test_a_file_that_cannot_be_read_is_a_note(tree):
    (tree / "broken.py").symlink_to(tree / "absent")
    (tree / "folder.py").mkdir()
    found = run([str(tree)], settings([str(tree)]))
    assert ["broken.py" in str(each) for each in found.notes] == [True]
