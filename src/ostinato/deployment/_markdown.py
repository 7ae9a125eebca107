"""A report as Markdown, for a pull request or a model card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from ._picture import short
from ._words import inputs, shown, size

if TYPE_CHECKING:
    from ._report import DeployReport

_STEPS = 12  # that the table lists


def markdown(report: DeployReport) -> str:
    """The same facts as the page, without the picture."""
    lines = [
        f"# {_plain(report.source)} → {_plain(PurePath(report.out).name)}",
        "",
        f"**{report.verdict}**",
        "",
    ]
    lines += [f"- {_plain(each)}" for each in report.warnings] + [""] * bool(report.warnings)
    before = "" if report.bytes_before is None else f", from {size(report.bytes_before)}"
    starts = f"loads in {report.load_ms:.0f} ms, first call {report.first_ms:.0f} ms"
    lines += [f"{size(report.bytes_after)}{before}; {starts}.", ""]
    ours = next(iter(report.times.values())).median
    times = [(n, f"{each.median:,.1f}", f"{each.median / ours:.1f}") for n, each in report.times.items()]
    lines += _table(("a call", "median µs", "times Ostinato's"), times)
    told = shown(report.torchscript) if report.torchscript else report.not_compared
    eager = shown(report.eager) if report.eager else "not compared"
    lines += _table(
        ("compared with", "result"), [("the source, in eager mode", eager), ("TorchScript", told)]
    )
    if report.quantization and report.quantization.weights:
        rows = [
            (w.name, w.use, w.format, size(w.bytes_before), size(w.bytes_after), f"{w.error:.2g}")
            for w in sorted(report.quantization.weights, key=lambda each: -each.error)
        ]
        lines += _table(("weight", "use", "format", "before", "after", "error alone"), rows)
    total = sum(each["us"] for each in report.profile) or 1.0
    longest = sorted(report.profile, key=lambda each: -each["us"])[:_STEPS]
    steps = [
        (f"{each['us'] / total:.1%}", f"{each['us']:.2f}", each["kind"], short(each)) for each in longest
    ]
    lines += _table(("share", "µs", "kind", f"step, of {len(report.profile)}"), steps)
    contents = [(name, one) for name, found in report.methods.items() for one in found]
    contents += [(name, f"left out: {reason}") for name, reason in report.left_out.items()]
    contents += [(f"state {name}", kind) for name, kind in report.state.items()]
    contents += [("inputs", each) for each in inputs(report)]
    lines += _table(("in the file", ""), contents)
    return "\n".join(lines).rstrip() + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(map(_plain, row))} |" for row in rows), ""]


def _plain(text: str) -> str:
    """No text of the model's own is taken for markup."""
    for sign in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


__all__ = ["markdown"]
