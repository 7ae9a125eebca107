"""``ostinato doctor``: which torch this machine needs, and why the one it has does not work."""

from __future__ import annotations

import argparse

from ..doctor import _command
from ._printer import Printer

NAME = _command.NAME
HELP = _command.HELP
EXAMPLES = _command.EXAMPLES
add_arguments = _command.add_arguments


def run(options: argparse.Namespace, printer: Printer) -> int:
    return _command.run(options)
