"""Methods of texts as TorchScript has them, where Python's differ.

Only ASCII letters have cases and kinds, an ``end`` of -1 is the end itself, and some methods are simpler than
Python's.  Lengths and places count characters, where TorchScript counts bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BLANKS = " \n\t\f\v"
_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e")


def _ascii(method: str) -> Callable[..., Any]:
    """The method of bytes, which knows the letters of ASCII alone."""
    found = getattr(bytes, method)

    def call(text: str) -> Any:
        made = found(text.encode())
        return made.decode() if isinstance(made, bytes) else made

    return call


def _printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _identifier(text: str) -> bool:
    return text.isascii() and text.isalnum() and not text[0].isdigit()


def _part(text: str, start: int, end: int) -> tuple[str, int]:
    """The text between two places, and where it begins; negative places count from behind the end."""
    if start < 0:
        start = max(0, len(text) + start)
    if end < 0:
        end = max(0, len(text) + end + 1)
    return text[start:end], start


def _find(text: str, what: str, start: int = 0, end: int = -1) -> int:
    part, at = _part(text, start, end)
    found = part.find(what)
    return found + at if found >= 0 else -1


def _find_last(text: str, what: str, start: int = 0, end: int = -1) -> int:
    part, at = _part(text, start, end)
    found = part.rfind(what)
    return found + at if found >= 0 else -1


def index_of(text: str, what: str, start: int = 0, end: int = -1) -> int:
    """The first place of a text in another. Raises ValueError where it is not there."""
    found = _find(text, what, start, end)
    if found < 0:
        raise ValueError("substring not found")
    return found


def _index_last(text: str, what: str, start: int = 0, end: int = -1) -> int:
    found = _find_last(text, what, start, end)
    if found < 0:
        raise ValueError("substring not found")
    return found


def occurrences(text: str, what: str, start: int = 0, end: int = -1) -> int:
    """How often a text begins in another between two places."""
    if start > len(text) or not text:
        return 0
    _, first = _part(text, start, end)
    last = max(0, len(text) + end + 1) if end < 0 else end
    return text[first : last + len(what) - 1].count(what) if last > first else 0


def _starts(text: str, what: str, start: int = 0, end: int = -1) -> bool:
    return _part(text, start, end)[0].startswith(what)


def _ends(text: str, what: str, start: int = 0, end: int = -1) -> bool:
    return _part(text, start, end)[0].endswith(what)


def _strip(text: str, characters: str = _BLANKS) -> str:
    return text.strip(characters)


def _strip_left(text: str, characters: str = _BLANKS) -> str:
    return text.lstrip(characters)


def _strip_right(text: str, characters: str = _BLANKS) -> str:
    return text.rstrip(characters)


def _split_lines(text: str, keep: bool = False) -> list[str]:
    """Each end of a line by itself, ``\\r\\n`` as two, and as a part of its own where it is kept."""
    parts = [""]
    for letter in text:
        if letter in _ENDS:
            parts += [letter, ""] if keep else [""]
        else:
            parts[-1] += letter
    return parts if parts[-1] else parts[:-1]


def _split_last(text: str, separator: str = " ", most: int = -1) -> list[str]:
    return text.rsplit(separator, most)


def _center(text: str, width: int, fill: str = " ") -> str:
    padding = max(0, width - len(text))
    left = (padding + 1) // 2 if width % 2 else padding // 2
    return fill * left + text + fill * (padding - left)


def _zero_fill(text: str, width: int) -> str:
    return text.rjust(width, "0")


def _expand_tabs(text: str, size: int = 8) -> str:
    made = ""
    for letter in text:
        made += letter if letter != "\t" else " " * (size - len(made) % size if size > 0 else 0)
    return made


_METHODS = (
    "upper",
    "lower",
    "title",
    "capitalize",
    "swapcase",
    "isdigit",
    "isalpha",
    "isalnum",
    "islower",
    "isupper",
    "istitle",
    "isspace",
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _ascii(name) for name in _METHODS},
    "isdecimal": _ascii("isdigit"),
    "isnumeric": _ascii("isdigit"),
    "isprintable": _printable,
    "isidentifier": _identifier,
    "find": _find,
    "rfind": _find_last,
    "rindex": _index_last,
    "startswith": _starts,
    "endswith": _ends,
    "strip": _strip,
    "lstrip": _strip_left,
    "rstrip": _strip_right,
    "splitlines": _split_lines,
    "rsplit": _split_last,
    "center": _center,
    "zfill": _zero_fill,
    "expandtabs": _expand_tabs,
}
