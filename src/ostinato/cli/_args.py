"""The parser: what all verbs have in common, and the list of verbs."""

from __future__ import annotations

import argparse
from types import ModuleType
from typing import Any, NoReturn

from .._errors import fail
from .._version import __version__
from . import _bench, _convert, _deploy, _doctor, _inspect, _quantize, _run

# One line a verb: its file holds NAME, HELP, EXAMPLES, add_arguments and run.
VERBS: tuple[ModuleType, ...] = (_deploy, _convert, _run, _inspect, _quantize, _bench, _doctor)


class Parser(argparse.ArgumentParser):
    """Reports wrong usage as every other error is reported."""

    def error(self, message: str) -> NoReturn:
        raise fail("cli.usage", message=message, command=self.prog)


def build_parser() -> Parser:
    """The parser of the whole command line; ``run`` of what it gives is the verb's function."""
    options: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = Parser(
        prog="ostinato",
        description="Deploy a PyTorch or TorchScript model to one file, and run it from a graph.",
        epilog="ostinato VERB --help says more. Exit status: 0 done, 1 the answer is no, 2 it could not run.",
        **options,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        sub = verbs.add_parser(
            verb.NAME, help=verb.HELP, description=verb.HELP, epilog=_examples(verb.EXAMPLES), **options
        )
        verb.add_arguments(sub)
        sub.add_argument("--json", action="store_true", help="print the result as one JSON document")
        sub.add_argument("--debug", action="store_true", help="show the traceback of an error")
        sub.set_defaults(run=verb.run)
    return parser


def _examples(lines: tuple[str, ...]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)
