"""Ostinato: capture any PyTorch model once and replay it, the CPU first.

The namespaces mirror torch's and load on first use, so that importing this
package costs nothing and needs no torch.
"""

from __future__ import annotations

from typing import Any

from ._version import __version__ as __version__

# name -> module that holds it; a module of the same last name is the namespace itself
_LAZY = {
    "accelerator": "ostinato.accelerator",
    "doctor": "ostinato.doctor",
    "export": "ostinato.export",
    "linalg": "ostinato.linalg",
    "mx": "ostinato.mx",
    "optim": "ostinato.optim",
    "torchscript": "ostinato.torchscript",
    "deploy": "ostinato.deployment",
    "load": "ostinato.deployment",
    "install": "ostinato._install",
    "uninstall": "ostinato._install",
    "DeployReport": "ostinato.deployment",
    "Deployed": "ostinato.deployment",
    **dict.fromkeys(
        (
            "ArchiveError",
            "CaptureError",
            "DeployError",
            "ExportError",
            "OstinatoError",
            "ReplayError",
            "UsageError",
        ),
        "ostinato._errors",
    ),
}

__all__ = sorted(["__version__", *_LAZY])


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ostinato' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_LAZY[name])
    value = module if _LAZY[name] == "ostinato." + name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
