"""Finds and loads ``ostinato/_C.so`` once, on the first use of a native operator."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from .._errors import fail


def library_path() -> str:
    """Where the native library lies. NativeError where it is missing."""
    spec = importlib.util.find_spec("ostinato._C")
    if spec is None or spec.origin is None:
        raise fail("native.missing")
    return spec.origin


@functools.cache
def ops() -> Any:
    """``torch.ops.ostinato`` with the native library loaded.

    Raises NativeError where the library is missing, cannot be loaded beside this
    torch, or where ``OSTINATO_ISA`` asks for what this processor does not have.
    """
    import torch

    path = library_path()
    try:
        torch.ops.load_library(path)
    except OSError as error:
        raise fail("native.unloadable", path=path, torch=torch.__version__, reason=error) from error
    native = torch.ops.ostinato
    _keep_lazy_bits()
    if problem := native.isa_problem():
        raise fail("native.isa", problem=problem)
    return native


@functools.cache
def _keep_lazy_bits() -> Any:
    """Lets a plan hold lazily conjugated tensors; torch would resolve them on the way in."""
    import torch

    library = torch.library.Library("ostinato", "IMPL")
    for key in ("Conjugate", "Negative"):
        library.impl("plan_values", torch.library.fallthrough_kernel, key)
    return library  # the registration lasts as long as this object


def info() -> dict[str, Any]:
    """What was loaded: instruction set, vector width in bytes, library path, torch version."""
    import torch

    native = ops()
    return {
        "isa": native.isa(),
        "vector_bytes": native.vector_bytes(),
        "library": library_path(),
        "torch": torch.__version__,
    }
