"""What --fix makes of a text, and that Python does the same before and after."""

from __future__ import annotations

import ast
import textwrap

import pytest

from .support import fix, run


def fixed(before, after, unsafe=False):
    """``before`` becomes ``after``, and nothing more the second time."""
    got = fix(before, unsafe)
    assert got == textwrap.dedent(after)
    assert fix(got, unsafe) == got


def untouched(text, unsafe=False):
    fixed(text, text, unsafe)


def test_decorators_go_and_comments_stay():
    fixed(
        """
        import torch
        from torch.jit import ignore as hidden

        @torch.jit.script  # noqa: F821
        def f(x):
            return x

        class M(torch.nn.Module):
            @torch.jit.export
            @property
            def a(self):
                return 1

            @hidden  # it prints
            def b(self):
                return 2

            @torch.jit.ignore(
                drop=True)
            def c(self):
                return 3
        """,
        """
        import torch

        def f(x):
            return x

        class M(torch.nn.Module):
            @property
            def a(self):
                return 1

            # it prints
            def b(self):
                return 2

            def c(self):
                return 3
        """,
    )


MARKED = """
    import torch
    class M(torch.nn.Module):
        @torch.jit.export
        def f(self):
            return torch.jit.is_scripting()
"""


@pytest.mark.parametrize(
    "more", ["torch.jit.script(M())", "M().to_torchscript()", "class N(torch.jit.ScriptModule): pass"]
)
def test_marks_stay_where_something_is_still_compiled(more):
    text = textwrap.dedent(MARKED) + more + "\n"
    untouched(text)
    assert "torch.jit.export" not in fix(text, unsafe=True)


def test_what_is_not_reported_still_counts():
    text = textwrap.dedent(MARKED) + "torch.jit.script(M())  # noqa: OST101\n"
    untouched(text)


BRANCHING = """
    import torch
    @torch.jit.script
    def f(x):
        if x.sum() > 0:
            return x
        return -x
"""


def test_a_function_with_branches_stays_compiled_where_something_is_traced():
    text = textwrap.dedent(BRANCHING)
    assert "script" not in fix(text)
    untouched(text + "torch.jit.trace(f, x)\n")
    untouched(text + "torch.onnx.export(f, x, p, dynamo=False)\n")


@pytest.mark.parametrize(
    "body",
    [
        "def f(x): return torch.jit.is_scripting()",
        "def f(x): return x\nf.save('f.pt')",
        "def f(x): return x\nprint(f.graph)",
    ],
)
def test_a_function_that_is_used_as_one_of_torchscript_stays(body):
    untouched("import torch\n@torch.jit.script\n" + body + "\n")


def test_annotate():
    fixed(
        """
        from typing import List
        import torch
        def f(x):
            a = torch.jit.annotate(List[int], [])
            b: int = torch.jit.annotate(int, x if x else 1)
            x.y = torch.jit.annotate(List[int], [1,
                2])
            global c
            c = torch.jit.annotate(int, 1 + 1)
            return torch.jit.annotate(int, 1).real + torch.jit.annotate(int, x + 1) * 2
        class C:
            d = torch.jit.annotate(List[int], [])
        """,
        """
        from typing import List
        import torch
        def f(x):
            a: List[int] = []
            b: int = x if x else 1
            x.y = ([1,
                2])
            global c
            c = 1 + 1
            return (1).real + (x + 1) * 2
        class C:
            d = []
        """,
    )


@pytest.mark.parametrize(
    ("imports", "used"),
    [
        ("import typing", "typing.Final"),
        ("import typing as t", "typing.Final"),
        ("from typing import Final", "Final"),
        ("from typing import Final as F", "F"),
    ],
)
def test_final_by_the_import_that_is_there(imports, used):
    got = fix(f"import torch\n{imports}\nclass C:\n    n: torch.jit.Final[int] = 1\n")
    assert f"    n: {used}[int] = 1\n" in got
    compile_and_run(got, torch=None)


def compile_and_run(text, **names):
    space = dict(names)
    exec(compile(text, "fixed", "exec"), space)
    return space


def test_final_is_not_fixed_where_typing_is_something_else():
    untouched("import torch\ntyping = 1\nclass C:\n    n: torch.jit.Final[int] = 1\n")


