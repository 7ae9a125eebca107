"""Looks a message up by its code and fills it in."""

from . import _accelerator, _cli, _deployment, _export, _native, _torchscript

_TABLES = {
    "accelerator": _accelerator.MESSAGES,
    "cli": _cli.MESSAGES,
    "deployment": _deployment.MESSAGES,
    "export": _export.MESSAGES,
    "native": _native.MESSAGES,
    "torchscript": _torchscript.MESSAGES,
}


def fail(code, **values):
    """The error that ``code`` names (``"feature.what"``), its message filled in with ``values``."""
    feature, what = code.split(".", 1)
    cls, message, hint = _TABLES[feature][what]
    return cls(message.format(**values), hint.format(**values), code)
