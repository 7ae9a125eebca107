"""From arguments to an exit status: 0 done, 1 the answer is no, 2 it could not run."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from .._errors import OstinatoError, fail
from ._args import build_parser
from ._printer import Printer

# The errors that say that a check was made and failed; all others mean that it could not run.
_NO = frozenset(("deployment.disagrees", "export.disagrees", "export.start", "export.variant_change"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    given = sys.argv[1:] if argv is None else list(argv)
    printer = Printer(json_output="--json" in given)
    debug = "--debug" in given
    try:
        options = build_parser(given).parse_args(given)
        with warnings.catch_warnings():
            if not debug:  # torch warns its developers; a user of a command can do nothing about it
                warnings.simplefilter("ignore")
            status: int = options.run(options, printer)
        sys.stdout.flush()
        return status
    except OstinatoError as error:
        if debug:
            raise
        printer.error(error)
        return 1 if error.code in _NO else 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough; Python's own flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if debug:
            raise
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
        printer.error(fail("cli.unexpected", kind=type(error).__name__, message=first[:300]))
        return 2