def test_new_imports_follow_the_docstring_and_the_future():
    fixed(
        '''
        """Doc."""
        from __future__ import annotations
        from torch.jit import Final
        class C:
            n: Final[int] = 1
        ''',
        '''
        """Doc."""
        from __future__ import annotations
        import typing
        class C:
            n: typing.Final[int] = 1
        ''',
    )


def test_load_is_fixed_only_where_ours_takes_the_arguments():
    text = "import torch\nm = torch.jit.load({})\n"
    for given, taken in [
        ("p", "p"),
        ("f=p", "p"),
        ("p, 'cpu'", "p"),
        ("p, map_location=torch.device('cpu')", "p"),
        ("a / b", "a / b"),
    ]:
        untouched(text.format(given))
        fixed(
            text.format(given),
            f"import ostinato as ost\nimport torch\nm = ost.torchscript.load({taken})\n",
            unsafe=True,
        )
    for given in ("", "p, device", "p, _extra_files={}", "*p", "p, map_location='cuda'", "**k"):
        untouched(text.format(given), unsafe=True)


def test_a_script_module_becomes_a_module():
    fixed(
        """
        import torch
        class M(torch.jit.ScriptModule):
            @torch.jit.script_method
            def forward(self, x):
                return x
        """,
        """
        import torch
        class M(torch.nn.Module):
            def forward(self, x):
                return x
        """,
        unsafe=True,
    )


def test_the_old_onnx_exporter():
    text = "import torch\ntorch.onnx.export(m, x, p, dynamo=False)\n"
    untouched(text)
    fixed(text, text.replace("False", "True"), unsafe=True)


# ---- imports ----


def test_imports():
    fixed(
        """
        import os, torch.jit, sys
        from torch.jit import script, trace as t, load
        try:
            from torch.jit import fork
        except ImportError:
            fork = None
        t(m, x)
        """,
        """
        import os, torch, sys
        from torch.jit import trace as t
        try:
            pass
        except ImportError:
            fork = None
        t(m, x)
        """,
    )


def test_two_imports_that_are_a_whole_block():
    fixed(
        "try:\n    import torch.jit as a\n    import torch.jit as b\nexcept ImportError:\n    pass\n",
        "try:\n    pass\nexcept ImportError:\n    pass\n",
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from torch.jit import script\n", "__init__.py"),
        ("from torch.jit import script\n__all__ = ['script']\n", "x.py"),
        ("from torch.jit import script as script\n", "x.py"),
    ],
)
def test_what_others_may_take_from_here_stays(text, name):
    assert fix(text, name=name) == text
    assert "import" not in fix(text, unsafe=True, name=name)


# ---- is_scripting ----


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = torch.jit.is_scripting()", "x = False"),
        ("x = not torch.jit.is_scripting()", "x = True"),
        ("x = not torch.jit.is_scripting() and f(2)", "x = f(2)"),
        ("x = torch.jit.is_scripting() or f(2)", "x = f(2)"),
        ("x = torch.jit.is_scripting() and f(2)", "x = False"),
        ("x = f(2) and not torch.jit.is_scripting()", "x = f(2) and True"),
        ("x = f(0) and torch.jit.is_scripting()", "x = f(0) and False"),
        ("x = (torch.jit.is_scripting()) or f(2)", "x = (False) or f(2)"),
        ("x = 1 if torch.jit.is_scripting() else 2", "x = 2"),
        ("x = [1 if torch.jit.is_scripting() else 2, 3]", "x = [(2), 3]"),
        ("x = 1 if f(1) and not torch.jit.is_scripting() else 2", "x = 1 if f(1) else 2"),
        ("if (not torch.jit.is_scripting()\n        and f(1)):\n    x = 1", "if (f(1)):\n    x = 1"),
        ("if f(1) and torch.jit.is_scripting():\n    x = 1", "if f(1) and False:\n    x = 1"),
        ("y = 1\nif y and torch.jit.is_scripting():\n    x = 1\nx = 2", "y = 1\nx = 2"),
        ("if torch.jit.is_scripting():\n    x = 1\nx = 2", "x = 2"),
        ("if torch.jit.is_scripting():\n    x = 1\nelse:\n    x = 2  # two", "x = 2  # two"),
        ("if not torch.jit.is_scripting():\n    # one\n    x = 1\nelse:\n    x = 2", "# one\nx = 1"),
        ("if torch.jit.is_scripting():\n    x = 1\nelif f(1):\n    x = 2", "if f(1):\n    x = 2"),
        (
            "if f(0):\n    x = 1\nelif torch.jit.is_scripting():\n    x = 2\nelif f(1):\n    x = 3",
            "if f(0):\n    x = 1\nelif f(1):\n    x = 3",
        ),
        (
            "if f(0):\n    x = 1\nelif torch.jit.is_scripting():\n    x = 2\nelse:\n    x = 3",
            "if f(0):\n    x = 1\nelse:\n    x = 3",
        ),
        (
            "if f(0):\n    x = 1\nelif not torch.jit.is_scripting():\n    x = 2\nelse:\n    x = 3",
            "if f(0):\n    x = 1\nelse:\n    x = 2",
        ),
        ("if f(1):\n    if torch.jit.is_scripting():\n        x = 1\nx = 2", "if f(1):\n    pass\nx = 2"),
        (
            "if not torch.jit.is_scripting():\n    x = '''\n    a'''",
            "if True:\n    x = '''\n    a'''",
        ),
        ("if torch.jit.is_scripting(): x = 1\nx = 2", "if False: x = 1\nx = 2"),
        (
            "if not torch.jit.is_scripting():\n    if f(1):\n        x = (1,\n    2)",
            "if f(1):\n    x = (1,\n2)",
        ),
    ],
)
def test_the_branch_that_python_takes(before, after):
    head = "import torch\n"
    fixed(head + before + "\n", head + after + "\n")
    seen, names = [], {}
    for text in (before, after):
        calls = []
        space = compile_and_run(head + text, f=lambda v, calls=calls: calls.append(v) or v)
        seen.append((space.get("x"), calls))
        names[text] = space
    assert seen[0] == seen[1]


