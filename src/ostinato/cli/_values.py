"""The little language of ``--args``: from ``"float32[1,512], 16000"`` to a tuple of arguments."""

from __future__ import annotations

import re
from typing import Any

from .._errors import fail

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<tensor>(?P<dtype>[a-z]+[0-9]*)\s*\[(?P<shape>[\s0-9,]*)\](?:\s*=\s*(?P<fill>-?[0-9.]+))?)"
    r"|(?P<name>[A-Za-z_]\w*)\s*=(?!=)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|@(?P<file>[^,()\[\]\s]+)"
    r"|(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![\w.]))"
    r"|(?P<word>[A-Za-z]+(?![\w\[]))"
    r"|(?P<mark>[(),\[\]])"
    r")"
)
_WORDS = {"true": True, "false": False, "none": None}
_DTYPES = frozenset(
    ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool", "uint8")
    + ("int8", "int16", "int32", "int64")
)
_SHORT = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "u8": "uint8"} | {
    f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)
}
_DEPTH = 20
GRAMMAR = (
    'dtype[shape] (random), dtype[shape]=0 or =1, numbers, true, false, none, "text", @file, (…), […]; '
    "all by position or all by name="
)


def parse_args(text: str, seed: int = 0) -> tuple[Any, ...] | dict[str, Any]:
    """The arguments that ``text`` describes, by position or by name.

    Random tensors are normally distributed, whole numbers and booleans 0 or 1,
    the same for the same ``seed``. UsageError where the text cannot be read.
    """
    return _Reader(text, seed).read()


class _Reader:
    def __init__(self, text: str, seed: int) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0
        self._generator: Any = None
        self._seed = seed

    def _split(self, text: str) -> list[re.Match[str]]:
        tokens, at = [], 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._wrong(f"{text[at:].strip()[:40]!r} cannot be read")
            tokens.append(match)
            at = match.end()
        return tokens

    def _wrong(self, what: str) -> Exception:
        return fail("cli.args", text=self._text, what=what, grammar=GRAMMAR)

    def read(self) -> tuple[Any, ...] | dict[str, Any]:
        if not any(token["name"] for token in self._tokens):
            return tuple(self._sequence("", 0))
        named: dict[str, Any] = {}
        while self._at < len(self._tokens):
            name = self._tokens[self._at]["name"]
            if not name or name in named:
                raise self._wrong("all arguments have names, each another, or none has")
            self._at += 1
            if self._at >= len(self._tokens):
                raise self._wrong(f"{name} has no value")
            named[name] = self._value(0)
            if self._at < len(self._tokens):
                self._comma()
        return named

    def _mark(self) -> str:
        """The mark that stands here, empty at the end and before a value."""
        return (self._tokens[self._at]["mark"] or "") if self._at < len(self._tokens) else ""

    def _sequence(self, end: str, depth: int) -> list[Any]:
        if depth > _DEPTH:
            raise self._wrong("it is nested too deeply")
        values: list[Any] = []
        while True:
            if self._at >= len(self._tokens):
                if end:
                    raise self._wrong(f"a {end!r} is missing")
                return values
            if end and self._mark() == end:
                self._at += 1
                return values
            values.append(self._value(depth))
            if self._at < len(self._tokens) and not (end and self._mark() == end):
                self._comma()

    def _comma(self) -> None:
        if self._mark() != ",":
            raise self._wrong(f"a comma is missing before {self._tokens[self._at][0].strip()!r}")
        self._at += 1

    def _value(self, depth: int) -> Any:
        token = self._tokens[self._at]
        self._at += 1
        if token["mark"] == "(":
            return tuple(self._sequence(")", depth + 1))
        if token["mark"] == "[":
            return self._sequence("]", depth + 1)
        if token["tensor"]:
            return self._tensor(token)
        if token["text"]:
            return token["text"][1:-1]
        if token["file"]:
            return _loaded(token["file"])
        if token["number"]:
            whole = re.fullmatch(r"[-+]?[0-9]+", token["number"])
            return int(token["number"]) if whole else float(token["number"])
        if token["word"] and token["word"].lower() in _WORDS:
            return _WORDS[token["word"].lower()]
        raise self._wrong(f"{token[0].strip()!r} is no value")

    def _tensor(self, token: re.Match[str]) -> Any:
        name = _SHORT.get(token["dtype"], token["dtype"])
        if name not in _DTYPES:
            raise self._wrong(f"{token['dtype']!r} is no dtype")
        sizes = [each.strip() for each in token["shape"].split(",")] if token["shape"].strip() else []
        if not all(each.isdigit() for each in sizes):
            raise self._wrong(f"[{token['shape']}] is no shape")
        import torch

        dtype = getattr(torch, name)
        shape = [int(each) for each in sizes]
        try:
            if token["fill"] is not None:
                return torch.full(shape, float(token["fill"])).to(dtype)
            if self._generator is None:
                self._generator = torch.Generator().manual_seed(self._seed)
            if dtype.is_floating_point or dtype.is_complex:
                return torch.randn(shape, generator=self._generator).to(dtype)
            return torch.randint(0, 2, shape, generator=self._generator).to(dtype)
        except (RuntimeError, TypeError, ValueError, MemoryError):
            raise self._wrong(f"{token['tensor']} cannot be made") from None


def _loaded(path: str) -> Any:
    """What a file holds, as one value: of a .npz its one array. UsageError where it cannot be read."""
    from ..deployment import read

    content = read(path)
    if content.kind != "npz":
        return content.value
    if len(content.value) != 1:
        raise fail("cli.one_array", path=path, names=", ".join(content.value) or "none")
    return next(iter(content.value.values()))
