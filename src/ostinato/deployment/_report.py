"""What a deployment did and found."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .._atomic import replacing
from .._errors import fail
from ._difference import Difference
from ._quantize import Quantization
from ._timing import Timing
from ._words import inputs, shown, size


@dataclass(frozen=True)
class DeployReport:
    """The outcome of `ost.deploy`.

    Attributes:
        source, kind: the name of the source, and "torchscript", "pt2" or "module".
        out: the path of the file that was written.
        bytes_before, bytes_after: the sizes of the two files; None before for a module.
        numerics: "exact" or "fast".
        methods: name → signatures of its variants, the primary first.
        left_out: methods of the source that the file does not have, and why.
        state: name → dtype and shape of what lives from call to call.
        guessed: whether the example inputs were found by trial.
        data: the names of the files that it was compared on; empty where the values were random.
        quantization: the weights in block formats and what they cost; None without ``mx``.
        eager: the difference from the source in eager mode, its weights rounded where
            the file's are; None where nothing was verified.
        torchscript: the difference from ``torch.jit``; None where ``not_compared`` says why.
        nodes, steps: the size of the graphs of all variants, and their steps by kind.
        times: runtime → microseconds a call of the first variant, in a fresh process.
        load_ms, first_ms: how long loading the file and its first call took there.
        profile: the steps of the first variant's graph: ``op``, ``sources``, ``kind``,
            ``inputs``, ``outputs``, ``us``.
        seconds: the time that all of it took.
        warnings: what a reader of the report should know.
    """

    source: str
    kind: str
    out: str
    bytes_before: int | None
    bytes_after: int
    numerics: str
    methods: dict[str, list[str]]
    left_out: dict[str, str]
    state: dict[str, str]
    guessed: bool
    data: list[str]
    quantization: Quantization | None
    eager: Difference | None
    torchscript: Difference | None
    not_compared: str
    nodes: int
    steps: dict[str, int]
    times: dict[str, Timing]
    load_ms: float
    first_ms: float
    profile: list[dict[str, Any]]
    seconds: float
    warnings: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """One line: whether the file does what the source does."""
        if self.eager is None:
            return "Not compared with its source"
        if self.quantization is None:
            return f"Agrees with its source: {shown(self.eager)}"
        error = f"{self.quantization.error:.2g}"
        budget = self.quantization.budget
        allowed = "" if budget is None else f", within the {budget:.2g} that was allowed"
        return f"Agrees with its rounded weights: {shown(self.eager)}; error of rounding {error}{allowed}"

    def to_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold; an infinite number becomes the text ``"inf"``."""
        document = {"verdict": self.verdict, **vars(self)}
        for name in ("eager", "torchscript"):
            document[name] = document[name].to_json() if document[name] else None
        if self.quantization:
            document["quantization"] = dataclasses.asdict(self.quantization)
        document["times"] = {name: vars(each) for name, each in self.times.items()}
        plain: dict[str, Any] = _finite(document)
        return plain

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report as a page (``.html``), as Markdown (``.md``) or as ``.json``, by the suffix.

        The page is one file that loads nothing from elsewhere. Raises UsageError
        for another suffix, DeployError where ``path`` cannot be written.
        """
        name = os.fspath(path)
        writer = _WRITERS.get(os.path.splitext(name)[1])
        if writer is None:
            raise fail("deployment.report_suffix", path=name)
        try:
            with replacing(name) as part:
                part.write_text(writer(self), encoding="utf-8")
        except OSError as error:
            raise fail("deployment.unwritable", path=name, reason=error.strerror or error) from None

    def __str__(self) -> str:
        before = "" if self.bytes_before is None else f" ({size(self.bytes_before)})"
        lines = [f"{self.source}{before} → {self.out} ({size(self.bytes_after)})"]
        rows = [row for name, found in self.methods.items() for row in _column(name, found)]
        rows += [(name, f"left out: {reason}") for name, reason in self.left_out.items()]
        rows += _column("state", [f"{name} {kind}" for name, kind in self.state.items()] or ["none"])
        steps = ", ".join(f"{count} {kind}" for kind, count in self.steps.items() if count)
        rows.append(("graph", f"{self.nodes} nodes: {steps}" if steps else f"{self.nodes} nodes"))
        if self.quantization:
            rows += _column("weights", _quantized(self.quantization))
        rows.append(("eager", shown(self.eager) if self.eager else "not compared (verify=False)"))
        rows.append(("torchscript", shown(self.torchscript) if self.torchscript else self.not_compared))
        rows += _column("a call", [f"{each.median:.1f} µs {name}" for name, each in self.times.items()])
        rows.append(("time", f"{self.seconds:.1f} s"))
        rows += [("inputs", each) for each in inputs(self)]
        rows += [("warning", each) for each in self.warnings]
        width = max(len(name) for name, _ in rows)
        return "\n".join([*lines, *(f"  {name:<{width}}  {text}" for name, text in rows)])


def _quantized(found: Quantization) -> list[str]:
    formats = Counter(each.format for each in found.weights)
    counts = ", ".join(f"{count} {name}" for name, count in formats.items()) or "none quantized"
    lines = [f"{counts}: {size(found.bytes_before)} → {size(found.bytes_after)}, error {found.error:.2g}"]
    worst = max(found.weights, key=lambda each: each.error, default=None)
    if worst is not None and worst.error:
        lines.append(f"the most costs {worst.name}: {worst.error:.2g} alone")
    return lines


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return "inf" if value == float("inf") else value


def _column(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name if not i else "", line) for i, line in enumerate(lines)]


def _html(report: DeployReport) -> str:
    from ._page import page

    return page(report)


def _markdown(report: DeployReport) -> str:
    from ._markdown import markdown

    return markdown(report)


def _json(report: DeployReport) -> str:
    return json.dumps(report.to_json(), indent=2) + "\n"


_WRITERS = {".html": _html, ".md": _markdown, ".json": _json}
