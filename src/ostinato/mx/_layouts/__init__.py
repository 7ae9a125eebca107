"""The layouts of MX tensors in safetensors files: a file each, and a line in this list."""

from __future__ import annotations

from ..._errors import fail
from . import _compressed_tensors, _deepseek, _gpt_oss, _ocp, _torchao
from ._layout import Entry as Entry, Header as Header, Layout as Layout, Stored as Stored

# Those that metadata names come first: they are certain.
LAYOUTS: dict[str, Layout] = {
    each.layout.name: each.layout for each in (_ocp, _torchao, _gpt_oss, _compressed_tensors, _deepseek)
}


def named(name: str) -> Layout:
    """The layout of that name."""
    if name not in LAYOUTS:
        raise fail("mx.layout", value=name, known=", ".join(LAYOUTS))
    return LAYOUTS[name]


def detected(header: Header, path: object) -> Layout:
    """The layout that a checkpoint is in, by its metadata, its configuration and its names."""
    for layout in LAYOUTS.values():
        if layout.suits(header):
            return layout
    raise fail("mx.layout_unknown", path=path, known=", ".join(LAYOUTS))
