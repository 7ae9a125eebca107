"""The parser: what all verbs have in common, and the list of verbs."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any, NoReturn

from .._errors import fail
from .._version import __version__

# One word a verb: the file of that name holds NAME, HELP, EXAMPLES, add_arguments and run.
VERBS = ("deploy", "convert", "run", "inspect", "quantize", "bench", "lint", "doctor")


class Parser(argparse.ArgumentParser):
    """Reports wrong usage as every other error is reported."""

    def error(self, message: str) -> NoReturn:
        raise fail("cli.usage", message=message, command=self.prog)


def build_parser(given: Sequence[str] = ()) -> Parser:
    """The parser of the command line; ``run`` of what it gives is the verb's function.

    Only the file of the verb that ``given`` begins with is imported, so that a light verb starts
    quickly; all of them where it begins with none.
    """
    options: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    parser = Parser(
        prog="ostinato",
        description="Deploy a PyTorch or TorchScript model to one file, and run it from a graph.",
        epilog="ostinato VERB --help says more. Exit status: 0 done, 1 the answer is no, 2 it could not run.",
        **options,
    )
    parser.add_argument("--version", action="version", version=f"ostinato {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name in [each for each in VERBS if each in given[:1]] or VERBS:
        verb = importlib.import_module(f"._{name}", __package__)
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
