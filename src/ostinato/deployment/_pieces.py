"""Sound, pictures and tables as the tensors that a model takes, one a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ._files import Content
from ._misfit import Misfit, fits, text

_CHANNELS = (1, 3, 4)
_RATES = ("sr", "fs", "rate", "sample_rate", "sampling_rate")


def pieces(
    content: Content, names: Sequence[str], args: tuple[Any, ...], open_: frozenset[tuple[int, int]]
) -> tuple[int, list[torch.Tensor]]:
    """``(position of the first tensor among args, what it is in each call)``; Misfit where nothing fits."""
    place = next((i for i, each in enumerate(args) if isinstance(each, torch.Tensor)), None)
    if place is None:
        raise Misfit("", content.kind, "no tensor")
    name = names[place] if place < len(names) else str(place)
    wanted = args[place]
    sizes = {dimension for argument, dimension in open_ if argument == place}
    if content.kind == "wav":
        _check_rate(content.rate, names, args)
        return place, _sound(name, content.value, wanted, sizes)
    return place, _CUTTERS[content.kind](name, content.value, wanted, sizes)


def _check_rate(rate: int, names: Sequence[str], args: tuple[Any, ...]) -> None:
    for name, value in zip(names, args, strict=False):
        if name.lower() in _RATES and isinstance(value, int) and value != rate:
            raise Misfit(name, f"sound of {rate} Hz", str(value))


def _sound(name: str, sound: torch.Tensor, wanted: torch.Tensor, open_: set[int]) -> list[torch.Tensor]:
    """Pieces as long as the last dimension, the last filled up with silence; all of it where that is open."""
    channels, length = sound.shape
    others = wanted.shape[:-1]
    if not (wanted.is_floating_point() and wanted.dim() and others.numel() == channels and length):
        raise Misfit(name, f"sound of {channels} channels, {length} samples", text(wanted))
    size = length if wanted.dim() - 1 in open_ else wanted.shape[-1]
    filled = torch.nn.functional.pad(sound, (0, -length % size)).to(wanted.dtype)
    return [each.reshape(*others, size) for each in filled.split(size, 1)]


def _image(name: str, pixels: torch.Tensor, wanted: torch.Tensor, open_: set[int]) -> list[torch.Tensor]:
    """Channels first or last as the argument has them; floating point in [0, 1], else as in the file."""
    channels = pixels.shape[-1]
    for shaped in _layouts(pixels, wanted.dim()):
        if fits(shaped.shape, wanted.shape, open_) and channels in _CHANNELS:
            if wanted.is_floating_point():
                return [(shaped.to(wanted.dtype) / 255).contiguous()]
            if wanted.dtype == torch.uint8:
                return [shaped.contiguous()]
    height, width, _ = pixels.shape
    raise Misfit(name, f"a picture of {height}x{width} with {channels} channels", text(wanted))


def _layouts(pixels: torch.Tensor, dimensions: int) -> list[torch.Tensor]:
    first = pixels.permute(2, 0, 1)
    if dimensions == 4:
        return [first.unsqueeze(0), pixels.unsqueeze(0)]
    if dimensions == 3:
        return [first, pixels]
    return [pixels[..., 0]] if pixels.shape[-1] == 1 else []


def _table(name: str, rows: torch.Tensor, wanted: torch.Tensor, open_: set[int]) -> list[torch.Tensor]:
    """As many lines a call as the argument has rows; or each line a whole argument, flat."""
    lines, columns = rows.shape
    if not wanted.is_floating_point() and not bool((rows == rows.round()).all()):
        raise Misfit(name, "numbers that are not whole", text(wanted))
    values = rows.to(wanted.dtype)
    if wanted.dim() == 2 and fits(rows.shape, wanted.shape, open_):
        return [values]
    if wanted.dim() and columns == wanted.shape[-1] and wanted.numel() and rows.numel() % wanted.numel() == 0:
        return list(values.reshape(-1, *wanted.shape))
    if columns == wanted.numel():
        return list(values.reshape(-1, *wanted.shape))
    raise Misfit(name, f"{lines} lines of {columns} numbers", text(wanted))


_CUTTERS = {"png": _image, "csv": _table}

__all__ = ["pieces"]
