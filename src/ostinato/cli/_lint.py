"""``ostinato lint``: the uses of TorchScript in a code base, and their replacement."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .._errors import fail
from ._lint_formats import FORMATS, summary
from ._printer import Printer

if TYPE_CHECKING:
    from ..torchscript._lint import Run, Source
    from ..torchscript._lint._lint import Checked

NAME = "lint"
HELP = "find uses of TorchScript in Python, notebooks and C++, say what replaces each, and fix what is plain"
EXAMPLES = (
    "ostinato lint src",
    "ostinato lint src --diff",
    "ostinato lint src --fix",
    "ostinato lint . --format sarif > torchscript.sarif",
    "ostinato lint - --stdin-filename model.py < model.py",
)
_STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="*", help="files and folders (default: .), or - alone")
    parser.add_argument(
        "--fix", action="store_true", help="make the changes after which Python does the same"
    )
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: the other changes, too"
    )
    parser.add_argument("--diff", action="store_true", help="print the changes instead, and write nothing")
    parser.add_argument("--select", metavar="RULES", type=_rules, help="report these only: OST101,OST11")
    parser.add_argument("--ignore", metavar="RULES", type=_rules, help="do not report these")
    parser.add_argument("--exclude", metavar="GLOB", action="append", default=[], help="leave these out")
    parser.add_argument("--format", choices=sorted(FORMATS), default="text", help="default: text")
    parser.add_argument("--stdin-filename", metavar="NAME", help="the name to report - under")


def _rules(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.replace(",", " ").split()))


def run(options: argparse.Namespace, printer: Printer) -> int:
    from ..torchscript._lint import Run, run as run_lint, settings

    paths = options.paths or ["."]
    if options.stdin_filename and paths != [_STDIN]:
        raise fail("cli.usage", message="--stdin-filename goes with - alone", command="ostinato lint")
    from_stdin = paths == [_STDIN]
    rules = settings(
        [options.stdin_filename or "."] if from_stdin else paths,
        select=options.select,
        ignore=options.ignore,
        exclude=options.exclude,
    )
    if from_stdin:
        given = sys.stdin.buffer.read()
        found = Run(rules)
        found.add(options.stdin_filename or "<stdin>", given)
        found.settle()
    else:
        found = run_lint(paths, rules)
    for note in found.notes:
        printer.note(f"note: {note}")
    if options.diff:
        return _show_changes(found, options.unsafe_fixes)
    form = "json" if options.json else options.format
    if options.fix and from_stdin:
        return _filter(found, given, options.unsafe_fixes, printer)
    fixes = _make(found, options.unsafe_fixes) if options.fix else 0
    sys.stdout.write(FORMATS[form](found.findings, found.count, fixes))
    return 1 if found.findings else 0


def _show_changes(found: Run, unsafe: bool) -> int:
    import difflib

    for checked, source, _ in found.fixed(unsafe=unsafe):
        assert checked.source is not None
        before, after = (each.text.splitlines(keepends=True) for each in (checked.source, source))
        for line in difflib.unified_diff(before, after, checked.path, checked.path):
            sys.stdout.write(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return 1 if found.findings else 0


def _make(found: Run, unsafe: bool) -> int:
    """Write what fixes change, and give their number."""
    total = 0
    for checked, source, count in found.fixed(unsafe=unsafe):
        _write(checked, source)
        found.recheck(checked, source)
        total += count
    return total


def _filter(found: Run, given: bytes, unsafe: bool, printer: Printer) -> int:
    """Give standard input back with its fixes made."""
    fixes = 0
    for checked, source, count in found.fixed(unsafe=unsafe):
        given = source.encode()
        found.recheck(checked, source)
        fixes = count
    sys.stdout.buffer.write(given)
    sys.stdout.buffer.flush()
    printer.note(summary(found.findings, found.count, fixes).rstrip())
    return 1 if found.findings else 0


def _write(checked: Checked, source: Source) -> None:
    import shutil

    from .._atomic import replacing

    try:
        with replacing(checked.path) as part:
            part.write_bytes(source.encode())
            shutil.copymode(os.path.realpath(checked.path), part)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise fail("torchscript.lint_unwritable", path=checked.path, reason=reason) from None
