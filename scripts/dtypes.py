"""Write docs/reference/dtypes.md: what becomes of each dtype in each place of a program, by trying all."""

from __future__ import annotations

import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import torch

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.export.test_dtypes import PLACES, WHOLE, case, dtype_of, plain, same  # noqa: E402

from ostinato.export import load, save  # noqa: E402
from ostinato.export._vet import ORDINARY, STAND_INS  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "dtypes.md"
HEAD = """# Dtypes in files

What becomes of a program that has a dtype in a place, each tried with torch {torch}. `make dtypes` writes
this page.

- **torch**: `torch.export.save` and `torch.export.load`.
- **ours**: `ost.export.save` and `ost.export.load`; the program gives what it gave, under its own dtype.
- **stock**: `torch.export.load` of the file that `ost.export.save` wrote, without Ostinato. Where a dtype is
  *as* another, that one stands in the file for it, bit for bit, and is what stock torch takes and gives: not
  all releases from 2.11 on can name it. An operator that computes with such a dtype, rather than moves its
  elements, needs `portable=False`.

An argument is the dtype itself, given to an operator. State is a buffer that the program changes.

| dtype | {places} |
| --- | {rule} |
"""


def _works(trip: Callable[[], Any], expected: Any) -> bool:
    try:
        with torch.no_grad():
            same(trip(), expected)
    except Exception:
        return False
    return True


def cell(name: str, place: str, folder: pathlib.Path) -> str:
    """What works: a text for the table."""
    dtype = dtype_of(name)
    module, x = case(place, dtype)
    expected = case(place, dtype)[0](x)

    def by_torch() -> Any:
        torch.export.save(torch.export.export(case(place, dtype)[0], (x,)), folder / "t.pt2")
        return torch.export.load(folder / "t.pt2").module()(x)

    def by_us() -> Any:
        save(module, folder / "o.pt2", (x,))
        return load(folder / "o.pt2").module()(x)

    works = {"torch": _works(by_torch, expected), "ours": _works(by_us, expected)}
    works["stock"] = works["ours"] and _works(
        lambda: torch.export.load(folder / "o.pt2").module()(plain(x)), plain(expected)
    )
    return ", ".join(way for way, well in works.items() if well) or "none"


def render() -> str:
    """The page."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in WHOLE:
            title = f"`{name}`" + ("" if name in ORDINARY else f" as `{STAND_INS[name]}`")
            rows.append(
                f"| {title} | " + " | ".join(cell(name, p, pathlib.Path(folder)) for p in PLACES) + " |\n"
            )
    rule = " | ".join("---" for _ in PLACES)
    release = torch.__version__.split("+")[0]
    return HEAD.format(torch=release, places=" | ".join(PLACES), rule=rule) + "".join(rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    PAGE.write_text(render(), encoding="utf-8")
