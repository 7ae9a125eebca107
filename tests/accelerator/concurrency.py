"""Threads that each replay a graph of one shared module: `python -m tests.accelerator.concurrency 60`."""

from __future__ import annotations

import os
import sys
import threading
import time

import torch

from ostinato.accelerator import Graph

THREADS = 8


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Policy(torch.nn.Module):
    """Layers of each kind that keeps packed weights."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(47, 64), torch.nn.Linear(64, 32)
        self.cell, self.norm = torch.nn.LSTMCell(32, 32), torch.nn.LayerNorm(32)
        self.filters = torch.nn.Conv1d(1, 4, 3)

    def forward(self, x):
        hidden = self.second(torch.nn.functional.elu(self.first(x)))
        state, _ = self.cell(self.norm(hidden))
        return self.filters(state[:, None]).relu().flatten(1).softmax(-1)


def replay_for(seconds):
    """Replays in each thread its own graph with changing inputs. Returns what differed from eager, and by how
    many bytes the process has grown since its first second or half."""
    torch.manual_seed(0)
    module = Policy().eval()
    inputs = [torch.randn(4, 2, 47) for _ in range(THREADS)]
    with torch.no_grad():
        wants = [[module(x) for x in several] for several in inputs]
    stop, ready = threading.Event(), threading.Barrier(THREADS + 1)
    wrong, counts = [], [0] * THREADS

    @torch.no_grad()
    def work(number):
        x, graph = torch.zeros(2, 47), Graph(numerics="fast")
        with graph:
            out = module(x)
        ready.wait()
        while not stop.is_set():
            which = counts[number] % len(inputs[number])
            x.copy_(inputs[number][which])
            graph.replay()
            if not torch.allclose(out, wants[number][which], rtol=1e-4, atol=1e-5):
                wrong.append(number)
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    ready.wait()
    settled = min(1.0, seconds / 2)
    time.sleep(settled)
    before = resident_bytes()
    time.sleep(seconds - settled)
    grown = resident_bytes() - before
    stop.set()
    for thread in threads:
        thread.join()
    return wrong, grown, counts


if __name__ == "__main__":
    wrong, grown, counts = replay_for(float(sys.argv[1]))
    print(f"{sum(counts)} replays in {THREADS} threads, {len(wrong)} wrong, grown by {grown} bytes")
    sys.exit(bool(wrong or grown > 1 << 20 or 0 in counts))
