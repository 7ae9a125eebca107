"""The Silero speech detector at 16 kHz in layers of torch, with its archive's weights, on real speech."""

from __future__ import annotations

import pathlib
import runpy

import torch
from torch import nn

import ostinato as ost

from ..replay import _silero
from ._task import Task

_HOP, _BINS = 128, 129


class Detector(nn.Module):
    """Frequencies, four convolutions, an LSTM cell as two linear layers, a probability."""

    def __init__(self, archive: nn.Module) -> None:
        super().__init__()
        self.register_buffer("basis", archive.stft.forward_basis_buffer)
        sizes = ((_BINS, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))
        self.encoder = nn.ModuleList([nn.Conv1d(i, o, 3, stride, 1) for i, o, stride in sizes])
        self.inputs, self.hidden, self.head = nn.Linear(128, 512), nn.Linear(128, 512), nn.Linear(128, 1)
        for mine, its in zip(self.encoder, archive.encoder.children(), strict=True):
            mine.load_state_dict(its.reparam_conv.state_dict())
        cell, last = archive.decoder.rnn, archive.decoder.decoder.get_submodule("2")
        for layer, weight, bias in (
            (self.inputs, cell.weight_ih, cell.bias_ih),
            (self.hidden, cell.weight_hh, cell.bias_hh),
            (self.head, last.weight.flatten(1), last.bias),
        ):
            layer.load_state_dict({"weight": weight, "bias": bias})

    def forward(self, chunks: torch.Tensor) -> torch.Tensor:
        """The probability of speech in each of ``[n, 512]`` samples that follow one another."""
        before = nn.functional.pad(chunks[:-1, -_silero.CONTEXT :], (0, 0, 1, 0))
        samples = nn.functional.pad(torch.cat([before, chunks], 1)[:, None], (0, 64), "reflect")
        real, imaginary = nn.functional.conv1d(samples, self.basis, stride=_HOP).split(_BINS, 1)
        x = (real.square() + imaginary.square()).sqrt()
        for layer in self.encoder:
            x = layer(x).relu()
        gates, h = self.inputs(x[..., 0]), torch.zeros(1, 128)
        c, states = h, []
        for each in gates.split(1):
            i, f, g, o = (each + self.hidden(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
        return self.head(torch.cat(states).relu()).sigmoid().flatten()


def tasks() -> Task:
    speech = runpy.run_path(str(_silero.EXAMPLE / "speech.py"))
    chunks = speech["chunks"](pathlib.Path(_silero.folder()) / "sample.wav")
    archive = ost.torchscript.load(_silero.archive()).eval()
    model = Detector(archive._model).eval()
    with torch.no_grad():
        exact = model(chunks)
        its = torch.cat([archive(chunk, _silero.RATE) for chunk in chunks.split(1)]).flatten()
    assert torch.allclose(exact, its, atol=1e-4), "the layers here do not compute what the archive does"

    def measure(model: nn.Module) -> tuple[float, ...]:
        with torch.no_grad():
            found = model(chunks)
        apart = (found - exact).abs()
        other = (found >= speech["START"]) != (exact >= speech["START"])
        return apart.mean().item(), apart.max().item(), 100 * other.float().mean().item()

    figures = ("mean error", "largest", "decided otherwise %")
    title = f"speech: Silero VAD, probabilities of {len(chunks)} chunks against fp32"
    return Task(title, [model], figures, measure, (".4f", ".3f", ".2f"))
