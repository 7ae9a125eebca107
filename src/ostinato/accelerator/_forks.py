"""What a forked child does otherwise: torch's threads did not come with it."""

from __future__ import annotations

import functools
import os

import torch


def _one_thread() -> None:
    torch.set_num_threads(1)


@functools.cache
def follow_forks() -> None:
    """From now on a child runs torch on one thread, as the workers of a DataLoader do.

    A child has the pool's memory but none of its threads: the first loop that is split would
    wait for them for ever, in eager torch as in a replay.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_one_thread)
