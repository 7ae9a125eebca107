"""What an error message means: patterns of messages, each from a public report (``messages.json``)."""

from __future__ import annotations

import dataclasses
import functools
import json
import pkgutil
import re
from typing import Any


@dataclasses.dataclass(frozen=True)
class Explanation:
    """One message that was recognised in a text."""

    name: str
    line: str  # the line of the text that was recognised
    message: str  # what it means, in one sentence
    why: str
    fix: tuple[str, ...]
    source: str  # the report that it was built from

    def to_json(self) -> dict[str, Any]:
        """A document of plain values."""
        return dataclasses.asdict(self)


@functools.lru_cache(maxsize=None)
def _messages() -> list[dict[str, Any]]:
    data = pkgutil.get_data(__package__, "messages.json")
    assert data is not None
    rows: list[dict[str, Any]] = json.loads(data.decode("utf-8"))
    for row in rows:
        row["expression"] = re.compile(row["pattern"], re.IGNORECASE)
    return rows


def explain(text: str) -> tuple[Explanation, ...]:
    """The messages that are recognised in ``text``, a single line or a whole log, in its order."""
    found: dict[str, tuple[int, Explanation]] = {}
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    for row in _messages():
        match = row["expression"].search(plain)
        if match:
            found[row["name"]] = (match.start(), _explanation(row, plain, match))
    for row in _messages():
        # A particular message says more than the general one that it contains.
        if row["name"] in found:
            for general in row.get("instead_of", ()):
                found.pop(general, None)
    return tuple(each for _, each in sorted(found.values(), key=lambda pair: pair[0]))


def _explanation(row: dict[str, Any], text: str, match: re.Match[str]) -> Explanation:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = text[start : end if end >= 0 else len(text)].strip().split("\n")[0]
    groups = {key: value or "" for key, value in match.groupdict().items()}
    fill = [_filled(row[key], groups) for key in ("message", "why")]
    fix = tuple(_filled(each, groups) for each in row["fix"])
    return Explanation(row["name"], line[:300], fill[0], fill[1], fix, row["source"])


def _filled(text: str, groups: dict[str, str]) -> str:
    for name, value in groups.items():
        text = text.replace("{" + name + "}", value)
    return text
