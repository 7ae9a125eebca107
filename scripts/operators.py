"""Writes docs/reference/operators.md: PyTorch's operator samples, captured and replayed (`make operators`).

The check is that of tests/accelerator/opinfo.py, over the same entries as the suite.
"""

from __future__ import annotations

import os
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterable

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # what samples make eager warn of is not our subject

import torch

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "operators.md"
sys.path.insert(0, str(ROOT))

from tests.accelerator import opinfo  # noqa: E402

DTYPES = (torch.float32, torch.int64)
KINDS = ("entries", "equal", "without a Python step", "refused", "not run")

REASONS = {
    "accelerator.synchronises": "reads a value back to Python",
    "accelerator.data_dependent_shape": "its shape depends on data",
    "accelerator.layout": "a sparse tensor",
}

HEAD = """# Operators

<!-- Written by scripts/operators.py: run `make operators`. -->

PyTorch describes its operators by samples of their inputs (`op_db` of
`torch.testing._internal.common_methods_invocations`; a variant of an operator is an entry of its own). For
each entry and dtype, up to {samples} samples are captured with exact numerics, fed with other values, and
replayed: outputs, inputs and the state of the generator must be bit for bit what eager gives.
`python -m pytest tests/accelerator -k opinfo` checks the same and fails on the first difference. This page
is of torch {torch}.

An entry is *equal* when no sample differs and at least one is captured, *refused* when no sample can be
captured, and *not run* when eager itself takes none of its samples on a CPU. A *Python step* is a node for
which the native engine has no form: it gives the same result at the cost of a call from Python.

## Totals

"""


class Entry:
    """One operator of the samples, with one dtype."""

    def __init__(self, op: object, dtype: torch.dtype, outcome: opinfo.Outcome) -> None:
        variant = op.variant_test_name
        self.name = f"`{op.name}`" + (f" ({variant})" if variant else "")
        self.dtype = str(dtype).removeprefix("torch.")
        self.equal = outcome.equal
        self.python = sorted(f"`{name.removesuffix('.default')}`" for name in outcome.python)
        self.wrong = outcome.wrong
        # The message begins with the operator that is refused.
        self.refused = sorted(
            (REASONS.get(code, code), f"`{message.split()[0].removesuffix('.default')}`")
            for code, message in outcome.refused.items()
        )

    @property
    def kinds(self) -> set[str]:
        if self.equal:
            return {"entries", "equal"} | (set() if self.python else {"without a Python step"})
        return {"entries", "refused" if self.refused else "not run"}


def measure() -> list[Entry]:
    """Every entry of both dtypes; progress goes to stderr."""
    made = []
    for dtype in DTYPES:
        ops = opinfo.entries(dtype)
        for count, op in enumerate(ops, 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made.append(Entry(op, dtype, opinfo.check(op, dtype)))
            if count % 100 == 0 or count == len(ops):
                print(f"{dtype}: {count} of {len(ops)}", file=sys.stderr)
    return made


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


def by_name(text: str) -> str:
    return text.replace("`", "")


def joined(entries: list[Entry], cells: Callable[[Entry], tuple[str, ...]]) -> list[tuple[str, ...]]:
    """A row an entry, its dtypes in one cell where all else is the same."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        rows.setdefault((entry.name, *cells(entry)), []).append(entry.dtype)
    return [
        (name, ", ".join(dtypes), *rest)
        for (name, *rest), dtypes in sorted(rows.items(), key=lambda row: by_name(row[0][0]))
    ]


def reasons(entry: Entry) -> tuple[str, ...]:
    return tuple(", ".join(column) for column in zip(*entry.refused, strict=True))


def render(entries: list[Entry]) -> str:
    """The page."""
    dtypes = [str(dtype).removeprefix("torch.") for dtype in DTYPES]
    lines = [HEAD.format(samples=opinfo.SAMPLES, torch=torch.__version__.split("+")[0]).rstrip("\n"), ""]

    totals = []
    for kind in KINDS:
        counts = [sum(kind in e.kinds for e in entries if e.dtype == dtype) for dtype in dtypes]
        totals.append((kind, *map(str, counts), str(sum(counts))))
    lines += table(("", *dtypes, "both"), totals)

    lines += ["", "## Refused", "", "The operator is the one below the entry that meets the reason.", ""]
    refused = [e for e in entries if e.refused and not e.equal]
    lines += table(("entry", "dtype", "reason", "operator"), joined(refused, reasons))

    lines += ["", "Equal on some samples and refused on others:", ""]
    partly = [e for e in entries if e.refused and e.equal]
    lines += table(("entry", "dtype", "reason", "operator"), joined(partly, reasons))

    lines += ["", "## With a Python step", ""]
    slow = [e for e in entries if e.equal and e.python]
    lines += table(("entry", "dtype", "operators"), joined(slow, lambda e: (", ".join(e.python),)))

    idle = [e for e in entries if "not run" in e.kinds]
    lines += ["", "## Not run", "", ", ".join(sorted({e.name for e in idle}, key=by_name)) + "."]

    lines += ["", "## Equal"]
    names = {dtype: {e.name for e in entries if e.equal and e.dtype == dtype} for dtype in dtypes}
    first, second = (names[dtype] for dtype in dtypes)
    for title, group in (
        (f"{dtypes[0]} and {dtypes[1]}", first & second),
        (f"{dtypes[0]} alone", first - second),
        (f"{dtypes[1]} alone", second - first),
    ):
        lines += ["", f"### {title} ({len(group)})", "", ", ".join(sorted(group, key=by_name)) + "."]
    return "\n".join(lines) + "\n"


def main() -> int:
    entries = measure()
    wrong = [e for e in entries if e.wrong]
    for entry in wrong:
        print(f"{entry.name} {entry.dtype}: {entry.wrong[0]}", file=sys.stderr)
    if wrong:
        print("The page is left as it was.", file=sys.stderr)
        return 1
    PAGE.write_text(render(entries), encoding="utf-8")
    for kind in KINDS:
        print(f"{sum(kind in e.kinds for e in entries):5} {kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
