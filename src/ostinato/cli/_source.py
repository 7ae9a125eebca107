"""What verbs that write a file of a model are given: the model, the file, and example inputs."""

from __future__ import annotations

import argparse
from typing import Any

from ._values import GRAMMAR, parse_args


def add_source(parser: argparse.ArgumentParser, out: str = "the file to write, ending in .pt2") -> None:
    """``SOURCE``, ``--out`` (``out`` is its help) and ``--args``."""
    parser.add_argument(
        "source", metavar="SOURCE", help="a TorchScript archive, a .pt2, or package.module:name"
    )
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help=out)
    parser.add_argument(
        "--args", action="append", metavar="VALUES", help=f"example inputs, once a variant: {GRAMMAR}"
    )


def examples(options: argparse.Namespace) -> list[tuple[Any, ...] | dict[str, Any]] | None:
    """The inputs of ``--args``, a tuple or a dict by name for each; None where there are none."""
    return [parse_args(text) for text in options.args] if options.args else None
