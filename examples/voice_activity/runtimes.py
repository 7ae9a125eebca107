"""The same speech detector in every runtime there is, fed with chunks of 512 samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import speech
import torch

import ostinato as ost

THREADS = 1


class Runtime(NamedTuple):
    """``step`` takes a chunk, float32 [1, 512], and gives the probability; ``reset`` starts anew."""

    step: Callable[[torch.Tensor], torch.Tensor]
    reset: Callable[[], object]


def available(folder: Path) -> tuple[dict[str, Runtime], list[str]]:
    """``(name → runtime, why others are missing)``."""
    archive = str(folder / "silero_vad.jit")
    found = {"eager": _module(ost.torchscript.load(archive))}
    missing = []
    if hasattr(getattr(torch, "jit", None), "load"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it is deprecated: that is why we are here
            found["TorchScript"] = _module(torch.jit.load(archive))
    else:
        missing.append("TorchScript: this torch no longer has it")
    try:
        found["ONNX Runtime"] = _onnx(folder / "silero_vad.onnx")
    except ImportError:
        missing.append("ONNX Runtime: the package onnxruntime is not installed")
    for numerics in ("exact", "fast"):
        found[f"Ostinato {numerics}"] = _deployed(folder / "vad.pt2", numerics)
    return found, missing


def _module(module: torch.nn.Module) -> Runtime:
    module.eval()

    def step(chunk: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return module(chunk, speech.RATE)

    return Runtime(step, module.reset_states)


def _deployed(path: Path, numerics: str) -> Runtime:
    model = ost.load(path, numerics=numerics)
    return Runtime(lambda chunk: model(chunk, speech.RATE), model.reset_states)


def _onnx(path: Path) -> Runtime:
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rate = numpy.array(speech.RATE, dtype=numpy.int64)
    kept: dict[str, numpy.ndarray] = {}

    def reset() -> None:
        kept["context"] = numpy.zeros((1, 64), dtype=numpy.float32)
        kept["state"] = numpy.zeros((2, 1, 128), dtype=numpy.float32)

    def step(chunk: torch.Tensor) -> torch.Tensor:
        samples = numpy.concatenate([kept["context"], chunk.numpy()], axis=1)
        probability, kept["state"] = session.run(None, {"input": samples, "state": kept["state"], "sr": rate})
        kept["context"] = samples[:, -64:]
        return torch.from_numpy(probability)

    reset()
    return Runtime(step, reset)
