"""Archives for the tests: real ones of a folder, and small ones written by hand."""

from __future__ import annotations

import os
import pathlib
import pickle
import struct
import zipfile

import pytest

_DEFAULT = pathlib.Path(__file__).parents[3] / "shared" / "archives"
FOLDER = pathlib.Path(os.environ.get("OSTINATO_ARCHIVES") or _DEFAULT)

needs_archives = pytest.mark.skipif(
    not FOLDER.is_dir(),
    reason=f"no folder of real archives at {FOLDER}; set OSTINATO_ARCHIVES to one",
)


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def module_pickle(cls: str = "M", state: dict[str, bytes] | None = None) -> bytes:
    """A module of ``__torch__.<cls>``; the values of ``state`` are opcodes."""
    items = b"".join(text(name) + value for name, value in (state or {"training": b"\x88"}).items())
    return b"\x80\x02c__torch__\n" + cls.encode() + b"\n)\x81}(" + items + b"ub."


def tensor(
    key: str = "0", shape: tuple[int, ...] = (2,), stride: tuple[int, ...] = (1,), numel: int = 2
) -> bytes:
    """The opcodes of a float tensor."""
    sizes = b"(" + b"".join(map(number, shape)) + b"t" + b"(" + b"".join(map(number, stride)) + b"t"
    storage = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(key) + text("cpu") + number(numel) + b"tQ"
    )
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0) + sizes + b"\x89}tR"


MODULE = """class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.relu(x)
"""


def write(
    path: pathlib.Path,
    code: str | dict[str, str] = MODULE,
    data: bytes | None = None,
    entries: dict[str, bytes] | None = None,
    version: str = "3",
    compression: int = zipfile.ZIP_STORED,
) -> pathlib.Path:
    """An archive with this code and data.pkl; ``entries`` adds to it or replaces."""
    files = {"code/__torch__.py": code} if isinstance(code, str) else code
    content: dict[str, bytes] = {
        "data.pkl": module_pickle() if data is None else data,
        **{name: each.encode() for name, each in files.items()},
        "constants.pkl": pickle.dumps((), protocol=2),
        "version": version.encode(),
        **(entries or {}),
    }
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, each in content.items():
            archive.writestr(f"a/{name}", each)
    return path


def method(body: str, arguments: str = "x: Tensor", extra: str = "") -> str:
    """A module whose ``forward`` has this body (lines), and what follows the class."""
    lines = "\n".join("    " + line for line in body.splitlines())
    head = MODULE[: MODULE.index("  def forward")]
    return f"{head}  def forward(self: __torch__.M,\n    {arguments}) -> Any:\n{lines}\n{extra}"
