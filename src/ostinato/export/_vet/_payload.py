"""The tables that say which bytes of the file are which weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._dtypes import DTYPES
from ._names import qualified_name
from ._program import tensor_meta
from ._types import Bad, boolean, dict_of, matching, one_of, record

MAX_DIMENSIONS = 64


def payload_config(value: Any, prefix: str, size_of: Callable[[str], int | None]) -> None:
    """Check a table: plain tensors only, each inside the bytes of the entry it names.

    ``prefix`` is how the names of entries begin (``weight_`` or ``tensor_``);
    ``size_of`` gives the size of such an entry in bytes, None where there is none.
    """
    _table(prefix)(value)
    dtypes: dict[str, int] = {}
    for name, payload in value["config"].items():
        try:
            entry, meta = payload["path_name"], payload["tensor_meta"]
            if dtypes.setdefault(entry, meta["dtype"]) != meta["dtype"]:
                raise Bad(f"{entry} is read with two dtypes")
            _check_extent(entry, meta, size_of(entry))
        except Bad as bad:
            raise bad.inside(name).inside("config") from None


def _table(prefix: str) -> Any:
    payload = record(
        {
            "path_name": matching(rf"{prefix}\d{{1,9}}", f"{prefix} and a number (a plain tensor)"),
            "is_param": boolean,
            "use_pickle": one_of(False),
            "tensor_meta": tensor_meta,
        }
    )
    return record({"config": dict_of(qualified_name, payload)})


def extent(meta: dict[str, Any]) -> tuple[list[int], list[int], int, int]:
    """Sizes, strides, offset and the number of elements of storage that a tensor needs."""
    sizes = [size["as_int"] for size in meta["sizes"]]
    strides = [stride["as_int"] for stride in meta["strides"]]
    offset = meta["storage_offset"]["as_int"]
    needed = 0
    if all(sizes):
        needed = offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return sizes, strides, offset, needed


def _check_extent(entry: str, meta: dict[str, Any], nbytes: int | None) -> None:
    if nbytes is None:
        raise Bad(f"the entry {entry} is missing")
    numbers = [*meta["sizes"], *meta["strides"], meta["storage_offset"]]
    if any("as_int" not in each or each["as_int"] < 0 for each in numbers):
        raise Bad("a weight's sizes, strides and offset must be whole numbers, none negative")
    if len(meta["sizes"]) != len(meta["strides"]) or len(meta["sizes"]) > MAX_DIMENSIONS:
        raise Bad("sizes and strides do not go together")
    itemsize = DTYPES[meta["dtype"]][1]
    if nbytes % itemsize:
        raise Bad(f"{entry} has {nbytes} bytes, not a multiple of {itemsize}")
    needed = extent(meta)[3] * itemsize
    if needed > nbytes:
        raise Bad(f"needs {needed} bytes, but {entry} has {nbytes}")


def bound(document: dict[str, Any], weights: dict[str, Any], constants: dict[str, Any]) -> None:
    """Check that all parameters, buffers and constants have a tensor of the dtype and shape in the graph.

    And that it is told how arguments and results nest.
    """
    graph_module = document["graph_module"]
    if not any(each["fqn"] == "" and each.get("signature") for each in graph_module["module_call_graph"]):
        raise Bad("it is not told how arguments and results nest")
    values = graph_module["graph"]["tensor_values"]
    for spec in graph_module["signature"]["input_specs"]:
        ((kind, item),) = spec.items()
        if kind in ("user_input", "constant_input"):
            continue
        name = item[f"{kind}_name"]
        kept = kind == "parameter" or (kind == "buffer" and item["persistent"])
        payload = (weights if kept else constants).get(name)
        if payload is None:
            raise Bad(f"the {kind} {name} has no tensor")
        expected = values.get(item["arg"]["name"])
        if expected is None or any(
            payload["tensor_meta"][key] != expected[key] for key in ("dtype", "sizes")
        ):
            raise Bad(f"the {kind} {name} has another dtype or shape than the graph says")
