"""Writes docs/reference/errors.md from the tables in src/ostinato/_errors: `make errors`."""

from __future__ import annotations

import inspect
import pathlib

from ostinato import _errors
from ostinato._errors import _tables

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "reference" / "errors.md"

HEAD = """# Errors

<!-- Written by scripts/errors.py from src/ostinato/_errors: change the tables and run `make errors`. -->

Every error that Ostinato raises on purpose is an `OstinatoError`. It has a `message` (one or more sentences),
a `hint` (the way out) and a `code`, which stays the same when the wording changes; `str(error)` is the
message, then a line that begins with `hint:`. The classes are those of `ostinato._errors`; `CaptureError`
and `ReplayError` are also in `ost.accelerator`.

What stands in braces is filled in.
"""


def _text(text: str) -> str:
    """``text`` as Markdown: format's doubled braces single, nothing taken for markup."""
    text = text.replace("{{", "{").replace("}}", "}")
    return text.replace("*", "\\*").replace("<", "&lt;")


def _classes() -> list[str]:
    lines = ["| class | also a | meaning |", "| --- | --- | --- |"]
    for name in dir(_errors):
        cls = getattr(_errors, name)
        if isinstance(cls, type) and issubclass(cls, _errors.OstinatoError):
            bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
            lines.append(f"| `{name}` | {bases} | {(inspect.getdoc(cls) or '').splitlines()[0]} |")
    return lines


def render() -> str:
    """The page."""
    lines = [HEAD, "## Classes", "", *_classes()]
    for feature, table in sorted(_tables._TABLES.items()):
        if not table:
            continue
        lines += ["", f"## `{feature}`"]
        for what, (cls, message, hint) in table.items():
            lines += ["", f"`{feature}.{what}` · `{cls.__name__}`", f": {_text(message)}", ""]
            lines += [f"    *hint: {_text(hint)}*"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
