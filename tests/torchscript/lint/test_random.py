"""Random programs full of TorchScript: fixed, they are Python, hold no more of it, and do what they did."""

from __future__ import annotations

import ast
import textwrap

import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from .support import fix, run

HEAD = """\
import torch
from torch import jit as J
from torch.jit import ignore, is_scripting as scripting
log = []
def f(v):
    log.append(v)
    return v
"""

SCRIPTING = st.sampled_from(["torch.jit.is_scripting()", "J.is_scripting()", "scripting()"])
PLAIN = st.sampled_from(["f(0)", "f(1)", "f('é𝄞')", "n", "1"])


def expressions():
    def larger(inner):
        return st.one_of(
            st.builds("not {}".format, inner),
            st.builds("({})".format, inner),
            st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
            st.builds("({} and\n  {} or {})".format, inner, inner, inner),
            st.builds("({} if {} else {})".format, inner, inner, inner),
            st.builds("torch.jit.annotate(list, {})".format, inner),
            st.builds("f({})".format, inner),
        )

    return st.recursive(st.one_of(SCRIPTING, PLAIN), larger, max_leaves=6)


EXPRESSIONS = expressions()


def conditions():
    """Also without the parentheses, which text edits must not trip over."""
    bare = st.builds("{} {} {}".format, SCRIPTING, st.sampled_from(["and", "or"]), EXPRESSIONS)
    return st.one_of(EXPRESSIONS, bare, st.builds("not {}".format, SCRIPTING))


CONDITIONS = conditions()


def indented(text):
    return textwrap.indent(text, "    ")


def blocks():
    simple = st.one_of(
        st.builds("n = {}".format, EXPRESSIONS),
        st.builds("n = J.annotate(int, {})".format, EXPRESSIONS),
        st.builds("f({})  # é".format, EXPRESSIONS),
        st.just("pass"),
        st.just("n = '''a\n  b'''"),
    )

    def larger(inner):
        body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
        return st.one_of(
            st.builds(lambda test, a: f"if {test}:\n{indented(a)}", CONDITIONS, body),
            st.builds(
                lambda test, a, b: f"if {test}:\n{indented(a)}\nelse:\n{indented(b)}",
                conditions(),
                body,
                body,
            ),
            st.builds(
                lambda one, a, two, b, c: (
                    f"if {one}:\n{indented(a)}\nelif {two}:\n    # so\n{indented(b)}\n"
                    f"else:  # no\n{indented(c)}"
                ),
                *(CONDITIONS, body, CONDITIONS, body, body),
            ),
            st.builds(lambda a: f"for i in [1, 2]:\n{indented(a)}", body),
            st.builds(lambda a: f"try:\n{indented(a)}\nfinally:\n    f(7)", body),
        )

    return st.recursive(simple, larger, max_leaves=5)


BLOCKS = st.lists(blocks(), min_size=1, max_size=4).map("\n".join)


@st.composite
def programs(draw):
    body = draw(BLOCKS)
    marks = draw(
        st.sampled_from(["", "@ignore\n", "@torch.jit.unused\n@J.export  # é\n", "@ignore(drop=False)\n"])
    )
    comment = draw(st.sampled_from(["", "    # type: (torch.Tensor) -> int\n"]))
    return f"{HEAD}{marks}def run(n):\n{comment}{indented(body)}\n    return n\n"


def outcome(text):
    space = {}
    exec(compile(text, "program", "exec"), space)
    assert space["torch"] is torch
    return space["run"](0), space["log"]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(programs())
def test_fixed_programs_do_what_they_did(text):
    after = fix(text)
    ast.parse(after)
    assert [str(each) for each in run(after).findings] == []
    assert fix(after) == after
    assert outcome(after) == outcome(text)


@given(st.text(alphabet="ab()[]:=,.'\"#\\\n\t @éif torch.jit", max_size=80))
def test_any_text_is_looked_at_without_a_crash(text):
    found = run(f"import torch.jit\n{text}")
    assert len(found.notes) <= 1
    for name in ("a.cpp", "a.ipynb"):
        run(f"torch jit\n{text}", name)