def test_a_generator_stays_one():
    text = "import torch\ndef f():\n    if torch.jit.is_scripting():\n        yield 1\n"
    fixed(text, text.replace("torch.jit.is_scripting()", "False"))


# ---- comments with types ----


def test_signatures_in_comments():
    fixed(
        """
        import torch
        from torch import Tensor
        from typing import Optional
        def f(x, n=1, *, k = None):
            # type: (Tensor, int, Optional[Tensor]) -> Tensor  # noqa: E501
            return x
        class M(torch.nn.Module):
            def forward(self, x):  # type: (torch.Tensor) -> "Tensor"
                '''Doc.'''
                return x
            def none(self):
                # type: () -> Optional[Tensor]
                return None
        """,
        """
        import torch
        from torch import Tensor
        from typing import Optional
        def f(x: Tensor, n: int = 1, *, k: Optional[Tensor] = None) -> Tensor:
            return x
        class M(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> 'Tensor':
                '''Doc.'''
                return x
            def none(self) -> Optional[Tensor]:
                return None
        """,
    )


@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    # type: (Unknown) -> Tensor\n    pass\n",
        "def f(x, *y):\n    # type: (Tensor, Tensor) -> Tensor\n    pass\n",
        "def f(x: int):\n    # type: (Tensor) -> Tensor\n    pass\n",
        "def f(x, y):\n    # type: (Tensor) -> Tensor\n    pass\n",
        "def f(x,  # the input\n      ):\n    # type: (Tensor) -> Tensor\n    pass\n",
        "def f(x):\n    # type: (...) -> Tensor\n    pass\n",
        "def f(x):\n    # type: (Tensor -> Tensor\n    # type: (a b) -> Tensor\n    pass\n",
    ],
)
def test_signatures_that_only_a_person_can_move(function):
    untouched("from torch import Tensor\n" + function)


def test_signatures_of_others_are_not_reported():
    text = "import torch\ndef f(x):\n    # type: (int) -> int\n    return x\n"
    assert run(text).findings == []
    assert [each.rule for each in run(text + "torch.jit.script(f)\n").findings] == ["OST123", "OST101"]


# ---- files as they come ----


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("mark", "encoding"), [(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"", "latin-1")])
def test_the_form_of_a_file_stays(ending, mark, encoding):
    head = f"# coding: {encoding}\n# é\nimport torch\n"
    before = head + "é = 'ü'; n = torch.jit.annotate(int, 1)\nif not torch.jit.is_scripting():\n    x = 'ö'"
    after = head + "é = 'ü'; n: int = 1\nx = 'ö'"

    def raw(text):
        return mark + text.encode(encoding).replace(b"\n", ending)

    assert fix(raw(before)) == raw(after)
    ast.parse(raw(after))
