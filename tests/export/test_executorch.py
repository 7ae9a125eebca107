"""Programs for the ExecuTorch runtime, where it is installed; and what is said where it is not."""

import sys

import pytest
import torch
from torch import nn

from ostinato._errors import ExportError, UsageError
from ostinato.export import to_executorch

from .mx_models import FORMATS, quantized


def _program(module, *args):
    return torch.export.export(module.eval(), args)


def test_without_executorch_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "executorch", None)
    with pytest.raises(UsageError, match="not installed") as error:
        to_executorch(_program(nn.Linear(4, 4), torch.ones(1, 4)), tmp_path / "m.pte")
    assert "ostinato[executorch]" in error.value.hint
    assert not list(tmp_path.iterdir())


def test_the_ending_of_the_file(tmp_path):
    with pytest.raises(UsageError) as error:
        to_executorch(_program(nn.Linear(4, 4), torch.ones(1, 4)), tmp_path / "m.pt2")
    assert error.value.code == "export.pte_suffix"


@pytest.mark.parametrize("format", FORMATS)
def test_packed_weights_are_refused_by_name(format, tmp_path):
    pytest.importorskip("executorch")
    module, args = quantized("linear", format)
    with pytest.raises(ExportError, match=r"0\.weight\.(qdata|scale)") as error:
        to_executorch(torch.export.export(module, args), tmp_path / "m.pte")
    assert error.value.code == "export.executorch_dtype"
    assert not list(tmp_path.iterdir())


def test_the_runtime_gives_what_the_module_gives(tmp_path):
    pytest.importorskip("executorch")
    from executorch.runtime import Runtime

    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14, 5)).eval()
    x = torch.randn(1, 3, 16)
    to_executorch(_program(module, x), tmp_path / "m.pte")
    (got,) = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward").execute([x])
    assert torch.allclose(got, module(x), 1e-4, 1e-5)
