"""torch's own samples of operators that take functions: equal to eager, or refused by name."""

from __future__ import annotations

import pytest
import torch
from torch.testing._internal.hop_db import hop_db

from ostinato.accelerator import CaptureError, Graph

from .support import tensors

REFUSED = {"while_loop_stack_output", "invoke_quant_packed"}
CASES = [op for op in hop_db if torch.float32 in op.dtypes]


@pytest.mark.parametrize("op", CASES, ids=lambda op: f"{op.name}-{op.variant_test_name}")
def test_equal_or_refused(op):
    for sample in op.sample_inputs("cpu", torch.float32, requires_grad=False):
        given = (sample.input, *sample.args)
        before = [t.clone() for t in tensors(given)]
        graph, refused = Graph(), False
        try:
            with graph:
                out = op.op(*given, **sample.kwargs)
        except CaptureError:
            refused = True
        assert refused == (op.name in REFUSED)
        if refused:
            continue
        graph.replay()
        got, changed = [t.clone() for t in tensors(out)], [t.clone() for t in tensors(given)]
        for tensor, value in zip(tensors(given), before, strict=True):
            with torch.no_grad():
                tensor.copy_(value)
        want = tensors(op.op(*given, **sample.kwargs))
        torch.testing.assert_close(got, want, rtol=0, atol=0)
        torch.testing.assert_close(changed, tensors(given), rtol=0, atol=0)
