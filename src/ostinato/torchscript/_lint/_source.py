"""The text of a file as UTF-8 bytes, which is how positions of ``ast`` are counted, and back."""

from __future__ import annotations

import ast
import functools
import re

_BOM = b"\xef\xbb\xbf"
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=]", re.ASCII)

Node = ast.expr | ast.stmt | ast.alias | ast.arg


class Undecodable(Exception):
    """The bytes of a file are no text in the encoding that it names."""


class Source:
    """One file: ``data`` is its text in UTF-8 with the line ends it has; offsets count bytes of it."""

    def __init__(self, data: bytes, encoding: str = "utf-8", bom: bytes = b"") -> None:
        self.data = data
        self.encoding = encoding
        self.bom = bom

    @classmethod
    def decode(cls, raw: bytes) -> Source:
        """The text of a file of Python, by its byte order mark or its declaration."""
        bom = _BOM if raw.startswith(_BOM) else b""
        head = raw[:400].split(b"\n", 2)[:2]
        encoding = "utf-8"
        try:
            if any(_COOKIE.match(line) for line in head):
                import io
                import tokenize

                encoding = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
                if encoding == "utf-8-sig":
                    encoding = "utf-8"
            return cls(raw[len(bom) :].decode(encoding).encode(), encoding, bom)
        except (SyntaxError, UnicodeError, LookupError) as error:
            raise Undecodable(str(error).splitlines()[0]) from None

    def encode(self) -> bytes:
        """The bytes of the file."""
        return self.bom + self.data.decode().encode(self.encoding)

    def changed(self, data: bytes) -> Source:
        """The same file with another text."""
        return Source(data, self.encoding, self.bom)

    @functools.cached_property
    def text(self) -> str:
        """The text."""
        return self.data.decode()

    @functools.cached_property
    def lines(self) -> list[bytes]:
        """The lines with their ends; as Python counts them, a form feed ends none."""
        return self.data.splitlines(keepends=True)

    @functools.cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line)
        return [*starts, at]

    @functools.cached_property
    def newline(self) -> bytes:
        """What ends a line here."""
        first = self.lines[0] if self.lines else b"\n"
        return b"\r\n" if first.endswith(b"\r\n") else b"\n"

    def line(self, number: int) -> str:
        """A line, counted from 1, without its end; empty where there is none."""
        return self.lines[number - 1].decode().rstrip("\r\n") if 0 < number <= len(self.lines) else ""

    def offset(self, line: int, column: int) -> int:
        """Where a line begins, and as many bytes further."""
        return self._starts[min(line, len(self._starts)) - 1] + column

    def start(self, node: Node) -> int:
        """Where a node begins."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Node) -> int:
        """Where a node ends."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def cut(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node."""
        return self.data[self.start(node) : self.end(node)].decode()

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1, the column in characters."""
        import bisect

        line = max(1, min(bisect.bisect_right(self._starts, offset), len(self.lines)))
        before = self.data[self._starts[line - 1] : offset]
        return line, len(before.decode(errors="replace")) + 1
