"""Messages of ``optim``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import OstinatoError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "refused": (
        OstinatoError,
        "The step of {optimizer} cannot use its tensors: {reason}.",
        "make the state anew, or load it, after parameters have changed their shape or dtype",
    ),
    "no_master": (
        OstinatoError,
        "{optimizer} with master_weights has a parameter that no kernel takes.",
        "make the parameter contiguous and no DTensor, or give its group master_weights=False",
    ),
}
