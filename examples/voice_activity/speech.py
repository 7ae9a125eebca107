"""Reads speech, and turns the detector's probabilities into segments."""

from __future__ import annotations

import wave
from dataclasses import dataclass
from pathlib import Path

import torch

RATE = 16000
CHUNK = 512
START, STOP = 0.5, 0.35  # a segment begins at the one probability and ends below the other
MIN_SPEECH, MIN_SILENCE = 0.25, 0.1  # seconds


@dataclass(frozen=True)
class Segment:
    """Speech from ``start`` to ``end``, in seconds, and its mean probability."""

    start: float
    end: float
    probability: float


def chunks(path: Path) -> torch.Tensor:
    """The samples of a 16 kHz mono file, float32 [chunks, 512], the last chunk filled with zeros."""
    with wave.open(str(path)) as file:
        form = (file.getframerate(), file.getnchannels(), file.getsampwidth())
        if form != (RATE, 1, 2):
            raise SystemExit(f"error: {path} is not 16-bit mono at {RATE} Hz but {form}")
        raw = bytearray(file.readframes(file.getnframes()))
    samples = torch.frombuffer(raw, dtype=torch.int16).float() / 32768
    missing = -len(samples) % CHUNK
    return torch.nn.functional.pad(samples, (0, missing)).reshape(-1, CHUNK)


def segments(probabilities: list[float]) -> list[Segment]:
    """Where speech is: with hysteresis, without short breaks, without short bursts.

    Times are those of chunks: the last may end after the file, in the zeros that fill its last chunk.
    """
    step = CHUNK / RATE
    spans: list[list[int]] = []
    inside = False
    for i, probability in enumerate(probabilities):
        if not inside and probability >= START:
            inside = True
            if spans and (i - spans[-1][1]) * step < MIN_SILENCE:
                continue  # the break was too short to be one: the last span goes on
            spans.append([i, i])
        elif inside and probability < STOP:
            inside = False
            spans[-1][1] = i
    if inside:
        spans[-1][1] = len(probabilities)
    return [
        Segment(first * step, last * step, sum(probabilities[first:last]) / (last - first))
        for first, last in spans
        if (last - first) * step >= MIN_SPEECH
    ]
