"""Programs in files: several methods and variants with shared state in one ``.pt2`` that stock torch opens.

Reading what a file says about itself needs no torch; the rest loads on first use.
"""

from typing import TYPE_CHECKING, Any

from ._metadata import (
    Metadata as Metadata,
    MethodInfo as MethodInfo,
    StateInfo as StateInfo,
    VariantInfo as VariantInfo,
    read_metadata as read_metadata,
)

if TYPE_CHECKING:
    from ._executorch import to_executorch as to_executorch
    from ._methods import (
        Variant as Variant,
        mutated_buffers as mutated_buffers,
        save as save,
        save_methods as save_methods,
        tensor_of as tensor_of,
    )
    from ._observe import Call as Call
    from ._reading import Loaded as Loaded, load as load, load_methods as load_methods
    from ._session import (
        Report as Report,
        Session as Session,
        default_sequences as default_sequences,
        verify as verify,
    )
    from ._signature import (
        describe as describe,
        example as example,
        matches as matches,
        shown as shown,
    )
    from ._stateful import trace_stateful as trace_stateful

_NEEDS_TORCH = {
    "_executorch": ("to_executorch",),
    "_methods": (
        "Variant",
        "mutated_buffers",
        "save",
        "save_methods",
        "tensor_of",
    ),
    "_observe": ("Call",),
    "_reading": ("Loaded", "load", "load_methods"),
    "_session": ("Report", "Session", "default_sequences", "verify"),
    "_signature": ("describe", "example", "matches", "shown"),
    "_stateful": ("trace_stateful",),
}
_WHERE = {name: module for module, names in _NEEDS_TORCH.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])
