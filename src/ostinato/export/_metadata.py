"""What a file says about itself, in ``extra/ostinato.json``: methods, signatures, state. Imports no torch."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from .._errors import fail
from .._version import __version__
from ._vet import DTYPES, METADATA, STAND_INS, Bad, VettedArchive
from ._vet._names import MODEL_NAME, qualified_name
from ._vet._types import (
    Check,
    boolean,
    dict_of,
    integer,
    list_of,
    matching,
    nullable,
    number,
    one_of,
    record,
    shown,
    text,
    union,
)

SCHEMA = 3  # 1 had no dtypes, 2 no examples and tolerances


@dataclass(frozen=True)
class VariantInfo:
    """One program of a method: its name in the archive, what it takes, gives, and which state it uses.

    ``inputs`` is ``{"args": tree, "kwargs": tree}``, ``outputs`` a tree. A tree
    is ``{"tensor": {"dtype": "float32", "shape": [1, 512]}}``, ``{"value":
    16000}``, ``{"size": {"dim": "s0", "min": 2, "max": None}}``, or a container
    of trees, ``{"tuple": [...]}``, ``{"list": [...]}``, ``{"dict": {...}}``. A
    dimension that may vary is an object like that of a size. ``mode`` names what
    the module remembers of the call besides its tensors (``"_last_sr=16000"``),
    None where that is nothing. ``example`` is a call, nested like ``inputs``, whose
    tensors also have an ``"entry"``: the file's ``data/example/<entry>`` holds
    their elements. None where the writer had no example, or one of over 1 MiB.
    """

    model: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    state: list[str]
    mode: str | None = None
    example: dict[str, Any] | None = None


@dataclass(frozen=True)
class MethodInfo:
    """A method: its variants, and what happens to the state when the mode changes between two calls.

    The mode is that of the last call of any method whose variant has one; it is
    forgotten at a reset. Where a call's variant has another mode,
    ``on_variant_change`` says whether all state first goes back to its initial
    value (``"reset"``) or stays (``"carry"``); None where it makes no difference.
    ``resets`` marks a method that brings the state back to the start.
    """

    variants: list[VariantInfo]
    on_variant_change: str | None = None
    resets: bool = False


@dataclass(frozen=True)
class StateInfo:
    """A tensor that lives from call to call; it starts as ``"zeros"`` or the ``"value"`` in the file."""

    dtype: str
    shape: list[int]
    initial: str


@dataclass(frozen=True)
class Metadata:
    """All of ``ostinato.json``. ``source`` and ``verification`` are what the writer of the file gave.

    ``tolerances`` is how far results may lie from those of the source, ``{"rtol":
    1e-4, "atol": 1e-5}``: ``|a - b| <= atol + rtol * |b|``; None where nobody said.

    ``dtypes`` names, program by program, the values that are of another dtype
    than the program in the file says, one that not every torch can name there.
    """

    methods: dict[str, MethodInfo]
    state: dict[str, StateInfo]
    portable: bool
    torch: str
    ostinato: str = __version__
    source: dict[str, Any] | None = None
    verification: dict[str, Any] | None = None
    tolerances: dict[str, float] | None = None
    user: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, dict[str, str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The document, as `read_metadata` reads it back."""
        return {"schema": SCHEMA, **asdict(self)}


def read_metadata(path: str | os.PathLike[str]) -> Metadata:
    """What a file written by `save` or `save_methods` says about itself; needs no torch and runs nothing.

    Raises ArchiveError where the file is damaged, is no archive of the ``.pt2``
    kind, or was not written by Ostinato.
    """
    with VettedArchive(path) as archive:
        return metadata_of(archive)


def metadata_of(archive: VettedArchive) -> Metadata:
    """The checked metadata of an open archive; ArchiveError where it has none."""
    if archive.metadata is None:
        raise fail("export.no_metadata", path=archive.path)
    try:
        _document(archive.metadata)
    except Bad as bad:
        raise fail("export.bad_metadata", path=archive.path, what=str(bad.inside(METADATA))) from None
    except RecursionError:
        raise fail("export.bad_metadata", path=archive.path, what=f"{METADATA}: nested too deeply") from None
    document = {key: value for key, value in archive.metadata.items() if key != "schema"}
    methods = {
        name: MethodInfo(**{**method, "variants": [VariantInfo(**each) for each in method["variants"]]})
        for name, method in document.pop("methods").items()
    }
    state = {name: StateInfo(**each) for name, each in document.pop("state").items()}
    return Metadata(methods=methods, state=state, **document)


def _anything(value: Any) -> None:
    pass


def _scalar(value: Any) -> None:
    if value is not None and type(value) is not bool:
        (text if isinstance(value, str) else number)(value)


def _extent(value: Any) -> None:
    (_dim if isinstance(value, dict) else integer(0))(value)


def _tree(value: Any) -> None:
    _TREE(value)


def _tolerance(value: Any) -> None:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise Bad(f"{shown(value)} is no tolerance")


_dim = record({"dim": text, "min": nullable(integer()), "max": nullable(integer())})
_dtype = one_of(*(name for name, _ in DTYPES.values()), *STAND_INS)


def _example_tree(value: Any) -> None:
    _EXAMPLE_TREE(value)


def _containers(tree: Check) -> dict[str, Check]:
    return {"tuple": list_of(tree), "list": list_of(tree), "dict": dict_of(text, tree)}


def _call(tree: Check) -> Check:
    return record({"args": union({"tuple": list_of(tree)}), "kwargs": union({"dict": dict_of(text, tree)})})


_TREE = union(
    {
        "tensor": record({"dtype": _dtype, "shape": list_of(_extent)}),
        "value": _scalar,
        "size": _dim,
        **_containers(_tree),
    }
)
_entry = matching(rf"{MODEL_NAME}/\d{{1,4}}", "the name of an example's tensor")
_EXAMPLE_TREE = union(
    {
        "tensor": record({"dtype": _dtype, "shape": list_of(integer(0)), "entry": _entry}),
        "value": _scalar,
        **_containers(_example_tree),
    }
)
_method_name = matching(r"[A-Za-z_]\w{0,127}", "the name of a method")
_variant = record(
    {
        "model": matching(MODEL_NAME, "the name of a program"),
        "inputs": _call(_tree),
        "outputs": _tree,
        "state": list_of(qualified_name),
        "mode": nullable(text),
    },
    {"example": nullable(_call(_example_tree))},
)
_method = record(
    {
        "variants": list_of(_variant),
        "on_variant_change": nullable(one_of("reset", "carry")),
        "resets": boolean,
    }
)
_value_name = matching(r"[A-Za-z0-9_./]{1,512}", "the name of a value")
_version = matching(r"[\w.+\-]{1,64}", "a version")
_document = record(
    {
        "schema": one_of(*range(1, SCHEMA + 1)),
        "ostinato": _version,
        "torch": _version,
        "portable": boolean,
        "methods": dict_of(_method_name, _method),
        "state": dict_of(
            qualified_name,
            record({"dtype": _dtype, "shape": list_of(integer(0)), "initial": one_of("zeros", "value")}),
        ),
        "source": nullable(dict_of(text, _anything)),
        "verification": nullable(dict_of(text, _anything)),
        "user": dict_of(text, _anything),
    },
    {
        "tolerances": nullable(record({"rtol": _tolerance, "atol": _tolerance})),
        "dtypes": dict_of(
            matching(MODEL_NAME, "the name of a program"), dict_of(_value_name, one_of(*STAND_INS))
        ),
    },
)
