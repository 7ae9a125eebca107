"""Random programs: what a replay gives is eager's bit for bit, or in fast numerics as good as eager's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from .random_check import check
from .random_graphs import random_graphs


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(random_graphs())
def test_random_graphs(graph):
    check(graph)
