"""The speech detector: the archive that the demo fetches, its deployed file, and real speech to feed it."""

from __future__ import annotations

import functools
import itertools
import pathlib
import runpy
import tempfile
from collections.abc import Callable

import torch

import ostinato as ost

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "voice_activity"
RATE = 16000
CONTEXT, CHUNK = 64, 512  # samples: those that the network sees again, and those that are new


@functools.cache
def folder() -> pathlib.Path:
    """Where the inputs of the demo lie; fetched if they do not yet."""
    found = ROOT / "demo"
    found.mkdir(exist_ok=True)
    runpy.run_path(str(EXAMPLE / "fetch.py"))["inputs"](found, ROOT / "constraints.txt")
    return found


def archive() -> str:
    return str(folder() / "silero_vad.jit")


def onnx() -> str:
    """The network at 16 kHz alone, with fixed shapes: the file that ONNX Runtime and OpenVINO run fastest."""
    return str(folder() / "silero_vad_openvino_16k.onnx")


@functools.cache
def deployed() -> str:
    """The archive, deployed by this tree for chunks at 16 kHz."""
    path = pathlib.Path(temporary()) / "vad.pt2"
    ost.deploy(archive(), (torch.zeros(1, CHUNK), RATE), out=path)
    return str(path)


def temporary() -> str:
    """A folder that goes when the process ends."""
    return _kept().name


@functools.cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ostinato-bench-")


class AtRate(torch.nn.Module):
    """The detector with its sample rate settled, so that tensors alone go in."""

    def __init__(self, detector: torch.nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, chunk: torch.Tensor) -> torch.Tensor:
        return self.detector(chunk, RATE)

    def reset(self) -> None:
        self.detector.reset_states()


def module() -> torch.nn.Module:
    return AtRate(ost.torchscript.load(archive()))


def chunks() -> Callable[[], tuple[torch.Tensor, ...]]:
    """One chunk of speech after the other, round and round."""
    read = runpy.run_path(str(EXAMPLE / "speech.py"))["chunks"]
    speech = itertools.cycle(read(folder() / "sample.wav").split(1))
    return lambda: (next(speech).clone(),)
