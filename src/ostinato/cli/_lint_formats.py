"""What ``ostinato lint`` prints: text for people, JSON, SARIF 2.1.0, annotations of GitHub."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._version import __version__

if TYPE_CHECKING:
    from ..torchscript import Finding

_COLOURS = {"error": "31", "warning": "33", "note": "36"}
_WIDTH = 160  # of a line of source that is shown


def summary(findings: Sequence[Finding], files: int, fixes: int) -> str:
    """One line on all, and what to do about it."""
    made = f", {fixes} fixed" if fixes else ""
    where = f"{files} file{'s' * (files != 1)}{made}"
    if not findings:
        return f"No use of TorchScript found in {where}.\n"
    safe = sum(each.fix is not None and each.fix.safe for each in findings)
    unsafe = sum(each.fix is not None and not each.fix.safe for each in findings)
    hints = [f"{safe} fixable with --fix"] * bool(safe) + [f"{unsafe} more with --unsafe-fixes"] * bool(
        unsafe
    )
    tail = f" ({', '.join(hints)})" if hints else ""
    return f"{len(findings)} use{'s' * (len(findings) != 1)} of TorchScript found in {where}{tail}.\n"


def text(findings: Sequence[Finding], files: int, fixes: int) -> str:
    """Each with its line of source; then the number of each rule."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

    def paint(code: str, part: str) -> str:
        return f"\x1b[{code}m{part}\x1b[0m" if colour else part

    parts = []
    for each in findings:
        rule = paint(_COLOURS[each.severity], each.rule)
        fix = "" if each.fix is None else " [*]" if each.fix.safe else " [-]"
        parts.append(
            f"{paint('1', each.place)}: {rule}{fix} {_printable(each.message)}\n{_excerpt(each, paint)}"
        )
    if findings:
        counts = Counter(each.rule for each in findings)
        titles = {each.rule: each.message.removeprefix(each.symbol).strip() for each in findings}
        rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        width = len(str(rows[0][1]))
        parts += [f"{count:{width}}  {rule}  {titles[rule]}\n" for rule, count in rows]
    return "".join([*parts, summary(findings, files, fixes)])


def _excerpt(each: Finding, paint: Callable[[str, str], str]) -> str:
    number = str(each.line)
    margin = " " * len(number) + " |"
    source, column = _printable(each.source.replace("\t", " ")), each.column - 1
    end = each.end_column - 1 if each.end_line == each.line else len(source)
    if column > _WIDTH - 20:  # bring what is meant into view
        source, column, end = source[column - 40 :], 40, end - column + 40
    source, end = source[:_WIDTH], min(end, _WIDTH)
    marks = paint(_COLOURS[each.severity], "^" * max(1, end - column))
    instead = f"{margin[:-1]}= {paint('32', 'instead')}: {each.replacement}"
    return f"{margin}\n{number} | {source}\n{margin} {' ' * column}{marks}\n{instead}\n\n"


def _printable(line: str) -> str:
    """The line with what would steer a terminal taken out; as many characters as before."""
    return "".join(each if each.isprintable() else "?" for each in line)


def as_json(findings: Sequence[Finding], files: int, fixes: int) -> str:
    """One document."""
    document = {
        "files": files,
        "fixed": fixes,
        "counts": dict(sorted(Counter(each.rule for each in findings).items())),
        "findings": [each.to_json() for each in findings],
    }
    return json.dumps(document, indent=2) + "\n"


def github(findings: Sequence[Finding], files: int, fixes: int) -> str:
    """Commands that GitHub Actions turns into annotations of a change."""
    kinds = {"error": "error", "warning": "warning", "note": "notice"}
    lines = []
    for each in findings:
        fields = {"title": f"Ostinato {each.rule}", "file": each.path, "line": each.line, "col": each.column}
        if each.cell is not None:  # lines of a cell are not those of the file
            del fields["line"], fields["col"]
        else:
            fields["endLine"] = each.end_line
            if each.end_line == each.line:
                fields["endColumn"] = each.end_column
        properties = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in fields.items())
        where = "" if each.cell is None else f"cell {each.cell}, line {each.line}: "
        message = _escaped(f"{where}{each.message}; instead: {each.replacement}")
        lines.append(f"::{kinds[each.severity]} {properties}::{message}\n")
    return "".join(lines)


def _escaped(value: str, more: str = "") -> str:
    for each in "%\r\n" + more:
        value = value.replace(each, f"%{ord(each):02X}")
    return value


def sarif(findings: Sequence[Finding], files: int, fixes: int) -> str:
    """A log of SARIF 2.1.0 (OASIS), which code scanners show."""
    from ..torchscript._lint import RULES

    places = {rule.id: at for at, rule in enumerate(RULES)}
    driver = {"name": "ostinato lint", "version": __version__, "rules": [_sarif_rule(rule) for rule in RULES]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, places[each.rule]) for each in findings],
    }
    schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _sarif_rule(rule: Any) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": f"Instead: {rule.replacement}"},
        "defaultConfiguration": {"level": rule.severity},
    }


def _sarif_result(each: Finding, index: int) -> dict[str, Any]:
    from urllib.parse import quote

    location: dict[str, Any] = {"artifactLocation": {"uri": quote(each.path.replace(os.sep, "/"))}}
    message = f"{each.message}; instead: {each.replacement}"
    if each.cell is None:
        location["region"] = {
            "startLine": each.line,
            "startColumn": each.column,
            "endLine": each.end_line,
            "endColumn": each.end_column,
        }
    else:
        message = f"cell {each.cell}, line {each.line}: {message}"
    return {
        "ruleId": each.rule,
        "ruleIndex": index,
        "level": each.severity,
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }


FORMATS: dict[str, Callable[[Sequence[Finding], int, int], str]] = {
    "github": github,
    "json": as_json,
    "sarif": sarif,
    "text": text,
}
