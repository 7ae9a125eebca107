"""Random programs: what a replay gives is eager's bit for bit, or in fast numerics as good as eager's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from .random_check import check
from .random_graphs import random_graphs
from .random_values import SEED
from .random_writer import Writer


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random_graphs())
def test_random_graphs(graph):
    check(graph)


def test_writing_a_program_needs_nothing_but_its_choices():
    """Numbers decide which lines stay: they must not come from the seed of the moment or from old memory."""
    for seed in (1, 2):
        torch.manual_seed(seed)
        old = [torch.full((24,), float("nan")) for _ in range(64)]
        del old
        writer = Writer(draw=None)
        module = writer.given("nn.GRUCell(4, 8, dtype=real)", "m")
        torch.manual_seed(SEED)
        assert torch.equal(writer[module].weight_ih, torch.nn.GRUCell(4, 8).weight_ih)
        strided = writer.given("values(real, (3, 4), seed=0, layout='strided')")
        gaps = writer.emit(f"{strided}.as_strided((3, 7), (8, 1))[:, 1::2]")
        assert torch.equal(writer[gaps], torch.zeros(3, 3))
