"""What a deployment did and found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._difference import Difference


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
        eager: the difference from the source in eager mode; None where nothing was verified.
        torchscript: the difference from ``torch.jit``; None where ``not_compared`` says why.
        nodes, steps: the size of the graphs of all variants, and their steps by kind.
        seconds: the time that it took.
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
    eager: Difference | None
    torchscript: Difference | None
    not_compared: str
    nodes: int
    steps: dict[str, int]
    seconds: float
    warnings: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        document = dict(vars(self))
        for name in ("eager", "torchscript"):
            document[name] = document[name].to_json() if document[name] else None
        return document

    def __str__(self) -> str:
        before = "" if self.bytes_before is None else f" ({_size(self.bytes_before)})"
        lines = [f"{self.source}{before} → {self.out} ({_size(self.bytes_after)})"]
        rows = [row for name, found in self.methods.items() for row in _column(name, found)]
        rows += [(name, f"left out: {reason}") for name, reason in self.left_out.items()]
        rows += _column("state", [f"{name} {kind}" for name, kind in self.state.items()] or ["none"])
        steps = ", ".join(f"{count} {kind}" for kind, count in self.steps.items() if count)
        rows.append(("graph", f"{self.nodes} nodes: {steps}" if steps else f"{self.nodes} nodes"))
        rows.append(("eager", _shown(self.eager, "not compared (verify=False)")))
        rows.append(("torchscript", _shown(self.torchscript, self.not_compared)))
        rows.append(("time", f"{self.seconds:.1f} s"))
        if self.guessed:
            rows.append(("inputs", "found by trial; give args (--args) for others"))
        rows += [("warning", each) for each in self.warnings]
        width = max(len(name) for name, _ in rows)
        return "\n".join([*lines, *(f"  {name:<{width}}  {text}" for name, text in rows)])


def _column(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name if not i else "", line) for i, line in enumerate(lines)]


def _shown(difference: Difference | None, otherwise: str) -> str:
    if difference is None:
        return otherwise
    if difference.exact:
        return f"the same bit for bit over {difference.calls} calls"
    return f"largest difference {difference.max_abs:.2g} over {difference.calls} calls"


def _size(count: int) -> str:
    if count < 10_000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
