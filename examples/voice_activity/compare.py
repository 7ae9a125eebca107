"""Holds the deployed model against its peers, chunk by chunk, and times them all: python compare.py demo"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import runtimes
import speech
import torch

LIMIT = 1e-4
ROUNDS = 9
CHUNKS_A_ROUND = 100


def main(folder: str) -> int:
    torch.set_num_threads(runtimes.THREADS)
    found, missing = runtimes.available(Path(folder))
    chunks = speech.chunks(Path(folder) / "sample.wav").split(1)
    close = differences(found, chunks)
    for each in missing:
        print(f"  not compared: {each}")
    times(found, chunks)
    return 0 if close else 1


def differences(found: dict[str, runtimes.Runtime], chunks: tuple[torch.Tensor, ...]) -> bool:
    """Print the largest difference between each peer and Ostinato, and whether all are small enough."""
    answers = {}
    for name, (step, reset) in found.items():
        reset()
        answers[name] = torch.stack([step(chunk).reshape(()) for chunk in chunks])
    print(f"Largest difference over {len(chunks)} chunks (the limit is {LIMIT:.0e}):")
    print(f"  {'':14}  Ostinato exact  Ostinato fast")
    close = True
    for name in found:
        if not name.startswith("Ostinato"):
            apart = [float((answers[name] - answers[f"Ostinato {n}"]).abs().max()) for n in ("exact", "fast")]
            print(f"  {name:14}  {apart[0]:14.1e}  {apart[1]:13.1e}")
            close = close and max(apart) <= LIMIT
    if not close:
        print("error: a difference is too large", file=sys.stderr)
    return close


def times(found: dict[str, runtimes.Runtime], chunks: tuple[torch.Tensor, ...]) -> None:
    """Print µs a chunk; the runtimes take turns, so that what else the machine does hits all of them."""
    seen: dict[str, list[float]] = {name: [] for name in found}
    for i in range(ROUNDS):
        some = chunks[i * CHUNKS_A_ROUND : (i + 1) * CHUNKS_A_ROUND]
        for name, (step, _) in found.items():
            began = time.perf_counter()
            for chunk in some:
                step(chunk)
            seen[name].append((time.perf_counter() - began) / len(some) * 1e6)
    median = {name: statistics.median(each) for name, each in seen.items()}
    base = "TorchScript" if "TorchScript" in median else "eager"
    print(f"\nTime for a chunk of 32 ms, on {runtimes.THREADS} thread:")
    print(f"  {'':14}  median µs  least µs  faster than {base}")
    for name, each in median.items():
        print(f"  {name:14}  {each:9.0f}  {min(seen[name]):8.0f}  {median[base] / each:10.1f} x")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
