"""``ostinato inspect``: what a file holds. Reads it without torch, and runs nothing of it."""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from typing import Any

from ..export._vet import DTYPES
from ._printer import Printer

NAME = "inspect"
HELP = "say what a file holds: methods, inputs, state, parameters, operators; runs nothing of it"
EXAMPLES = ("ostinato inspect silero_vad.jit", "ostinato inspect vad.pt2 --json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a TorchScript archive or a .pt2")


def run(options: argparse.Namespace, printer: Printer) -> int:
    from ..deployment import file_kind

    if file_kind(options.file) == "pt2":
        document = programs(options.file)
    else:
        document = archive(options.file)
    document = {"file": options.file, "bytes": os.path.getsize(options.file), **document}
    printer.result(document)
    _print(document, printer)
    return 0


def archive(path: str) -> dict[str, Any]:
    """The account of a TorchScript archive."""
    from ..torchscript import inspect

    return {"kind": "torchscript", **inspect(path).to_json()}


def programs(path: str) -> dict[str, Any]:
    """The account of a ``.pt2``, of ours or of stock torch."""
    from ..export import read_metadata
    from ..export._vet import VettedArchive
    from ..export._vet._program import every_node, weight_dtypes

    operators: Counter[str] = Counter()
    tensors: dict[str, dict[str, Any]] = {}
    parameters: set[str] = set()
    with VettedArchive(path) as file:
        models = file.vet_models()
        described = file.metadata is not None
    metadata = read_metadata(path) if described else None
    for model in models.values():
        operators.update(_operator(node["target"]) for node in every_node(model.document))
        own = weight_dtypes(model.document, metadata.dtypes.get(model.name, {}) if metadata else {})
        for name, payload in (*model.weights.items(), *model.constants.items()):
            tensors[name] = _tensor(payload["tensor_meta"], own.get(name))
            if payload["is_param"]:
                parameters.add(name)
    document: dict[str, Any] = {"kind": "pt2"}
    if metadata is not None:
        document["methods"] = {
            name: [_signature(each.inputs) + " -> " + _tree(each.outputs) for each in info.variants]
            for name, info in metadata.methods.items()
        }
        document["state"] = {name: f"{info.dtype}{info.shape}" for name, info in metadata.state.items()}
        document["made_by"] = f"ostinato {metadata.ostinato}, torch {metadata.torch}"
        document["source"] = metadata.source
        document["verification"] = metadata.verification
        document["tolerances"] = metadata.tolerances
        document["examples"] = sum(
            each.example is not None for info in metadata.methods.values() for each in info.variants
        )
        document["numerics"] = metadata.user.get("numerics")
    else:
        first = models["model"] if "model" in models else next(iter(models.values()))
        graph, signature = (first.document["graph_module"][key] for key in ("graph", "signature"))
        inputs = _flat(graph, signature["input_specs"], "user_input")
        outputs = _flat(graph, signature["output_specs"], "user_output")
        document["methods"] = {"forward": [f"({inputs}) -> {outputs}"]}
        document["made_by"] = "torch.export.save"
    document["parameters"] = sum(math.prod(tensors[name]["shape"]) for name in parameters)
    document["dtypes"] = _by_dtype(tensors)
    document["tensors"] = tensors
    document["operators"] = dict(operators.most_common())
    # What a stock torch may not have.
    document["unsupported"] = sorted(
        name for name in operators if not name.startswith(("aten.", "prims.", "_operator."))
    )
    return document


def _operator(target: str) -> str:
    return target.removeprefix("torch.ops.")


def _tensor(meta: dict[str, Any], dtype: str | None) -> dict[str, Any]:
    """A parameter, buffer or constant; ``dtype`` is its own where the program names another."""
    name, width = DTYPES[meta["dtype"]]
    shape = [size["as_int"] for size in meta["sizes"]]
    return {"dtype": dtype or name, "shape": shape, "bytes": math.prod(shape) * width}


def _by_dtype(tensors: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for each in tensors.values():
        total = found.setdefault(each["dtype"], {"tensors": 0, "bytes": 0})
        total["tensors"] += 1
        total["bytes"] += each["bytes"]
    return found


def _flat(graph: dict[str, Any], specs: list[dict[str, Any]], kind: str) -> str:
    """The inputs or outputs in a document of stock torch, where how they nest is not told."""
    found = []
    for spec in specs:
        if kind in spec:
            ((form, value),) = spec[kind]["arg"].items()
            meta = graph["tensor_values"].get(value["name"]) if form == "as_tensor" else None
            if meta is None:
                found.append("None" if form == "as_none" else str(value))
            else:
                sizes = [
                    size.get("as_int", size.get("as_expr", {}).get("expr_str")) for size in meta["sizes"]
                ]
                found.append(f"{DTYPES[meta['dtype']][0]}[{', '.join(map(str, sizes))}]")
    return ", ".join(found)


def _signature(inputs: dict[str, Any]) -> str:
    args = [_tree(each) for each in inputs["args"]["tuple"]]
    args += [f"{name}={_tree(each)}" for name, each in inputs["kwargs"]["dict"].items()]
    return f"({', '.join(args)})"


def _tree(tree: dict[str, Any]) -> str:
    ((kind, value),) = tree.items()
    if kind == "tensor":
        sizes = ", ".join(each["dim"] if isinstance(each, dict) else str(each) for each in value["shape"])
        return f"{value['dtype']}[{sizes}]"
    if kind == "value":
        return repr(value)
    if kind == "size":
        return str(value["dim"])
    if kind == "dict":
        return "{" + ", ".join(f"{key}: {_tree(each)}" for key, each in value.items()) + "}"
    items = ", ".join(_tree(each) for each in value)
    return f"[{items}]" if kind == "list" else f"({items})"


def _print(document: dict[str, Any], printer: Printer) -> None:
    width = max(map(len, document))
    for name, value in document.items():
        if isinstance(value, dict) and value:
            printer.heading(name)
            printer.table([row for key, each in value.items() for row in _rows(key, each)])
        elif isinstance(value, list) and value:
            printer.heading(name)
            printer.table([[f"  {_line(each)}"] for each in value])
        else:
            printer.table([[name.ljust(width), "none" if value in (None, {}, []) else str(value)]])


def _rows(name: str, value: Any) -> list[list[str]]:
    """One row, or one for each of several values."""
    values = value if isinstance(value, list) else [value]
    return [[f"  {name}" if not i else "", _line(each)] for i, each in enumerate(values)]


def _line(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"dtype", "shape", "bytes"}:
        return f"{value['dtype']}{value['shape']}, {value['bytes']} bytes"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_line(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_line, value))
    return str(value)
