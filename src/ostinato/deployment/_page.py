"""A report as a page of HTML that loads nothing from elsewhere; ``_page.html`` is its template."""

from __future__ import annotations

import html
import pathlib
import platform
import string
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .._version import __version__
from ._picture import picture, short
from ._words import inputs, shown, size

if TYPE_CHECKING:
    from ._report import DeployReport

_STEPS = 12  # that the table lists
_escape = html.escape


def page(report: DeployReport) -> str:
    """The page; every text of the model's own is escaped."""
    template = pathlib.Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    doubtful = report.eager is None or bool(report.warnings)
    return string.Template(template).substitute(
        title=_escape(f"{report.source} → {pathlib.PurePath(report.out).name}"),
        subtitle=_escape(_subtitle(report)),
        mood="warn" if doubtful else "",
        verdict=_escape(report.verdict),
        warnings="".join(f"<div>{_escape(each)}</div>" for each in report.warnings),
        sections="\n".join(filter(None, (part(report) for part in _SECTIONS))),
    )


def _subtitle(report: DeployReport) -> str:
    threads = torch.get_num_threads()
    return (
        f"Made by Ostinato {__version__} with torch {torch.__version__} on {platform.system()} "
        f"{platform.machine()}, {threads} thread{'s' * (threads > 1)}, {report.numerics} numerics."
    )


def _sizes(report: DeployReport) -> str:
    values = [(pathlib.PurePath(report.out).name, report.bytes_after)]
    if report.bytes_before is not None:
        values.append((report.source, report.bytes_before))
    if report.quantization and report.quantization.weights:
        values.append(("quantized weights, after", report.quantization.bytes_after))
        values.append(("quantized weights, before", report.quantization.bytes_before))
    return _section("Size", _bars([(name, count, size(count)) for name, count in values]))


def _times(report: DeployReport) -> str:
    ours = next(iter(report.times.values())).median
    rows = [
        (name, each.median, f"{each.median:,.1f} µs" + (f", {each.median / ours:.1f} times" if i else ""))
        for i, (name, each) in enumerate(report.times.items())
    ]
    text = (
        "Medians of the first variant, in turns in one process. "
        f"Loading the file took {report.load_ms:.0f} ms, the first call {report.first_ms:.0f} ms."
    )
    return _section("Time of a call", f"<p>{_escape(text)}</p>{_bars(rows)}")


def _agreement(report: DeployReport) -> str:
    rows = [("the source, in eager mode", shown(report.eager) if report.eager else "not compared")]
    told = shown(report.torchscript) if report.torchscript else report.not_compared
    rows.append(("TorchScript", told))
    return _section("Compared with", _table(("", "result"), rows))


def _weights(report: DeployReport) -> str:
    found = report.quantization
    if found is None:
        return ""
    text = "Each weight's error is that of the results when it alone is rounded; "
    text += f"all together {found.error:.3g}."
    rows = [
        (
            each.name,
            each.use,
            "x".join(map(str, each.shape)),
            each.format,
            size(each.bytes_before),
            size(each.bytes_after),
            f"{each.error:.2g}",
        )
        for each in sorted(found.weights, key=lambda each: -each.error)
    ]
    head = ("weight", "use", "shape", "format", "before", "after", "error")
    table = _table(head, rows, wide=(0,), numbers=(4, 5, 6)) if rows else "<p>None.</p>"
    left = _table(("left as it is", "because"), found.left.items()) if found.left else ""
    more = f"<details><summary>{len(found.left)} left as they are</summary>{left}</details>" if left else ""
    return _section("Weights in block formats", f"<p>{_escape(text)}</p>{table}{more}")


def _steps(report: DeployReport) -> str:
    steps = report.profile
    total = sum(each["us"] for each in steps) or 1.0
    longest = sorted(steps, key=lambda each: -each["us"])
    rows = [
        (
            f"{each['us'] / total:.1%}",
            f"{each['us']:.2f}",
            each["kind"],
            short(each),
            ", ".join(each["outputs"]),
        )
        for each in longest[:_STEPS]
    ]
    table = _table(("share", "µs", "kind", "step", "makes"), rows, wide=(3, 4), numbers=(0, 1))
    rest = longest[_STEPS:]
    text = f"{len(steps)} steps, {total:.1f} µs"
    if rest:
        text += f"; {len(rest)} shorter ones take {sum(e['us'] for e in rest) / total:.1%} and are not listed"
    return _section("Where the time goes", f"<p>{_escape(text)}.</p>{table}")


def _graph(report: DeployReport) -> str:
    if not report.profile:
        return ""
    kinds = sorted({each["kind"] for each in report.profile})
    legend = "".join(
        f'<span><i style="background:var(--{_escape(k)})"></i>{_escape(k)}</span>' for k in kinds
    )
    text = "The steps of the first variant, each under what it needs. Turn the wheel to zoom, drag to move."
    return _section(
        "The graph",
        f'<p>{text}</p><div class="kinds">{legend}</div><div class="picture">{picture(report.profile)}</div>',
    )


def _contents(report: DeployReport) -> str:
    rows = [(name, one) for name, found in report.methods.items() for one in found]
    rows += [(name, f"left out: {reason}") for name, reason in report.left_out.items()]
    rows += [(f"state {name}", kind) for name, kind in report.state.items()]
    rows += [("inputs", each) for each in inputs(report)]
    return _section("In the file", _table(("", ""), rows))


def _next(report: DeployReport) -> str:
    name = pathlib.PurePath(report.out).name
    code = f'import ostinato as ost\n\nmodel = ost.load("{name}")\n'
    code += 'result = model(*model.methods["forward"].example())'
    shell = f"ostinato run {name}\nostinato bench {name} --against eager,compile,onnxruntime"
    return _section("What next", f"<pre>{_escape(code)}</pre><pre>{_escape(shell)}</pre>")


_SECTIONS = (_sizes, _times, _agreement, _weights, _steps, _graph, _contents, _next)


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """A line each of name, bar and text; the first is what the page is about."""
    largest = max(value for _, value, _ in rows) or 1.0
    cells = (
        f'<span class="name">{_escape(name)}</span><span class="track">'
        f'<span class="fill{" first" * (not i)}" style="width:{value / largest:.2%}"></span></span>'
        f'<span class="value">{_escape(text)}</span>'
        for i, (name, value, text) in enumerate(rows)
    )
    return f'<div class="bars">{"".join(cells)}</div>'


def _table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    wide: Sequence[int] = (0, 1),
    numbers: Sequence[int] = (),
) -> str:
    """``wide`` are the columns whose texts may break, ``numbers`` those that are set to the right."""
    kinds = {**dict.fromkeys(wide, "wide"), **dict.fromkeys(numbers, "number")}

    def cells(tag: str, row: Sequence[Any]) -> str:
        return "".join(
            f'<{tag} class="{kinds.get(i, "")}">{_escape(str(each))}</{tag}>' for i, each in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    top = f"<tr>{cells('th', head)}</tr>" if any(head) else ""
    return f'<div class="scroll"><table>{top}{body}</table></div>'


__all__ = ["page"]
