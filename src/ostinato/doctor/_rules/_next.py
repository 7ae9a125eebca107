"""What has been dropped or will be, for those whom it concerns."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from .._fits import refusals
from .._versions import numbers
from ._finding import NOTE, Finding


def drops(case: Case, choice: Choice) -> Iterator[Finding]:
    """The builds that this machine depends on and that later releases do not have."""
    if case.device != "cuda":
        return
    build = choice.build if case.wanted.text or case.installed is None else case.installed
    for row in case.table.drops():
        concerned = {gpu.architecture for gpu in case.gpus} & set(row.get("capabilities", ()))
        uses = build is not None and build.variant in row["variants"] and row.get("builds", False)
        later = build is None or numbers(build.version) < numbers(row["since"])
        if later and (uses or concerned):
            yield _note(case, row)


def _note(case: Case, row: dict[str, str]) -> Finding:
    if row["state"] == "proposed":
        text = f"{row['what']}: removal proposed for torch {row['since']}"
        if row.get("notice"):
            text += f", announced on {row['notice_date']} ({case.table.source(row['notice'])})"
    else:
        text = f"{row['what']}: gone since torch {row['since']}"
    return Finding("drops", NOTE, f"{text}; instead: {row['instead']}.", "", case.table.source(row["source"]))


def newer(case: Case, choice: Choice) -> Iterator[Finding]:
    """A later torch runs here too."""
    build, installed = choice.build, case.installed
    if case.wanted.text or build is None or installed is None or refusals(case, installed):
        return
    if numbers(build.version) > numbers(installed.version):
        yield Finding("newer", NOTE, f"torch {build.version} with {build.variant} runs here too.")


def with_driver(case: Case, choice: Choice) -> Iterator[Finding]:
    """What a newer driver would allow."""
    build = choice.with_driver
    if build is None or choice.build is None:
        return
    yield Finding(
        "with-driver",
        NOTE,
        f"With NVIDIA's driver {choice.driver} or later, torch {build.version}+{build.variant} runs too.",
        "",
        case.table.source("nvidia-minor"),
    )
