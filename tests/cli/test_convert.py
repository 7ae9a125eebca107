"""``ostinato convert``, and what ``inspect`` says about what it wrote."""

import json

import pytest
import torch
from torch import nn

import ostinato as ost
from ostinato.cli import main

from ..export.pte import hide, runtime


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self._last = torch.zeros(1, 8)

    def forward(self, x):
        self._last = torch.tanh(self.layer(x) + self._last)
        return self._last * 2

    @torch.jit.export
    def reset_states(self):
        self._last = torch.zeros(1, 8)


@pytest.fixture
def archive(tmp_path):
    torch.manual_seed(0)
    module = Remembers().eval()
    torch.jit.script(module).save(tmp_path / "net.jit")
    return module, tmp_path / "net.jit"


def test_an_archive_becomes_a_program_with_its_state_and_methods(archive, tmp_path, capsys):
    module, path = archive
    out = tmp_path / "net.pt2"
    assert main(["convert", str(path), "-o", str(out), "--args", "float32[1,8]", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert set(said["methods"]) == {"forward", "reset_states"}
    assert said["source"]["name"] == "net.jit"
    assert said["bytes"] == out.stat().st_size
    x = torch.randn(1, 8)
    session = ost.export.Session(ost.export.load_methods(out).methods)
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(session.call("forward", x), module(x))
        stock = torch.export.load(out).module()
        module.reset_states()
        assert torch.equal(stock(x), module(x))


def test_a_program_of_stock_torch_becomes_one_of_ours(tmp_path, capsys):
    torch.export.save(torch.export.export(nn.Linear(3, 2), (torch.randn(1, 3),)), tmp_path / "stock.pt2")
    assert main(["convert", str(tmp_path / "stock.pt2"), "-o", str(tmp_path / "ours.pt2")]) == 0
    assert "forward (1)" in capsys.readouterr().out
    assert ost.export.read_metadata(tmp_path / "ours.pt2").source["name"] == "stock.pt2"


def test_inspect_tells_the_dtypes_and_sizes_of_packed_weights(tmp_path, capsys):
    module = ost.mx.quantize_(nn.Linear(64, 32), ost.mx.mxfp4)
    ost.export.save(torch.export.export(module, (torch.randn(1, 64),)), tmp_path / "m.pt2")
    assert main(["inspect", str(tmp_path / "m.pt2"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["tensors"]["weight.qdata"] == {"dtype": "uint8", "shape": [32, 32], "bytes": 1024}
    assert said["tensors"]["weight.scale"] == {"dtype": "uint8", "shape": [32, 2], "bytes": 64}
    # the bias, and two tables of the decoding: a pair of numbers for each byte, a power of two for each scale
    assert said["dtypes"]["float32"] == {"tensors": 3, "bytes": 128 + 2048 + 1024}
    assert said["unsupported"] == []
    assert main(["inspect", str(tmp_path / "m.pt2")]) == 0
    assert "uint8[32, 2], 64 bytes" in capsys.readouterr().out


def test_a_pte_without_executorch_is_one_error(tmp_path, capsys, monkeypatch):
    hide(monkeypatch)
    torch.export.save(torch.export.export(nn.Linear(3, 2), (torch.randn(1, 3),)), tmp_path / "m.pt2")
    assert main(["convert", str(tmp_path / "m.pt2"), "-o", str(tmp_path / "m.pte")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert "ExecuTorch is not installed" in lines[-2]
    assert "ostinato[executorch]" in lines[-1]
    assert not (tmp_path / "m.pte").exists()


@pytest.mark.parametrize(
    ("out", "option", "ending"),
    [
        ("m.pte", ["--not-portable"], ".pt2"),
        ("m.pt2", ["--method", "forward"], ".pte"),
        ("m.pt2", ["--weights", "w.safetensors"], ".py"),
    ],
)
def test_options_that_do_not_go_with_the_ending(out, option, ending, tmp_path, capsys):
    assert main(["convert", str(tmp_path / "m.jit"), "-o", str(tmp_path / out), *option]) == 2
    assert f"{option[0]} is for a {ending}, and " in capsys.readouterr().err


def test_an_archive_becomes_a_pte_that_remembers(archive, tmp_path, capsys):
    pytest.importorskip("executorch")
    module, path = archive
    out = tmp_path / "net.pte"
    assert main(["convert", str(path), "-o", str(out), "--args", "float32[1,8]", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "out": str(out),
        "bytes": out.stat().st_size,
        "method": "forward",
        "left_out": ["reset_states()"],
    }
    run = runtime(out)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(1, 8)
            torch.testing.assert_close(run(x), module(x))


def test_a_method_that_is_not_there(tmp_path, capsys):
    pytest.importorskip("executorch")
    torch.export.save(torch.export.export(nn.Linear(3, 2), (torch.randn(1, 3),)), tmp_path / "m.pt2")
    given = ["convert", str(tmp_path / "m.pt2"), "-o", str(tmp_path / "m.pte"), "--method", "other"]
    assert main(given) == 2
    assert "no method 'other'; it has: forward" in capsys.readouterr().err
