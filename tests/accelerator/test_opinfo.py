"""PyTorch's own operator samples, captured and replayed: equal bit for bit, or refused with a reason."""

from __future__ import annotations

import pytest
import torch

from . import opinfo

DTYPES = (torch.float32, torch.int64)
CASES = [(op, dtype) for dtype in DTYPES for op in opinfo.entries(dtype)]

# The only reasons for which an operator may be refused.
REASONS = {"accelerator.synchronises", "accelerator.data_dependent_shape", "accelerator.layout"}

_outcomes: dict = {}


def _identity(case):
    op, dtype = case
    return f"{op.formatted_name}-{str(dtype).removeprefix('torch.')}"


@pytest.mark.parametrize("case", CASES, ids=_identity)
@pytest.mark.filterwarnings("ignore")
def test_opinfo(case, capfd):
    op, dtype = case
    outcome = _outcomes[_identity(case)] = opinfo.check(op, dtype)
    assert not outcome.wrong, outcome.wrong[0]
    assert set(outcome.refused) <= REASONS
    # An `out=` form that uses its output as scratch space says so on stderr, and must not be used.
    assert "was resized since" not in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_opinfo_fast():
    """One test for all: where no pass has a part, fast numerics does what exact does."""
    outcomes = {_identity((op, torch.float32)): opinfo.check_fast(op) for op in opinfo.entries(torch.float32)}
    assert {name: outcome.wrong[0] for name, outcome in outcomes.items() if outcome.wrong} == {}
    assert sum(outcome.equal for outcome in outcomes.values()) >= 200


def test_opinfo_totals(capsys):
    """The promise of the project: how many entries are equal, and how many without a Python step."""
    if len(_outcomes) < len(CASES):
        pytest.skip("needs the whole of test_opinfo in the same run")
    equal = [o for o in _outcomes.values() if o.equal]
    native = [o for o in equal if not o.python]
    refused = [o for o in _outcomes.values() if o.refused and not o.equal]
    with capsys.disabled():
        print(f"\nOpInfo: {len(equal)} equal, {len(native)} without a Python step, {len(refused)} refused")
    assert len(equal) >= 1100
    assert len(native) >= 1050
    assert len(refused) <= 40
