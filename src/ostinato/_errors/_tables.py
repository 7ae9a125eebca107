"""Looks a message up by its code and fills it in."""

from __future__ import annotations

from typing import Any

from . import _accelerator, _cli, _deployment, _doctor, _export, _linalg, _mx, _native, _optim, _torchscript
from ._base import OstinatoError

_TABLES: dict[str, dict[str, tuple[type[OstinatoError], str, str]]] = {
    "accelerator": _accelerator.MESSAGES,
    "cli": _cli.MESSAGES,
    "deployment": _deployment.MESSAGES,
    "doctor": _doctor.MESSAGES,
    "export": _export.MESSAGES,
    "linalg": _linalg.MESSAGES,
    "mx": _mx.MESSAGES,
    "native": _native.MESSAGES,
    "optim": _optim.MESSAGES,
    "torchscript": _torchscript.MESSAGES,
}


def fail(code: str, **values: Any) -> OstinatoError:
    """The error that ``code`` names (``"feature.what"``), its message filled in with ``values``."""
    feature, what = code.split(".", 1)
    cls, message, hint = _TABLES[feature][what]
    return cls(message.format(**values), hint.format(**values), code)
