"""The command, for ``ostinato doctor`` and ``python -m ostinato.doctor``: arguments and what it prints."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn, Optional

from .._errors import OstinatoError, fail

NAME = "doctor"
HELP = "say which torch this machine needs, and why the one it has does not work"
EXAMPLES = (
    "ostinato doctor",
    'ostinato doctor --want "torch==2.9"',
    "ostinato doctor --collect > machine.json; ostinato doctor --machine machine.json",
    "python train.py 2>&1 | ostinato doctor --error -",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options, but for those that all verbs have."""
    parser.add_argument(
        "--want", metavar="SPEC", help="answer for these: torch==2.9, torch>=2.8,<2.10, cu126, cpu, rocm, xpu"
    )
    parser.add_argument(
        "--machine", metavar="FILE", help="answer for the machine of a record, not for this one"
    )
    parser.add_argument(
        "--collect", action="store_true", help="print the record of this machine, without anything personal"
    )
    parser.add_argument(
        "--error",
        metavar="TEXT",
        help="explain an error message; a file that has it, or - for standard input",
    )


def run(options: argparse.Namespace) -> int:
    """Answer, and return the exit status."""
    if options.collect:
        from ._probe import look

        print(json.dumps(look().without_names().to_json(), indent=1))
        return 0
    if options.error is not None:
        return _explain(options)
    from ._diagnose import diagnose

    diagnosis = diagnose(options.machine, want=options.want)
    if options.json:
        print(json.dumps(diagnosis.to_json(), indent=1))
    else:
        _show(diagnosis)
    return diagnosis.exit_status


def _show(diagnosis: Any) -> None:
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        try:
            from ._page import show

            show(diagnosis)
            return
        except ImportError:
            pass
    print(diagnosis)


def _explain(options: argparse.Namespace) -> int:
    from ._explain import explain
    from ._text import explanations

    found = explain(_log(options.error))
    if options.json:
        print(json.dumps([each.to_json() for each in found], indent=1))
    elif found:
        print(explanations(found))
    else:
        print("unknown: no message that the doctor knows is in this text.")
    return 0 if found else 1


def _log(given: str) -> str:
    try:
        if given == "-":
            return sys.stdin.read()
        if os.path.isfile(given):
            with open(given, encoding="utf-8", errors="replace") as file:
                return file.read()
    except OSError as error:
        raise fail("doctor.log", reason=error) from error
    return given


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise fail("cli.usage", message=message, command=self.prog)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """``python -m ostinato.doctor``."""
    parser = _Parser(
        prog="python -m ostinato.doctor",
        description=HELP[0].upper() + HELP[1:] + ".",
        epilog="Exit status: 0 it works, 1 it does not, 2 that could not be seen.",
        allow_abbrev=False,
    )
    add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON document")
    try:
        return run(parser.parse_args(argv))
    except OstinatoError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
