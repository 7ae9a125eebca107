"""Finds the speech in a file with a deployed model: python detect.py vad.pt2 sample.wav"""

from __future__ import annotations

import sys
from pathlib import Path

import speech

import ostinato as ost


def main(model: str, audio: str) -> None:
    vad = ost.load(model)
    chunks = speech.chunks(Path(audio)).split(1)  # each float32 [1, 512]
    probabilities = [float(vad(chunk, speech.RATE)) for chunk in chunks]
    found = speech.segments(probabilities)
    total = len(chunks) * speech.CHUNK / speech.RATE
    print(f"{len(found)} segments of speech in {total:.1f} s:")
    print("    start      end   length   probability")
    for each in found:
        length = each.end - each.start
        print(f"  {each.start:5.2f} s  {each.end:5.2f} s  {length:5.2f} s   {each.probability:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
