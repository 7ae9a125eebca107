"""Small programs of every construct: scripted, saved, and the same when Ostinato loads them."""

from __future__ import annotations

import copy
import inspect

import pytest
import torch

import ostinato as ost

from .same import same

pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
from .programs import CASES

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
# The C library's gamma functions and Python's own differ in the last bit.
TOLERANCES = {"math": 1e-14}


def scripted(case):
    code = case.code().eval() if inspect.isclass(case.code) else case.code
    return torch.jit.script(code)


def outcome(module, method, arguments):
    """What a call gives, and the error it raises."""
    torch.manual_seed(7)
    called = module if method == "forward" else getattr(module, method)
    try:
        return called(*copy.deepcopy(arguments)), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_program_gives_what_torch_jit_gives(case, archives, tally):
    path = archives(case.name, lambda: scripted(case))
    for row in case.rows:
        theirs, ours = torch.jit.load(path), ost.torchscript.load(path)
        for method, arguments in row.calls:
            wanted, refused = outcome(theirs, method, arguments)
            got, error = outcome(ours, method, arguments)
            if row.error is None:
                assert refused is None, refused
                if error is not None:
                    raise error
                same(got, wanted, TOLERANCES.get(case.construct, 0.0))
            else:
                assert row.error in str(refused)
                assert error is not None
                assert row.error in str(error)
        same(dict(ours.state_dict()), dict(theirs.state_dict()))
    tally("programs by construct", case.construct)


def test_there_are_enough_of_them():
    assert len({case.name for case in CASES}) == len(CASES) >= 250
    assert len({case.construct for case in CASES}) >= 60
