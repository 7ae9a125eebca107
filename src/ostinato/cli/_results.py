"""What a model returns: told, joined over several calls, and written to a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._errors import fail

ENDINGS = (".npz", ".pt", ".json")
_SHOWN = 16  # elements of a tensor that is printed in full


def joined(results: Sequence[Any]) -> Any:
    """One result of several calls: tensors get a first dimension, the call; all else becomes a list."""
    import torch
    from torch.utils import _pytree as pytree

    if len(results) == 1:
        return results[0]
    flat = [pytree.tree_flatten(each) for each in results]
    if any(spec != flat[0][1] for _, spec in flat):
        return list(results)

    def stacked(column: tuple[Any, ...]) -> Any:
        same = all(isinstance(each, torch.Tensor) and each.shape == column[0].shape for each in column)
        return torch.stack(column) if same else list(column)

    columns = zip(*(leaves for leaves, _ in flat), strict=True)
    return pytree.tree_unflatten([stacked(each) for each in columns], flat[0][1])


def leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    """``(path, value)`` of what lies in a result; the path of a single one is ``"result"``."""
    if isinstance(value, dict):
        items = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, (tuple, list)):
        items = [(str(i), each) for i, each in enumerate(value)]
    else:
        return [(name or "result", value)]
    return [leaf for key, each in items for leaf in leaves(each, f"{name}.{key}" if name else key)]


def described(value: Any) -> dict[str, Any]:
    """What JSON and the table say about one value."""
    import torch

    if not isinstance(value, torch.Tensor):
        return {"type": type(value).__name__, "values": value}
    dtype = str(value.dtype).removeprefix("torch.")
    entry: dict[str, Any] = {
        "type": f"{dtype}{list(value.shape)}",
        "dtype": dtype,
        "shape": list(value.shape),
    }
    if value.numel() and not value.is_complex():
        wide = value.to(torch.float64)
        entry.update(min=wide.min().item(), mean=wide.mean().item(), max=wide.max().item())
    if value.numel() <= _SHOWN and not value.is_complex():
        entry["values"] = value.tolist()
    return entry


def check(path: str) -> None:
    """Say before the work that the result cannot be written there. UsageError or DeployError."""
    from ..deployment import check_place

    if not path.endswith(ENDINGS):
        raise fail("cli.result_ending", path=path, endings=", ".join(ENDINGS))
    check_place(path)


def write(value: Any, path: str) -> None:
    """The result as arrays of NumPy's, as `torch.save` has it, or as JSON, by the ending of ``path``."""
    from .._atomic import replacing

    try:
        with replacing(path) as part:
            _WRITERS[os.path.splitext(path)[1]](value, part)
    except (OSError, RuntimeError, TypeError) as error:
        raise fail("cli.unwritable", path=path, reason=str(error).splitlines()[0]) from None


def _npz(value: Any, part: Path) -> None:
    import numpy

    with open(part, "wb") as file:
        numpy.savez(file, **{name: _array(each) for name, each in leaves(value)})


def _array(value: Any) -> Any:
    import numpy
    import torch

    if not isinstance(value, torch.Tensor):
        return numpy.array(value)
    if value.dtype == torch.bfloat16:  # NumPy has none; float32 holds each of its values
        value = value.float()
    return value.numpy()


def _pt(value: Any, part: Path) -> None:
    import torch

    torch.save(value, part)


def _json(value: Any, part: Path) -> None:
    document = {name: _plain(each) for name, each in leaves(value)}
    part.write_text(json.dumps(document) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Lists and numbers; what JSON has no number for is a text: ``"nan"``, ``"inf"``."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


_WRITERS = {".npz": _npz, ".pt": _pt, ".json": _json}

__all__ = ["ENDINGS", "check", "described", "joined", "leaves", "write"]
