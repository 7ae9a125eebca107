"""Versions as tuples of numbers, and the small language in which a user wants one."""

from __future__ import annotations

import re
from typing import Optional

_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_TEST = re.compile(r"^(==|>=|<=|>|<|!=|~=)\s*(\d+(?:\.\d+)*)(\.\*)?$")


def numbers(text: str) -> tuple[int, ...]:
    """The leading release number: ``"2.13.0+cpu"`` gives (2, 13, 0); () where there is none."""
    match = _NUMBERS.match(text.strip())
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def release(text: str) -> str:
    """``"2.13.0+cpu"`` without what follows the release number."""
    match = _NUMBERS.match(text.strip())
    return match.group() if match else ""


def local(text: str) -> str:
    """What follows the plus: ``"cpu"`` of ``"2.13.0+cpu"``."""
    return text.partition("+")[2]


def minor(text: str) -> str:
    """``"2.13"`` of ``"2.13.0+cpu"``."""
    return ".".join(str(each) for each in numbers(text)[:2])


def is_development(text: str) -> bool:
    """A nightly, a release candidate or a build of somebody's own tree."""
    rest = text.partition("+")[0][len(release(text)) :]
    return bool(rest) or local(text).startswith("git")


def at_least(text: str, least: str) -> bool:
    """``text`` is not older than ``least``, both padded with zeros."""
    return _compare(numbers(text), numbers(least)) >= 0


def _compare(one: tuple[int, ...], two: tuple[int, ...]) -> int:
    width = max(len(one), len(two))
    padded = [each + (0,) * (width - len(each)) for each in (one, two)]
    return (padded[0] > padded[1]) - (padded[0] < padded[1])


class Range:
    """Several conditions on a version, separated by commas: ``>=2.8,<2.10``, ``==2.9``, ``~=2.9.0``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = [_parse(part.strip()) for part in text.split(",") if part.strip()]

    def __contains__(self, version: str) -> bool:
        return all(_holds(test, number, numbers(version)) for test, number in self._parts)


def _parse(text: str) -> tuple[str, tuple[int, ...]]:
    match = _TEST.match(text)
    if not match:
        raise ValueError(text)
    test, number, _ = match.groups()
    return test, numbers(number)


def _holds(test: str, number: tuple[int, ...], version: tuple[int, ...]) -> bool:
    # As people write it: ==2.9 means any 2.9, which pip spells ==2.9.*
    same = version[: len(number)] == number
    if test in ("==", "!="):
        return same is (test == "==")
    if test == "~=":
        return version[: len(number) - 1] == number[:-1] and _compare(version, number) >= 0
    order = _compare(version, number)
    return {">=": order >= 0, "<=": order <= 0 or same, ">": order > 0 and not same, "<": order < 0}[test]


def python_tag(version: str, free_threaded: bool = False) -> Optional[str]:
    """The tag of wheels for a Python: ``"cp312"``, ``"cp313t"``; None where the version is unknown."""
    parts = numbers(version)
    if len(parts) < 2:
        return None
    return f"cp{parts[0]}{parts[1]}{'t' if free_threaded else ''}"
