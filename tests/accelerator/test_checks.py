"""A replay raises for a bad matrix as eager does."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

GOOD = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
FUNCTIONS = {
    "cholesky": torch.linalg.cholesky,
    "inv": torch.linalg.inv,
    "inverse": torch.inverse,
    "method": torch.Tensor.inverse,
    "solve": lambda a: torch.linalg.solve(a, torch.ones(2, 1)),
    "solve vectors": lambda a: torch.linalg.solve(a, torch.ones(2)),
}


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_matrix(name, batch):
    function = FUNCTIONS[name]
    if name == "solve vectors" and batch:
        pytest.skip("a batch of matrices takes a batch of vectors")
    a = GOOD.expand(*batch, 2, 2).clone()
    graph = ost.accelerator.Graph()
    with torch.no_grad(), graph:
        out = function(a)
    assert not graph.stats()["python_operators"]
    a.mul_(2)
    graph.replay()
    assert torch.equal(out, function(a))
    a[..., :, :] = 0
    with pytest.raises(RuntimeError) as eager:
        function(a)
    with pytest.raises(ost.ReplayError) as replayed:
        graph.replay()
    assert str(eager.value).split(":", 1)[-1].strip()[:40] in replayed.value.message
    assert "test_checks.py" in replayed.value.message


def test_the_forms_that_report_do_not_raise():
    a = torch.zeros(2, 2)
    graph = ost.accelerator.Graph()
    with graph:
        _, info = torch.linalg.cholesky_ex(a)
    graph.replay()
    assert int(info) == int(torch.linalg.cholesky_ex(a).info) != 0
