"""The findings of one file of C++: a scan of its text, less comments and strings."""

from __future__ import annotations

import re

from ._finding import Finding
from ._match import match
from ._python import finding

_INCLUDE = r"^[ \t]*#[ \t]*(?:include|import)[ \t]*[<\"](?P<header>[^>\"\n]+)[>\"]"
# What is no code, longest first; an include is kept, and so is the quote in 1'000.
_NO_CODE = re.compile(
    _INCLUDE + r"|//(?:[^\\\n]|\\.|\\\n)*|/\*.*?(?:\*/|\Z)"
    r"|R\"(?P<mark>[^ ()\\\t\n]{0,16})\(.*?\)(?P=mark)\"|\"(?:[^\"\\\n]|\\.|\\\n)*\""
    r"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)*'",
    re.MULTILINE | re.DOTALL,
)
_NAMED = re.compile(r"(?<![\w:])(?:::\s*)?torch\s*::\s*jit\b(?P<rest>(?:\s*::\s*\w+)*)")
_OPENED = re.compile(r"\bnamespace\s+torch\s*\{\s*namespace\s+jit\b")
_ALIAS = re.compile(r"\bnamespace\s+(\w+)\s*=\s*(?:::\s*)?torch\s*::\s*jit\s*;")
_USING = re.compile(r"\busing\s+namespace\s+(?:::\s*)?torch\s*;")


def may_use_torchscript(data: bytes) -> bool:
    """Whether the file must be scanned."""
    return b"torch" in data and (b"jit" in data or b"script.h" in data)


def check_cpp(path: str, text: str) -> list[Finding]:
    """What a file holds, in order."""
    found: list[tuple[int, int, str]] = []

    def blank(matched: re.Match[str]) -> str:
        header = matched["header"]
        if header is not None:
            found.append((matched.start("header"), matched.end("header"), header))
        return re.sub(r"[^\n]", " ", matched[0])

    code = _NO_CODE.sub(blank, text)
    patterns = [_NAMED, _OPENED]
    aliases = _ALIAS.findall(code) + ["jit"] * bool(_USING.search(code))
    if aliases:
        patterns.append(re.compile(rf"(?<![\w:])(?:{'|'.join(aliases)})(?P<rest>(?:\s*::\s*\w+)+)"))
    for pattern in patterns:
        for each in pattern.finditer(code):
            rest = re.sub(r"\s", "", each.groupdict().get("rest") or "")
            found.append((each.start(), each.end(), "torch::jit" + rest))
    lines = text.split("\n")
    findings = []
    for start, end, name in sorted(found):
        hit = match(name, "/" if "/" in name else "::")
        if hit is not None:
            rule, symbol = hit
            place = (*_place(text, start), *_place(text, end))
            findings.append(finding(path, rule, symbol, place, lines[place[0] - 1].rstrip("\r")))
    return findings


def _place(text: str, offset: int) -> tuple[int, int]:
    begin = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - begin + 1
