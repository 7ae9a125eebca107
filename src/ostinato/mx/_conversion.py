"""``quantize_safetensors``: from a checkpoint to one in an MX layout, a tensor at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch

from .._errors import fail
from ._checkpoint import Checkpoint
from ._destination import targets_of, write_index
from ._fake import Rounding
from ._formats import MXFormat
from ._layouts import LAYOUTS, Entry, Layout, named
from ._modules import packed
from ._quantize import quantize
from ._reading import DTYPES, SafetensorsFile
from ._report import LeftWeight, Noise, QuantizedWeight, Report
from ._tensor import MXTensor
from ._writing import writing

_WEIGHTS = ("F32", "F64", "BF16", "F16")


def quantize_safetensors(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    format: MXFormat,
    *,
    layout: str = "ocp",
    filter_fn: Callable[[str], bool] | None = None,
    block_size: int = 32,
    scale_mode: str = "floor",
    tell: Callable[[str], None] | None = None,
) -> Report:
    """Quantize the weights of a checkpoint into another, in the memory that its largest tensor takes.

    Taken are the float tensors called ``NAME.weight`` that have two dimensions or more,
    those with more than two as the matrix ``[first size, all others]``, and tensors
    ``[experts, out, in]`` of other names: what ``quantize_`` takes of a model whose
    layers are torch's. All other tensors are copied.

    Args:
        path: as of ``load_safetensors``, of a checkpoint that is not quantized.
        out: a ``.safetensors`` file of one file; a folder of an index or a folder, which
            then holds files of the same names and their index, and nothing else that the
            other folder holds.
        format: of the weights.
        layout: as of ``save_safetensors``; tensors that it has no form for are copied.
        filter_fn: ``filter_fn(name)`` says whether a tensor is quantized.
        block_size, scale_mode: as of ``quantize``.
        tell: gets a line now and then.

    Returns:
        What was done, with the signal-to-noise ratio of each weight.

    Raises:
        ArchiveError: the files are not whole, quantized already, or there is no weight to quantize.
        UsageError: an argument is wrong, or ``out`` is where ``path`` lies.
    """
    tell = tell or (lambda line: None)
    quantize(torch.zeros(0), format, block_size=block_size, scale_mode=scale_mode)
    chosen = named(layout)
    with Checkpoint(path, tell) as checkpoint:
        for each in LAYOUTS.values():
            if each.suits(checkpoint.header):
                raise fail("mx.file_quantized", path=path, layout=each.name)
        plan = _Plan(checkpoint, chosen, Rounding(format, block_size, scale_mode), filter_fn)
        if not plan.weights:
            why = plan.left[0].reason if plan.left else "there is none, or the filter takes none"
            raise fail("mx.file_nothing", path=path, why=why)
        targets = targets_of(checkpoint, Path(out))
        progress = _Progress(checkpoint, tell)
        report = Report(left=plan.left)
        places: dict[str, str] = {}
        for file, target in zip(checkpoint.files, targets, strict=True):
            report.quantized += plan.convert(file, target, progress, places)
        if checkpoint.several:
            write_index(Path(out), places, targets)
    return report


class _Plan:
    """What becomes of each tensor: ``weights`` are quantized, everything else is copied."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        layout: Layout,
        rounding: Rounding,
        filter_fn: Callable[[str], bool] | None,
    ) -> None:
        self._checkpoint, self._layout, self._rounding = checkpoint, layout, rounding
        self.weights: dict[str, tuple[int, ...]] = {}  # with the shape that each is quantized in
        self.left: list[LeftWeight] = []
        for name, entry in checkpoint.header.entries.items():
            shape = _weight_shape(name, entry)
            if shape is None or (filter_fn is not None and not filter_fn(name)):
                continue
            if layout.split(name, self._outline(entry, shape)) is None:
                self.left.append(LeftWeight(name, f"the layout {layout.name!r} has no form for it"))
            else:
                self.weights[name] = shape

    def convert(
        self, file: SafetensorsFile, target: Path, progress: _Progress, places: dict[str, str]
    ) -> list[QuantizedWeight]:
        """Write one file; ``places`` gets the names of its tensors with its name."""
        names, state, outlines = self._checkpoint.names(file), {}, {}
        for name in names:
            entry = file.entries[name]
            chosen = name in self.weights
            state[name] = self._outline(entry, self.weights[name]) if chosen else file.outline(name)
            for part, outline in self._parts(name, state[name]).items():
                if part in outlines or part in places:
                    raise fail("mx.save_twice", name=part)
                outlines[part] = outline
        done = []
        with writing(target, outlines, {**file.metadata, **self._layout.describe(state)}) as put:
            for name in names:
                tensor = self._checkpoint.tensor(name)
                if name in self.weights:
                    tensor, weight = self._quantized(name, tensor)
                    done.append(weight)
                for part, each in self._parts(name, tensor).items():
                    put(part, each)
                progress.step(name)
        places.update(dict.fromkeys(outlines, target.name))
        return done

    def _quantized(self, name: str, tensor: torch.Tensor) -> tuple[MXTensor, QuantizedWeight]:
        noise, shape, before = Noise(), tuple(tensor.shape), tensor.nbytes
        made = packed(tensor.view(self.weights[name]), False, self._rounding, noise)
        after = made.qdata.nbytes + made.scale.nbytes
        format = self._rounding.format.name
        return made, QuantizedWeight((name,), shape, format, before, after, noise.decibels())

    def _parts(self, name: str, tensor: torch.Tensor) -> dict[str, torch.Tensor]:
        if not isinstance(tensor, MXTensor):
            return {name: tensor}
        parts = self._layout.split(name, tensor)
        assert parts is not None, "it has been asked before"
        return parts

    def _outline(self, entry: Entry, shape: tuple[int, ...]) -> MXTensor:
        format, size = self._rounding.format, self._rounding.block_size
        in_row, blocks = format.row_sizes(shape[-1], size)
        q = torch.empty((*shape[:-1], in_row), dtype=torch.uint8, device="meta").view(format.storage)
        s = torch.empty((*shape[:-1], blocks), dtype=torch.float8_e8m0fnu, device="meta")
        return MXTensor(q, s, format, shape, size, DTYPES[entry.dtype])


def _weight_shape(name: str, entry: Entry) -> tuple[int, ...] | None:
    """The shape that a tensor is quantized in; None if it is no weight."""
    shape = entry.shape
    if entry.dtype not in _WEIGHTS or len(shape) < 2 or 0 in shape:
        return None
    if name.rpartition(".")[2] == "weight":
        return (shape[0], torch.Size(shape[1:]).numel())
    return shape if len(shape) == 3 and 1 not in shape[:2] else None


class _Progress:
    """Tells every percent of the bytes that are done."""

    def __init__(self, checkpoint: Checkpoint, tell: Callable[[str], None]) -> None:
        self._entries, self._tell = checkpoint.header.entries, tell
        self._all = sum(map(self._bytes, self._entries)) or 1
        self._done = self._said = 0

    def step(self, name: str) -> None:
        self._done += self._bytes(name)
        percent = 100 * self._done // self._all
        if percent > self._said:
            self._said = percent
            self._tell(f"quantizing: {percent} %, {name}")

    def _bytes(self, name: str) -> int:
        entry = self._entries[name]
        width = DTYPES[entry.dtype].itemsize if entry.dtype in DTYPES else 1
        return torch.Size(entry.shape).numel() * width


__all__ = ["quantize_safetensors"]
