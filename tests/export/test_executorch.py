"""Programs for the ExecuTorch runtime, where it is installed; and what is said where it is not."""

import pytest
import torch
from torch import nn

from ostinato._errors import UsageError
from ostinato.export import to_executorch, trace_stateful

from .models import Pair, Policy, Started, Swap
from .mx_models import FORMATS, quantized
from .pte import hide, runtime


def _program(module, *args):
    return torch.export.export(module.eval(), args)


def test_without_executorch_the_extra_is_named(tmp_path, monkeypatch):
    hide(monkeypatch)
    with pytest.raises(UsageError, match="not installed") as error:
        to_executorch(_program(nn.Linear(4, 4), torch.ones(1, 4)), tmp_path / "m.pte")
    assert "ostinato[executorch]" in error.value.hint
    assert not list(tmp_path.iterdir())


def test_the_ending_of_the_file(tmp_path):
    with pytest.raises(UsageError) as error:
        to_executorch(_program(nn.Linear(4, 4), torch.ones(1, 4)), tmp_path / "m.pt2")
    assert error.value.code == "export.pte_suffix"


def test_the_runtime_gives_what_the_module_gives(tmp_path):
    pytest.importorskip("executorch")
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14, 5)).eval()
    x = torch.randn(1, 3, 16)
    to_executorch(_program(module, x), tmp_path / "m.pte")
    assert torch.allclose(runtime(tmp_path / "m.pte")(x), module(x), 1e-4, 1e-5)


# Started has a start that is not zero; Swap gives back state as it was, under the name of another.
@pytest.mark.parametrize(("make", "x"), [(Policy, (1, 5)), (Pair, (1, 3)), (Started, (3,)), (Swap, (2,))])
def test_state_starts_and_goes_on_as_in_the_module(make, x, tmp_path):
    pytest.importorskip("executorch")
    methods = trace_stateful(make(), {"forward": [((torch.ones(x),), {})]})
    to_executorch(methods["forward"][0].program, tmp_path / "m.pte")
    module, run = make(), runtime(tmp_path / "m.pte")
    with torch.no_grad():
        for i in range(4):
            given = torch.full(x, 1.0 + i)
            torch.testing.assert_close(run(given), module(given))


@pytest.mark.parametrize("format", FORMATS)
def test_quantized_weights_stay_packed_and_are_decoded_in_the_runtime(format, tmp_path):
    pytest.importorskip("executorch")
    module, args = quantized("linear", format)
    to_executorch(torch.export.export(module, args), tmp_path / "m.pte")
    torch.testing.assert_close(runtime(tmp_path / "m.pte")(*args), module(*args), rtol=1e-4, atol=1e-5)
    content = (tmp_path / "m.pte").read_bytes()
    for name, weight in module.named_parameters():
        if name.endswith("weight"):
            assert weight.qdata.view(torch.uint8).numpy().tobytes() in content
