"""Lint on texts: what is found in one, and what its fixes make of it."""

from __future__ import annotations

import textwrap

from ostinato.torchscript._lint import Run, settings


def run(text, name="x.py"):
    """A run over one text; bytes are taken as they are."""
    found = Run(settings(["/"]))
    found.add(name, text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    found.settle()
    return found


def findings(text, name="x.py"):
    """(line, column, rule) of each."""
    return [(each.line, each.column, each.rule) for each in run(text, name).findings]


def rules(text, name="x.py"):
    """The rules, in order."""
    return [each.rule for each in run(text, name).findings]


def fix(text, unsafe=False, name="x.py"):
    """The text with its fixes made."""
    given = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    for _, source, _ in run(given, name).fixed(unsafe=unsafe):
        given = source.encode()
    return given if isinstance(text, bytes) else given.decode()
