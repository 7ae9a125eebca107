"""Small checkers that compose into the description of a JSON document.

A checker takes a value and returns nothing; what does not fit raises `Bad`,
which collects the way to the value as it passes upwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], None]

MAX_DOCUMENT = 64 << 20
MAX_DEPTH = 200
MAX_TEXT = 64 << 10
INT64 = 1 << 63


class Bad(Exception):
    """A value that does not fit; ``str(bad)`` says where and why."""

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint
        self.way: list[str] = []

    def inside(self, step: str) -> Bad:
        self.way.append(step)
        return self

    def __str__(self) -> str:
        return f"{'/'.join(reversed(self.way)) or 'the document'}: {self.why}"


def parse_json(raw: bytes) -> Any:
    """The JSON value in ``raw``: bounded in size, depth and length of numbers, every key once."""
    if len(raw) > MAX_DOCUMENT:
        raise Bad(f"{len(raw)} bytes of JSON, more than the {MAX_DOCUMENT} that are read")
    try:
        value = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_short_int
        )
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {type(error).__name__}") from None
    _check_depth(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Bad("a key occurs twice in one object")
    return result


def _no_constant(name: str) -> Any:
    raise Bad(f"the number {name} is not JSON")


def _short_int(text: str) -> int:
    if len(text) > 20:
        raise Bad("an integer of more than 20 digits")
    return int(text)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise Bad(f"nested deeper than {MAX_DEPTH} levels")


def shown(value: Any) -> str:
    """``value`` for a message: short, on one line, no control characters."""
    text = ascii(value)
    return text if len(text) <= 80 else text[:77] + "..."


def integer(low: int = -INT64, high: int = INT64 - 1) -> Check:
    def check(value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise Bad(f"{shown(value)} is not an integer from {low} to {high}")

    return check


def one_of(*allowed: Any) -> Check:
    def check(value: Any) -> None:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise Bad(f"{shown(value)} is none of {', '.join(map(repr, allowed))}")

    return check


def boolean(value: Any) -> None:
    if type(value) is not bool:
        raise Bad(f"{shown(value)} is not true or false")


def number(value: Any) -> None:
    if isinstance(value, str) and value in ("Infinity", "-Infinity", "NaN"):
        return
    if type(value) not in (int, float):
        raise Bad(f"{shown(value)} is not a number")


def text(value: Any) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise Bad(f"{shown(value)} is not a text of at most {MAX_TEXT} characters")


def matching(pattern: str, what: str) -> Check:
    compiled = re.compile(pattern, re.ASCII)

    def check(value: Any) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Bad(f"{shown(value)} is not {what}")

    return check


def nullable(check: Check) -> Check:
    def checked(value: Any) -> None:
        if value is not None:
            check(value)

    return checked


def list_of(check: Check) -> Check:
    def checked(value: Any) -> None:
        if not isinstance(value, list):
            raise Bad(f"{shown(value)} is not a list")
        for i, item in enumerate(value):
            try:
                check(item)
            except Bad as bad:
                raise bad.inside(f"[{i}]") from None

    return checked


def dict_of(key: Check, check: Check) -> Check:
    def checked(value: Any) -> None:
        if not isinstance(value, dict):
            raise Bad(f"{shown(value)} is not an object")
        for name, item in value.items():
            try:
                key(name)
                check(item)
            except Bad as bad:
                raise bad.inside(shown(name)) from None

    return checked


def record(fields: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with exactly these fields; those in ``optional`` may be absent."""
    every = {**fields, **(optional or {})}

    def checked(value: Any) -> None:
        if not isinstance(value, dict):
            raise Bad(f"{shown(value)} is not an object")
        for name in fields:
            if name not in value:
                raise Bad(f"the field {name!r} is missing")
        for name, item in value.items():
            if name not in every:
                raise Bad(f"the field {shown(name)} is unknown")
            try:
                every[name](item)
            except Bad as bad:
                raise bad.inside(name) from None

    return checked


def union(options: Mapping[str, Check]) -> Check:
    """An object with a single field, which names the kind of its value."""

    def checked(value: Any) -> None:
        if not isinstance(value, dict) or len(value) != 1:
            raise Bad(f"{shown(value)} is not an object with a single field")
        ((kind, item),) = value.items()
        if kind not in options:
            raise Bad(f"the kind {shown(kind)} is not accepted here")
        try:
            options[kind](item)
        except Bad as bad:
            raise bad.inside(kind) from None

    return checked
