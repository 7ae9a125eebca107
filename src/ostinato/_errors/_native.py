"""Messages about the native library: what: (class, message, hint)."""

from __future__ import annotations

from ._base import NativeError, OstinatoError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "missing": (
        NativeError,
        "The native library ostinato/_C.so is not installed beside the package.",
        "install a wheel, or build in place with `make setup`",
    ),
    "unloadable": (
        NativeError,
        "The native library {path} cannot be loaded beside torch {torch}: {reason}",
        "Ostinato needs torch 2.11 or later; reinstall it after torch has changed",
    ),
    "isa": (
        NativeError,
        "OSTINATO_ISA asks for an instruction set that cannot be used: {problem}.",
        "unset OSTINATO_ISA, or set it to baseline",
    ),
}
