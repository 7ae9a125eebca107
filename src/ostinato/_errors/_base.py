"""The classes a user can catch."""

from __future__ import annotations

from typing import Any


class OstinatoError(RuntimeError):
    """Base of every error that Ostinato raises on purpose.

    ``message`` is one or more sentences, ``hint`` the way out, ``code`` the
    stable name of the message (``"accelerator.nested_capture"``).
    """

    def __init__(self, message: str, hint: str = "", code: str = "") -> None:
        super().__init__(message + ("\nhint: " + hint if hint else ""))
        self.message = message
        self.hint = hint
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.message, self.hint, self.code))


class CaptureError(OstinatoError):
    """What ran inside a capture cannot be captured."""


class ReplayError(OstinatoError):
    """A graph cannot be replayed in the state it is in."""


class ArchiveError(OstinatoError):
    """A file is not what its reader can or may read."""


class ExportError(OstinatoError):
    """A program cannot be written to, or read from, a portable file."""


class DeployError(OstinatoError):
    """A model cannot be deployed, or its outputs do not agree."""


class NativeError(OstinatoError):
    """The native library cannot be found, loaded or used on this machine."""


class UsageError(OstinatoError, ValueError):
    """An argument has a value that the function does not take."""


class MissingDependencyError(OstinatoError, ImportError):
    """An optional package is needed for this call and is not installed."""
